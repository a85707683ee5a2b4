import { continueMessages } from "../engine/continuation.ts";
import { copyJson, equalsCopy, uncopiedJson } from "../engine/json-copy.ts";
import type { Message } from "../engine/transcript.ts";
import type { LocatedMessages, ReadValue, Recollection } from "./format.ts";

/** How much is remembered; past it the conversation that was longest unused is forgotten. */
export interface MemoryLimits {
	readonly conversations: number;
	/** Characters (UTF-16 code units) of what is held, with some for each value beside its text. */
	readonly chars: number;
}

/** Remembers the messages of earlier conversations. */
export interface ConversationMemory {
	/** What is known of a conversation that is about to be read in a format. */
	readonly recollect: (format: string, located: LocatedMessages) => Recollection;
	/** The same memory for conversations that nobody else holds: those cannot be changed in place, and no copy is made. */
	readonly ofOwned: ConversationMemory;
	/** What is held now. */
	readonly size: () => { readonly conversations: number; readonly chars: number };
}

interface RememberedValue {
	readonly copy: unknown;
	readonly chars: number;
	readonly read: ReadValue;
}

interface RememberedConversation {
	readonly key: string;
	readonly values: (RememberedValue | undefined)[];
	chars: number;
	/** Everything that was read of it, where all of it is held. */
	messages?: readonly Message[] | undefined;
}

/** What a message that was read takes beside its texts, in characters; about what its objects take in memory. */
const messageOverhead = 400;

/**
 * Starts a memory. A message counts as known where, at the same index of the conversation that begins alike, it equals
 * the memory's own copy value by value: no digest, no object's identity, so that what was changed in place is read anew.
 */
export function createConversationMemory(limits: MemoryLimits): ConversationMemory {
	// The longest unused first.
	let conversations: RememberedConversation[] = [];
	let total = 0;

	function forget(one: RememberedConversation | undefined): void {
		if (!one) return;
		conversations = conversations.filter((other) => other !== one);
		total -= one.chars;
	}

	function recollect(format: string, { base, messages }: LocatedMessages, isOwned: boolean): Recollection {
		const key = `${format}/${base.join("/")}`;
		const alike = conversations.filter((one) => one.key === key);
		const { known, run } = longestRun(alike, messages);
		// What goes on from a conversation takes its place; what only begins like it stands beside it.
		const goesOn = known !== undefined && run === known.values.length;
		const current: RememberedConversation = goesOn ? known : { key, values: [], chars: 0 };
		const begun = goesOn && known.messages ? { values: run, messages: known.messages } : undefined;
		if (goesOn) conversations = conversations.filter((other) => other !== known);
		else if (conversations.length >= limits.conversations) forget(conversations[0]);
		conversations.push(current);

		function hold(index: number, one: RememberedValue): void {
			while (total + one.chars > limits.chars && conversations.length > 1) forget(conversations[0]);
			if (total + one.chars > limits.chars) return;
			current.values[index] = one;
			current.chars += one.chars;
			total += one.chars;
		}
		return {
			begun,
			recall(value, index) {
				const one = known?.values[index];
				if (!one || (index >= run && !equalsCopy(one.copy, value))) return undefined;
				if (current !== known) hold(index, one);
				return one.read;
			},
			learn(value, index, read) {
				const copy = isOwned ? uncopiedJson(value) : copyJson(value);
				if (!copy) return read(value, index);
				const held = read(copy.value, index);
				hold(index, { copy: copy.value, chars: copy.chars + messageOverhead, read: held });
				return held;
			},
			finish(all) {
				const isHeld = current.values.length === messages.length && !current.values.includes(undefined);
				current.messages = isHeld ? all : undefined;
				if (begun) continueMessages(all, begun.messages);
			},
		};
	}

	const size = () => ({ conversations: conversations.length, chars: total });
	const ofOwned: ConversationMemory = {
		recollect: (format, located) => recollect(format, located, true),
		get ofOwned() {
			return ofOwned;
		},
		size,
	};
	return { recollect: (format, located) => recollect(format, located, false), ofOwned, size };
}

/** The conversation that begins alike for the longest, the latest of several, and for how many messages it does. */
function longestRun(conversations: readonly RememberedConversation[], values: readonly unknown[]) {
	let known: RememberedConversation | undefined;
	let run = 0;
	for (const one of conversations) {
		let equal = 0;
		while (equal < values.length && equal < one.values.length) {
			const value = one.values[equal];
			if (!value || !equalsCopy(value.copy, values[equal])) break;
			equal += 1;
		}
		if (equal > 0 && equal >= run) [known, run] = [one, equal];
	}
	return { known, run };
}
