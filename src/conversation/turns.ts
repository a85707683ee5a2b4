import { addToList } from "./lists.ts";
import type { Message, ToolCall, ToolResult, Transcript } from "./transcript.ts";

/**
 * For each call of a message, the index of its arguments in `counted`; `undefined` where the format counts the call otherwise
 * (as an opaque item, or not at all). Formats count a call as its name, then its arguments, in the order of the calls.
 */
export function locateCallArguments({ calls, counted }: Message): readonly (number | undefined)[] {
	const places = new Array<number | undefined>(calls.length).fill(undefined);
	if (calls.length === 0) return places;
	const byName = new Map<string, number[]>();
	for (let call = calls.length - 1; call >= 0; call -= 1) {
		addToList(byName, calls[call]?.name ?? "", call);
	}
	let nextCall = 0;
	for (let index = 0; index + 1 < counted.length; index += 1) {
		const left = byName.get(counted[index] as string);
		while (left && (left.at(-1) ?? nextCall) < nextCall) left.pop();
		const call = left?.pop();
		if (call === undefined) continue;
		places[call] = index + 1;
		nextCall = call + 1;
		index += 1;
	}
	return places;
}

/** The arguments of each call as the format counts them: JSON, or free text. */
export function callArguments(message: Message): readonly (string | undefined)[] {
	return locateCallArguments(message).map((place) => (place === undefined ? undefined : message.counted[place]));
}

/** Messages that must go or stay together: a message with calls and all its results, or one plain message. */
export interface MessageGroup {
	/** Ascending indexes. */
	readonly messages: readonly number[];
}

/**
 * Splits a conversation into groups, oldest first by their first message. Results are grouped by pairing; a tool message
 * whose results have no id belongs to the nearest earlier message with calls, as an API reads it.
 */
export function groupMessages({ messages }: Transcript, paired: readonly PairedResult[]): readonly MessageGroup[] {
	const parents = messages.map((_, index) => index);
	const find = (index: number): number => {
		let root = index;
		while (parents[root] !== root) root = parents[root] as number;
		let walker = index;
		while (walker !== root) {
			const next = parents[walker] as number;
			parents[walker] = root;
			walker = next;
		}
		return root;
	};
	const join = (a: number, b: number) => {
		const [first, second] = [find(a), find(b)];
		parents[Math.max(first, second)] = Math.min(first, second);
	};
	for (const { message, caller } of paired) if (caller !== undefined) join(message, caller);

	let latestCaller: number | undefined;
	messages.forEach((message, index) => {
		if (message.calls.length > 0) latestCaller = index;
		const isPositional = message.results.some(({ callId }) => callId === undefined);
		if (isPositional && latestCaller !== undefined) join(index, latestCaller);
	});

	const groupOf: number[] = [];
	const groups: { messages: number[] }[] = [];
	for (let index = 0; index < messages.length; index += 1) {
		// The root of a group is its first message.
		const root = find(index);
		const group = root === index ? groups.length : (groupOf[root] as number);
		groupOf.push(group);
		if (root === index) groups.push({ messages: [index] });
		else groups[group]?.messages.push(index);
	}
	return groups;
}

/** A tool result with the call that it answers. */
export interface PairedResult {
	readonly result: ToolResult;
	/** Index of the message of the result. */
	readonly message: number;
	/** Index of the message that made the call; `undefined` for an orphan. */
	readonly caller: number | undefined;
	/** The call; `undefined` for an orphan. */
	readonly call: ToolCall | undefined;
}

/**
 * Pairs each result with its call, in order of appearance. A result belongs to the nearest earlier message with a call of
 * its id: real conversations reuse ids.
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

// A transcript never changes, and every step of an operation asks for its pairs.
const pairings = new WeakMap<readonly Message[], readonly PairedResult[]>();

/**
 * Indexes of the tool turns: assistant messages with at least one tool call that has an id
 * (docs/specs/observation-masking.md#tool-turns). Parallel calls are one turn.
 */
export function toolTurns({ messages }: Transcript): readonly number[] {
	return messages.flatMap((message, index) => (isToolTurn(message) ? [index] : []));
}

export function isToolTurn(message: Message): boolean {
	return message.role === "assistant" && message.calls.some((call) => call.id !== undefined);
}
