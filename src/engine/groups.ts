import type { PairedResult } from "./pairing.ts";
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
	return groups;
}

function isPositional({ results }: Message): boolean {
	return results.some((result) => result.callId === undefined);
}
