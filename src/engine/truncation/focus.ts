import type { Message } from "../conversation/transcript.ts";
import { locateCallArguments, type PairedResult } from "../conversation/turns.ts";
import { findIdentifiers } from "../masking/identifiers.ts";

interface CallPurpose {
	/** The arguments of the call: a value, its JSON, or free text. */
	readonly input: unknown;
	/** The last text of the assistant before the call. */
	readonly words?: string | undefined;
	/** The last text of the user before the call. */
	readonly task?: string | undefined;
}

const longest = 4_000;
const mostStrings = 1_000;

/** The `focus` of `truncateOutput` for the result of a call. It depends on nothing after the call. */
export function focusOfCall({ input, words = "", task = "" }: CallPurpose): string {
	const argumentTexts = stringsIn(typeof input === "string" ? parsed(input) : input).join("\n");
	return [argumentTexts, words, task]
		.map((text) => text.slice(0, longest))
		.filter((text) => text.trim() !== "")
		.join("\n");
}

export function callFocusReader(messages: readonly Message[]): (paired: PairedResult) => string {
	const textBefore = { assistant: lastWordsReader(messages, "assistant"), user: lastWordsReader(messages, "user") };
	return ({ call, caller, message }) => {
		const calling = caller === undefined ? undefined : messages[caller];
		const place = calling && call ? locateCallArguments(calling)[calling.calls.indexOf(call)] : undefined;
		const input = place === undefined ? "" : calling?.counted[place];
		const at = caller ?? message;
		return focusOfCall({ input, words: textBefore.assistant(at), task: textBefore.user(at) });
	};
}

/** Returns a function that gives the last text of a role, up to and including a message. */
function lastWordsReader(messages: readonly Message[], role: Message["role"]): (at: number) => string {
	const known = new Map<number, string>();
	return (at) => {
		let words = "";
		for (let index = at; index >= 0 && words === ""; index -= 1) {
			const earlier = known.get(index);
			if (earlier !== undefined) {
				words = earlier;
				break;
			}
			const message = messages[index];
			if (message?.role === role) words = wordsOf(message);
		}
		// A later search stops here.
		known.set(at, words);
		return words;
	};
}

function wordsOf(message: Message): string {
	const thoughts = new Set(message.thinking.map((block) => block.text));
	const ofCalls = new Set(locateCallArguments(message).flatMap((at) => (at === undefined ? [] : [at, at - 1])));
	const words = message.counted.filter((text, index) => !ofCalls.has(index) && !thoughts.has(text));
	return words.join("\n").trim();
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
			// An array may have a million items.
			const values = Object.values(value).slice(0, mostStrings);
			for (let index = values.length - 1; index >= 0; index -= 1) waiting.push(values[index]);
		}
	}
	return strings;
}

const commonWords = new Set(
	"the and for are was were that this these those with from into onto have has had not but you your our its let will can now see all any out one two use used using get set add new more most then than them they their there here what when where which while who how why also just only some such like need needs make makes made file files path command description line lines code true false null none type name value string number function return const import export class read look first next start check find let's i'll i've it's don't run cmd workdir offset limit pattern query text content data home users user src lib node_modules main test tests json".split(
		" ",
	),
);
const longestFocus = 8_000;
const mostWords = 400;

const word = /[\p{L}\p{N}_$]{2,}/gu;
const ideographs = /[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Hangul}]/u;

export type FocusWords = ReadonlyMap<string, number>;

