import type { Message } from "../conversation/transcript.ts";
import { locateCallArguments, type PairedResult } from "../conversation/turns.ts";
import { findIdentifiers } from "../masking/identifiers.ts";

/** What is known of a call: what whoever made it was after. */
interface CallPurpose {
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

/** Words that say nothing of what is looked for, in tool arguments and in the words around them. */
const commonWords = new Set(
	"the and for are was were that this these those with from into onto have has had not but you your our its let will can now see all any out one two use used using get set add new more most then than them they their there here what when where which while who how why also just only some such like need needs make makes made file files path command description line lines code true false null none type name value string number function return const import export class read look first next start check find let's i'll i've it's don't run cmd workdir offset limit pattern query text content data home users user src lib node_modules main test tests json".split(
		" ",
	),
);
/** Longest focus that is read, in characters; of a longer one, its start and its end. */
const longestFocus = 8_000;
/** Most words that are looked for. */
const mostWords = 400;

const word = /[\p{L}\p{N}_$]{2,}/gu;
/** The same in a line of plain letters, which is found far sooner. */
const plainWord = /[A-Za-z0-9_$]{2,}/g;
const notPlain = /[^ -~\t]/;
const ideographs = /[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Hangul}]/u;

/** What is looked for, each word in lower case with its weight: a whole identifier weighs more than a word in it. */
export type FocusWords = ReadonlyMap<string, number>;

/** Reads the words that a focus looks for: its identifiers, their parts, and its other words but the common ones. */
export function focusWords(focus: string): FocusWords {
	const half = longestFocus / 2;
	const read = focus.length <= longestFocus ? focus : `${focus.slice(0, half)}\n${focus.slice(-half)}`;
	const words = new Map<string, number>();
	const add = (one: string, weight: number) => {
		const plain = one.toLowerCase();
		if (plain.length < 2 || commonWords.has(plain) || /^\d{1,2}$/.test(plain)) return;
		if (words.size < mostWords || words.has(plain)) words.set(plain, Math.max(words.get(plain) ?? 0, weight));
	};
	for (const { text } of findIdentifiers(read)) {
		for (const [one] of text.matchAll(word)) add(one, 2);
	}
	for (const [one] of read.matchAll(word)) {
		add(one, /[a-z][A-Z]|_|\d/.test(one) ? 2 : 1);
		for (const part of partsOfWord(one)) add(part, 0.5);
	}
	return words;
}

/** A word with none of these has no parts. */
const joint = /[A-Z_\d]|[^ -~]/;

/** The parts that a name is put together from: `maxRetries`, `max_retries`; two by two in scripts without spaces. */
function partsOfWord(one: string): string[] {
	if (!joint.test(one)) return [];
	if (ideographs.test(one)) {
		const characters = Array.from(one).slice(0, 200);
		return characters.slice(1).map((character, index) => `${characters[index]}${character}`);
	}
	const parts = one.split(/_|(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|(?<=\p{L})(?=\d)/u);
	return parts.length < 2 ? [] : parts.filter((part) => part.length > 2);
}

/** Words whose parts are remembered. */
const mostKnown = 20_000;

/** Finds the words of a focus that a text holds, each once, in order. */
export function focusFinder(focus: FocusWords): (text: string) => string[] {
	if (focus.size === 0) return () => [];
	const known = new Map<string, readonly string[]>();
	return (text) => {
		const found = new Set<string>();
		for (const one of text.match(notPlain.test(text) ? word : plainWord) ?? []) {
			let held = known.get(one);
			if (held === undefined) {
				held = [one, ...partsOfWord(one)].map((part) => part.toLowerCase()).filter((part) => focus.has(part));
				if (known.size < mostKnown) known.set(one, held);
			}
			for (const part of held) found.add(part);
		}
		return [...found];
	};
}
