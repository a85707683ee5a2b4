import { isOpen, type ReplayHistory } from "./history.ts";

/** What takes part in a walk through a history. `index` is that of the next message, which has not come yet. */
export interface Walker {
	/** The context is complete and an answer may be asked for: the moment to act. */
	readonly beforeAnswer: (index: number) => void;
	/** The message at `index` opens an answer to what stands before it: an LLM call is made. */
	readonly call: (index: number) => void;
	/** The message at `index` comes. */
	readonly append: (index: number) => void;
}

/**
 * Walks through a history as it came about. The moments to act are those at which the context does not end with an
 * answer, whether or not a call followed: so what is done about the first n messages does not depend on the next, and
 * the end of a history is a moment like any other.
 */
export function walk({ transcript: { messages }, calls }: ReplayHistory, walker: Walker): void {
	let nextCall = 0;
	for (let index = 0; index <= messages.length; index += 1) {
		if (index > 0 && !isOpen(messages[index - 1])) walker.beforeAnswer(index);
		if (index === messages.length) return;
		if (calls[nextCall] === index) {
			nextCall += 1;
			walker.call(index);
		}
		walker.append(index);
	}
}
