import type { Message, ToolCall, ToolResult, Transcript } from "./transcript.ts";

/** A tool result with the call that it answers. */
export interface PairedResult {
	readonly result: ToolResult;
	/** Index of the message that holds the result. */
	readonly message: number;
	/** Index of the message that made the call; `undefined` for an orphan. */
	readonly caller: number | undefined;
	/** The call; `undefined` for an orphan. */
	readonly call: ToolCall | undefined;
}

/**
 * Pairs each result with its call, in order of appearance. A result belongs to the nearest preceding message that
 * makes a call with its id, since real conversations reuse ids; a map from id to first call would mislabel them.
 */
export function pairResults({ messages }: Transcript): readonly PairedResult[] {
	const known = pairings.get(messages);
	if (known) return known;
	const latest = new Map<string, { readonly caller: number; readonly call: ToolCall }>();
	const paired: PairedResult[] = [];
	for (let index = 0; index < messages.length; index += 1) {
		const { calls, results } = messages[index] as Message;
		for (const call of calls) if (call.id !== undefined) latest.set(call.id, { caller: index, call });
		for (const result of results) {
			const owner = result.callId === undefined ? undefined : latest.get(result.callId);
			paired.push({ result, message: index, caller: owner?.caller, call: owner?.call });
		}
	}
	pairings.set(messages, paired);
	return paired;
}

// A transcript never changes once it is read, and every step of a call asks for its pairs.
const pairings = new WeakMap<readonly Message[], readonly PairedResult[]>();
