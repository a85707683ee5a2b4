import type { Message } from "../conversation/transcript.ts";
import { locateCallArguments, type PairedResult } from "../conversation/turns.ts";

/** What is known of a call: what whoever made it was after. */
export interface CallPurpose {
	/** Its arguments: a value, its JSON, or the text of a call that takes free text. */
	readonly input: unknown;
	/** What the assistant said last before it. */
	readonly words?: string | undefined;
	/** What the user said last before it. */
	readonly task?: string | undefined;
}

/** Characters that are read of each. */
const longest = 4_000;
/** Strings that are read of the arguments. */
const mostStrings = 1_000;

/**
 * The text by whose words the result of a call is looked through (`focus` of `truncateOutput`): the texts among its
 * arguments, the words before it, the user's last words. It depends on nothing behind the call.
 */
export function focusOfCall({ input, words = "", task = "" }: CallPurpose): string {
	const asked = stringsIn(typeof input === "string" ? parsed(input) : input).join("\n");
	return [asked, words, task]
		.map((text) => text.slice(0, longest))
		.filter((text) => text.trim() !== "")
		.join("\n");
}

/** Reads what the calls of a conversation were after, in time in proportion to what is read. */
export function callFocusReader(messages: readonly Message[]): (paired: PairedResult) => string {
	const saidBefore = { assistant: lastWordsReader(messages, "assistant"), user: lastWordsReader(messages, "user") };
	return ({ call, caller, message }) => {
		const calling = caller === undefined ? undefined : messages[caller];
		const place = calling && call ? locateCallArguments(calling)[calling.calls.indexOf(call)] : undefined;
		const input = place === undefined ? "" : calling?.counted[place];
		const at = caller ?? message;
		return focusOfCall({ input, words: saidBefore.assistant(at), task: saidBefore.user(at) });
	};
}

/** What one of a role said last, up to a message and with it. */
function lastWordsReader(messages: readonly Message[], role: Message["role"]): (at: number) => string {
	const known = new Map<number, string>();
	return (at) => {
		let words = "";
		for (let index = at; index >= 0 && words === ""; index -= 1) {
			const said = known.get(index);
			if (said !== undefined) {
				words = said;
				break;
			}
			const message = messages[index];
			if (message?.role === role) words = wordsOf(message);
		}
		// So that a later question need not go farther back than this one.
		known.set(at, words);
		return words;
	};
}

/** What a message says in words of its own: neither reasoning nor calls. */
function wordsOf(message: Message): string {
	const thoughts = new Set(message.thinking.map((block) => block.text));
	const ofCalls = new Set(locateCallArguments(message).flatMap((at) => (at === undefined ? [] : [at, at - 1])));
	const words = message.counted.filter((text, index) => !ofCalls.has(index) && !thoughts.has(text));
	return words.join("\n").trim().slice(0, longest);
}

function parsed(text: string): unknown {
	if (!/^\s*[[{"]/.test(text)) return text;
	try {
		return JSON.parse(text);
	} catch {
		return text;
	}
}

function stringsIn(input: unknown): string[] {
	const strings: string[] = [];
	const waiting: unknown[] = [input];
	let chars = 0;
	while (waiting.length > 0 && strings.length < mostStrings && chars < longest) {
		const value = waiting.pop();
		if (typeof value === "string") {
			strings.push(value);
			chars += value.length;
		} else if (typeof value === "object" && value !== null) {
			// An array of what may be a million items; the first of them come first.
			const values = Object.values(value).slice(0, mostStrings);
			for (let index = values.length - 1; index >= 0; index -= 1) waiting.push(values[index]);
		}
	}
	return strings;
}
