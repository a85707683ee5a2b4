import { findIdentifiers } from "../../masking/uses.ts";

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
export function partsOfWord(one: string): string[] {
	if (!joint.test(one)) return [];
	if (ideographs.test(one)) {
		const characters = Array.from(one).slice(0, 200);
		return characters.slice(1).map((character, index) => `${characters[index]}${character}`);
	}
	const parts = one.split(/_|(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|(?<=\p{L})(?=\d)/u);
	return parts.length < 2 ? [] : parts.filter((part) => part.length > 2);
}

/** The words of a line by which it is found, in lower case, each once. */
export function wordsOfLine(line: string): Set<string> {
	const words = new Set<string>();
	for (const [one] of line.matchAll(notPlain.test(line) ? word : plainWord)) {
		words.add(one.toLowerCase());
		for (const part of partsOfWord(one)) words.add(part.toLowerCase());
	}
	return words;
}
