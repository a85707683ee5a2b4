import { locateCallArguments } from "../conversation/turns.js";
import { findIdentifiers } from "../masking/identifiers.js";

const longest = 4_000;
const mostStrings = 1_000;
/** The `focus` of `truncateOutput` for the result of a call. It depends on nothing after the call. */
export function focusOfCall({ input, words = "", task = "" }) {
	const argumentTexts = stringsIn(typeof input === "string" ? parsed(input) : input).join("\n");
	return [argumentTexts, words, task]
		.map((text) => text.slice(0, longest))
		.filter((text) => text.trim() !== "")
		.join("\n");
}
export function callFocusReader(messages) {
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
function lastWordsReader(messages, role) {
	const known = new Map();
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
function wordsOf(message) {
	const thoughts = new Set(message.thinking.map((block) => block.text));
	const ofCalls = new Set(locateCallArguments(message).flatMap((at) => (at === undefined ? [] : [at, at - 1])));
	const words = message.counted.filter((text, index) => !ofCalls.has(index) && !thoughts.has(text));
	return words.join("\n").trim();
}
function parsed(text) {
	if (!/^\s*[[{"]/.test(text)) return text;
	try {
		return JSON.parse(text);
	} catch {
		return text;
	}
}
function stringsIn(input) {
	const strings = [];
	const waiting = [input];
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
/** The words of a focus: its identifiers, with the most weight, their parts, with the least, and its other words. */
export function focusWords(focus) {
	const half = longestFocus / 2;
	const read = focus.length <= longestFocus ? focus : `${focus.slice(0, half)}\n${focus.slice(-half)}`;
	const words = new Map();
	const add = (one, weight) => {
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
function partsOfWord(one) {
	if (ideographs.test(one)) {
		const characters = Array.from(one).slice(0, 200);
		return characters.slice(1).map((character, index) => `${characters[index]}${character}`);
	}
	const parts = one.split(/_|(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|(?<=\p{L})(?=\d)/u);
	return parts.filter((part) => part.length > 2);
}
const mostRemembered = 20_000;
/** The class of each UTF-16 code unit: 0 ends a plain word, 1 is part of one, 2 joins two parts, 3 is not ASCII text. */
const classes = new Uint8Array(65_536).fill(3);
classes.fill(0, 32, 127).fill(0, 9, 10);
classes.fill(1, 97, 123).fill(1, 36, 37);
classes.fill(2, 48, 58).fill(2, 65, 91).fill(2, 95, 96);
/** Returns a function that finds the focus words in a text, each once, in order. */
export function focusFinder(focus) {
	if (focus.size === 0) return () => [];
	const known = new Map();
	const focusIn = (one) => {
		let found = known.get(one);
		if (found === undefined) {
			found = [one, ...partsOfWord(one)].map((part) => part.toLowerCase()).filter((part) => focus.has(part));
			if (known.size < mostRemembered) known.set(one, found);
		}
		return found;
	};
	// Most words are not in the focus, as a hash of their letters shows.
	const hashes = new Uint8Array(4_096);
	for (const one of focus.keys()) {
		let hash = 0;
		for (let at = 0; at < one.length; at += 1) hash = hashWith(hash, one.charCodeAt(at));
		hashes[hash & 0xfff] = 1;
	}
	return (text) => {
		const found = [];
		const add = (one) => {
			for (const part of focusIn(one)) if (!found.includes(part)) found.push(part);
		};
		let [start, hash, isJoined] = [0, 0, false];
		for (let at = 0; at <= text.length; at += 1) {
			const unit = at < text.length ? text.charCodeAt(at) : 0x20;
			const kind = classes[unit];
			if (kind === 3) return [...new Set((text.match(word) ?? []).flatMap(focusIn))];
			if (kind !== 0) {
				if (kind === 2 && (at > start || unit === underscore)) isJoined = true;
				hash = hashWith(hash, unit);
				continue;
			}
			if (at - start >= 2 && (isJoined || hashes[hash & 0xfff] === 1)) add(text.slice(start, at));
			[start, hash, isJoined] = [at + 1, 0, false];
		}
		return found;
	};
}
const underscore = 0x5f;
function hashWith(hash, unit) {
	const mixed = Math.imul(hash ^ (unit | 32), 0x5bd1e995);
	return mixed ^ (mixed >>> 15);
}
