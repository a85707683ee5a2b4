import type { Message } from "./transcript.ts";

/** The messages of a transcript: a list that never changes, by whose identity what was found out about it is known. */
export type MessageList = readonly Message[];

/** What was found out about lists of messages, for as long as these are held. */
export type Findings<Finding> = WeakMap<MessageList, Finding>;

/** What was found out about the messages that a list begins with. */
export interface Earlier<Finding> {
	readonly messages: MessageList;
	readonly finding: Finding;
}

// Only the latest step is kept: a list that was gone on from keeps nothing alive that came before it.
const earlierLists = new WeakMap<MessageList, MessageList>();

/** Takes note that a list begins with the very same message objects as an earlier one, all of them. */
export function continueMessages(messages: MessageList, earlier: MessageList): void {
	if (messages === earlier) return;
	earlierLists.set(messages, earlier);
	earlierLists.delete(earlier);
}

/**
 * What is found out about messages: remembered, and where a conversation goes on, made from what was found out about its
 * beginning. `find` has to come to the same with it as without.
 */
export function findOnce<Finding>(
	findings: Findings<Finding>,
	messages: MessageList,
	find: (earlier: Earlier<Finding> | undefined) => Finding,
): Finding {
	const known = findings.get(messages);
	if (known !== undefined) return known;
	const found = find(findEarlier(findings, messages));
	findings.set(messages, found);
	return found;
}

/** What was found out about messages, or else about their beginning, where that is known. */
export function findEarlier<Finding>(findings: Findings<Finding>, messages: MessageList): Earlier<Finding> | undefined {
	const own = findings.get(messages);
	if (own !== undefined) return { messages, finding: own };
	const earlier = earlierLists.get(messages);
	const finding = earlier && findings.get(earlier);
	return earlier && finding !== undefined ? { messages: earlier, finding } : undefined;
}
