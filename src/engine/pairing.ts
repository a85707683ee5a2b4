import { type Earlier, type Findings, findOnce, type MessageList } from "./continuation.ts";
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
	return findOnce(pairings, messages, (earlier) => pair(messages, earlier)).paired;
}

/** The position of the first pair whose result stands in a message or behind it. */
export function firstPairFrom(paired: readonly PairedResult[], message: number): number {
	let [low, high] = [0, paired.length];
	while (low < high) {
		const middle = (low + high) >> 1;
		if ((paired[middle] as PairedResult).message < message) low = middle + 1;
		else high = middle;
	}
	return low;
}

interface Pairing {
	readonly paired: readonly PairedResult[];
	/** The latest call of each id, until a longer conversation goes on with them. */
	latest: Map<string, { readonly caller: number; readonly call: ToolCall }> | undefined;
}

// A transcript never changes once it is read, and each step of a call asks for its pairs.
const pairings: Findings<Pairing> = new WeakMap();

function pair(messages: MessageList, earlier: Earlier<Pairing> | undefined): Pairing {
	const begun = earlier?.finding.latest && earlier;
	const latest: NonNullable<Pairing["latest"]> = begun?.finding.latest ?? new Map();
	const paired = begun ? begun.finding.paired.slice() : [];
	if (begun) begun.finding.latest = undefined;
	for (let index = begun?.messages.length ?? 0; index < messages.length; index += 1) {
		const { calls, results } = messages[index] as Message;
		for (const call of calls) if (call.id !== undefined) latest.set(call.id, { caller: index, call });
		for (const result of results) {
			const owner = result.callId === undefined ? undefined : latest.get(result.callId);
			paired.push({ result, message: index, caller: owner?.caller, call: owner?.call });
		}
	}
	return { paired, latest };
}
