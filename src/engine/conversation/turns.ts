import { addToList, groupBy } from "./lists.ts";
import type { BlockLink, Message, ToolCall, ToolResult, Transcript } from "./transcript.ts";

/** Finds by call the index of its arguments in `counted`, right after its name; `undefined` if it is counted otherwise. */
export function locateCallArguments({ calls, counted }: Message): readonly (number | undefined)[] {
	const places = new Array<number | undefined>(calls.length).fill(undefined);
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

/** The arguments of each call as counted: JSON, or free text. */
export function callArguments(message: Message): readonly (string | undefined)[] {
	return locateCallArguments(message).map((place, call) =>
		place === undefined ? message.calls[call]?.input : message.counted[place],
	);
}

/**
 * Messages that can only be dropped together: a message with calls, all its results and every message that is linked to
 * one of them; or one plain message.
 */
export interface MessageGroup {
	/** Ascending indexes. */
	readonly messages: readonly number[];
}

/**
 * Whether a message may be dropped or summarised: system messages stay, and so does what no format knows, since other
 * messages may need it.
 */
export function mayLeave({ role, sent, stays }: Message): boolean {
	return role !== "system" && role !== "other" && sent !== false && !stays;
}

/** Ordered by their first message. A message with a result without id joins the nearest earlier one with calls. */
export function groupMessages({ messages }: Transcript, paired: readonly PairedResult[]): readonly MessageGroup[] {
	const parents = messages.map((_, index) => index);
	const find = (index: number): number => {
		let root = index;
		while (parents[root] !== root) {
			// Halves the way, so that later searches are short.
			parents[root] = parents[parents[root] as number] as number;
			root = parents[root] as number;
		}
		return root;
	};
	const join = (a: number, b: number) => {
		const [first, second] = [find(a), find(b)];
		parents[Math.max(first, second)] = Math.min(first, second);
	};
	for (const { message, caller } of paired) if (caller !== undefined) join(message, caller);
	for (const { message, opener } of pairLinks(messages)) if (opener !== undefined) join(message, opener);

	let latestCaller: number | undefined;
	messages.forEach((message, index) => {
		if (message.calls.length > 0) latestCaller = index;
		const isPositional = message.results.some(({ callId }) => callId === undefined);
		if (isPositional && latestCaller !== undefined) join(index, latestCaller);
	});

	return Array.from(groupBy(messages.keys(), find).values(), (indexes) => ({ messages: indexes }));
}

export interface PairedResult {
	readonly result: ToolResult;
	/** Indexes of the messages of the result and of the call. */
	readonly message: number;
	readonly caller: number | undefined;
	readonly call: ToolCall | undefined;
}

/** Pairs each result with the latest earlier call of its id, in order of appearance: real conversations reuse ids. */
export function pairResults({ messages }: Transcript): readonly PairedResult[] {
	const latest = new Map<string | undefined, { readonly caller: number; readonly call: ToolCall }>();
	const paired: PairedResult[] = [];
	for (const [index, { calls, results }] of messages.entries()) {
		for (const call of calls) if (call.id !== undefined) latest.set(call.id, { caller: index, call });
		for (const result of results) {
			const owner = latest.get(result.callId);
			paired.push({ result, message: index, caller: owner?.caller, call: owner?.call });
		}
	}
	return paired;
}

interface PairedLink {
	readonly link: BlockLink;
	/** Indexes of the messages of the link and of the block that it names. */
	readonly message: number;
	readonly opener: number | undefined;
}

/** Pairs each link with the latest earlier block of its id, which may be a call. */
export function pairLinks(messages: readonly Message[]): readonly PairedLink[] {
	// Few conversations have any.
	if (!messages.some(({ links }) => links)) return [];
	const latest = new Map<string, number>();
	const paired: PairedLink[] = [];
	for (const [index, { calls, links = [] }] of messages.entries()) {
		for (const { id } of calls) if (id !== undefined) latest.set(id, index);
		for (const { kind, id } of links) if (kind === "opens") latest.set(id, index);
		for (const link of links) {
			if (link.kind === "refers") paired.push({ link, message: index, opener: latest.get(link.id) });
		}
	}
	return paired;
}

/** Indexes of the tool turns (docs/strategies.md#tool-turns). Parallel calls are one turn. */
export function toolTurns({ messages }: Transcript): readonly number[] {
	return messages.flatMap((message, index) => (isToolTurn(message) ? [index] : []));
}

export function isToolTurn(message: Message): boolean {
	return message.role === "assistant" && message.calls.some((call) => call.id !== undefined);
}
