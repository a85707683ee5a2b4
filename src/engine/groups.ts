import { type Earlier, type Findings, findOnce, type MessageList } from "./continuation.ts";
import { firstPairFrom, type PairedResult } from "./pairing.ts";
import type { Message, Transcript } from "./transcript.ts";

/** Messages that must go or stay together: a message with calls and all its results, or one plain message. */
export interface MessageGroup {
	/** Indexes of its messages, ascending. */
	readonly messages: readonly number[];
}

/**
 * Splits a conversation into groups, oldest first by their first message. Results are grouped by pairing; a tool
 * message whose results have no id goes with the nearest preceding message that made calls, since an API reads it so.
 */
export function groupMessages({ messages }: Transcript, paired: readonly PairedResult[]): readonly MessageGroup[] {
	return findOnce(foundGroups, messages, (earlier) => {
		return (earlier && addToGroups(earlier, messages, paired)) ?? joinGroups(messages, paired);
	}).groups;
}

interface Grouping {
	readonly groups: readonly MessageGroup[];
	/** The position of each message's group. */
	readonly groupOf: readonly number[];
}

const foundGroups: Findings<Grouping> = new WeakMap();

/** Adds messages that follow to the groups of those before; `undefined` where one brings two of these together. */
function addToGroups(
	{ messages: { length: known }, finding }: Earlier<Grouping>,
	messages: MessageList,
	paired: readonly PairedResult[],
): Grouping | undefined {
	const groups = finding.groups.slice();
	const groupOf = finding.groupOf.slice();
	let pair = firstPairFrom(paired, known);
	for (let index = known; index < messages.length; index += 1) {
		const callers = [positionalCaller(messages, index)];
		for (; paired[pair]?.message === index; pair += 1) callers.push(paired[pair]?.caller);
		const joined = new Set<number>();
		for (const caller of callers) if (caller !== undefined && caller !== index) joined.add(groupOf[caller] as number);
		if (joined.size > 1) return undefined;
		const [group = groups.length] = joined;
		groups[group] = { messages: [...(groups[group]?.messages ?? []), index] };
		groupOf.push(group);
	}
	return { groups, groupOf };
}

/** The call that a result without an id answers: the nearest message before it that made one, or its own. */
function positionalCaller(messages: MessageList, index: number): number | undefined {
	if (!isPositional(messages[index] as Message)) return undefined;
	let caller = index;
	while (caller >= 0 && messages[caller]?.calls.length === 0) caller -= 1;
	return caller < 0 ? undefined : caller;
}

function isPositional({ results }: Message): boolean {
	return results.some((result) => result.callId === undefined);
}

function joinGroups(messages: MessageList, paired: readonly PairedResult[]): Grouping {
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
		if (isPositional(message) && latestCaller !== undefined) join(index, latestCaller);
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
	return { groups, groupOf };
}