/** The words of a focus: its identifiers, with the most weight, their parts, with the least, and its other words. */
export function focusWords(focus: string): FocusWords {
	const half = longestFocus / 2;
	const read = focus.length <= longestFocus ? focus : `${focus.slice(0, half)}\n${focus.slice(-half)}`;
	const words = new Map<string, number>();
	const add = (one: string, weight: number) => {
		const lower = one.toLowerCase();
		if (commonWords.has(lower) || /^\d{1,2}$/.test(lower)) return;
		if (words.size < mostWords || words.has(lower)) words.set(lower, Math.max(words.get(lower) ?? 0, weight));
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

/** The parts of a name such as `maxRetries` or `max_retries`; pairs of characters in scripts without spaces. */
function partsOfWord(one: string): string[] {
	const parts: string[] = [];
	// The general pattern looks behind, which takes ten times as long.
	if (/^[\w$]*$/.test(one)) eachPart(one, 0, one.length, (start, end) => parts.push(one.slice(start, end)));
	else if (ideographs.test(one)) {
		const characters = Array.from(one).slice(0, 200);
		return characters.slice(1).map((character, index) => `${characters[index]}${character}`);
	} else parts.push(...one.split(/_|(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|(?<=\p{L})(?=\d)/u));
	return parts.filter((part) => part.length > 2);
}

/** The kind of each UTF-16 code unit. */
const kinds = { end: 0, small: 1, capital: 2, digit: 3, underscore: 4, dollar: 5, notAscii: 6 } as const;
const kindOf = new Uint8Array(65_536).fill(kinds.notAscii);
kindOf.fill(kinds.end, 32, 127).fill(kinds.end, 9, 10);
kindOf.fill(kinds.small, 97, 123).fill(kinds.capital, 65, 91).fill(kinds.digit, 48, 58);
kindOf[0x24] = kinds.dollar;
kindOf[0x5f] = kinds.underscore;

/** Passes on the parts of a name in ASCII. */
function eachPart(text: string, start: number, end: number, take: (start: number, end: number) => void): void {
	let from = start;
	let before: number = kinds.end;
	for (let at = start; at < end; at += 1) {
		const kind = kindOf[text.charCodeAt(at)] as number;
		const isBehindLetter = before === kinds.small || before === kinds.capital;
		const isStart =
			kind === kinds.digit
				? isBehindLetter
				: kind === kinds.capital &&
					(before === kinds.small ||
						before === kinds.digit ||
						(before === kinds.capital && at + 1 < end && kindOf[text.charCodeAt(at + 1)] === kinds.small));
		if (isStart || kind === kinds.underscore) {
			take(from, at);
			from = isStart ? at : at + 1;
		}
		before = kind;
	}
	take(from, end);
}

const mostRemembered = 20_000;

/** Returns a function that finds the focus words in a text, each once, in order. */
export function focusFinder(focus: FocusWords): (text: string) => string[] {
	if (focus.size === 0) return () => [];
	const known = new Map<string, readonly string[]>();
	const focusIn = (one: string): readonly string[] => {
		let found = known.get(one);
		if (found === undefined) {
			found = [one, ...partsOfWord(one)].map((part) => part.toLowerCase()).filter((part) => focus.has(part));
			if (known.size < mostRemembered) known.set(one, found);
		}
		return found;
	};
	// Most words are not in the focus, as a hash of their letters shows.
	const hashes = new Uint8Array(4_096);
	for (const one of focus.keys()) hashes[hashOf(one, 0, one.length) & 0xfff] = 1;
	return (text) => {
		const found: string[] = [];
		const add = (start: number, end: number) => {
			if (hashes[hashOf(text, start, end) & 0xfff] === 0) return;
			const one = text.slice(start, end).toLowerCase();
			if (focus.has(one) && !found.includes(one)) found.push(one);
		};
		const addPart = (start: number, end: number) => {
			if (end - start > 2) add(start, end);
		};
		let [start, isJoined] = [0, false];
		for (let at = 0; at <= text.length; at += 1) {
			const kind = at < text.length ? (kindOf[text.charCodeAt(at)] as number) : kinds.end;
			if (kind === kinds.notAscii) return [...new Set((text.match(word) ?? []).flatMap(focusIn))];
			if (kind !== kinds.end) {
				isJoined ||= kind === kinds.underscore || (at > start && (kind === kinds.capital || kind === kinds.digit));
				continue;
			}
			if (at - start >= 2) {
				add(start, at);
				if (isJoined) eachPart(text, start, at, addPart);
			}
			[start, isJoined] = [at + 1, false];
		}
		return found;
	};
}

/** A hash of letters of any case. */
function hashOf(text: string, start: number, end: number): number {
	let hash = 0;
	for (let at = start; at < end; at += 1) {
		const mixed = Math.imul(hash ^ (text.charCodeAt(at) | 32), 0x5bd1e995);
		hash = mixed ^ (mixed >>> 15);
	}
	return hash;
}
