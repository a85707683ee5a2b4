import type { ToolCall, ToolResult, Transcript } from "./transcript.ts";

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
export function pairResults(transcript: Transcript): readonly PairedResult[] {
	let paired = pairedResults.get(transcript);
	if (!paired) {
		paired = pair(transcript);
		pairedResults.set(transcript, paired);
	}
	return paired;
}

// A transcript never changes once it is read, and each step of a call asks for its pairs.
const pairedResults = new WeakMap<Transcript, readonly PairedResult[]>();

function pair(transcript: Transcript): PairedResult[] {
	const latest = new Map<string, { caller: number; call: ToolCall }>();
	const paired: PairedResult[] = [];
	transcript.messages.forEach((message, index) => {
		for (const call of message.calls) {
			if (call.id !== undefined) latest.set(call.id, { caller: index, call });
		}
		for (const result of message.results) {
			const owner = result.callId === undefined ? undefined : latest.get(result.callId);
			paired.push({ result, message: index, caller: owner?.caller, call: owner?.call });
		}
	});
	return paired;
}
