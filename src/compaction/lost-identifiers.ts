import { resultText, type Transcript } from "../conversation/transcript.ts";
import { findIdentifiers, type Identifier } from "../masking/identifiers.ts";

/** An identifier of the range that the summary does not name. */
export interface LostIdentifier extends Identifier {
	/** In how many texts of the range it stands. */
	readonly texts: number;
}

/** What is compared. */
export interface LostIdentifiersParameters {
	/** The texts of the range, oldest first. */
	readonly texts: readonly string[];
	readonly summary: string;
	/** Most identifiers that are listed. */
	readonly limit?: number;
}

/** Which identifiers are lost: the first ones, and of how many. */
export interface LostIdentifiers {
	readonly lost: readonly LostIdentifier[];
	/** How many different ones the range has. */
	readonly found: number;
	/** How many of them the summary lost, listed or not. */
	readonly lostCount: number;
}

const defaultLimit = 20;

/** Texts from which on an identifier counts as often as can be. */
const often = 8;

/** Characters to which git and people shorten a hash. */
const shortHash = 7;

/**
 * Lists the identifiers of a range that its summary lost: paths, addresses, hashes, error codes, names of functions and
 * classes, numbers that look like ids. Those that stand in many texts or in late ones come first, since they are the
 * likeliest to be needed again. A path is kept where the summary has its last two parts, a hash where it has the first seven characters as a word.
 */
export function lostIdentifiers({ texts, summary, limit = defaultLimit }: LostIdentifiersParameters): LostIdentifiers {
	const seen = new Map<string, { readonly identifier: Identifier; texts: number; last: number }>();
	texts.forEach((text, index) => {
		for (const identifier of findIdentifiers(text)) {
			const known = seen.get(identifier.text);
			if (!known) seen.set(identifier.text, { identifier, texts: 1, last: index });
			else if (known.last !== index) {
				known.texts += 1;
				known.last = index;
			}
		}
	});
	const lateness = (index: number) => (texts.length < 2 ? 1 : index / (texts.length - 1));
	const keeps = keeper(summary);
	const lost = [...seen.values()]
		.filter(({ identifier }) => !keeps(identifier))
		.map((one) => ({ ...one, score: Math.min(one.texts, often) / often + lateness(one.last) }))
		.sort((a, b) => b.score - a.score || (a.identifier.text < b.identifier.text ? -1 : 1));
	return {
		lost: lost.slice(0, limit).map((one) => ({ ...one.identifier, texts: one.texts })),
		found: seen.size,
		lostCount: lost.length,
	};
}

function keeper(summary: string): (identifier: Identifier) => boolean {
	const named = new Set(findIdentifiers(summary).map(({ text }) => text));
	const holds = createSubstringFinder(summary);
	const holdsWithSlashes = summary.includes("\\") ? createSubstringFinder(summary.replaceAll("\\", "/")) : holds;
	const holdsAsWord = (word: string) => named.has(word) || (holds(word) && holdsWord(summary, word));
	return ({ text, kind }) => {
		if (holdsAsWord(text)) return true;
		if (kind === "url") return holds(text.replace(/\/$/, ""));
		if (kind === "hash") return text.length > shortHash && holdsAsWord(text.slice(0, shortHash));
		if (kind !== "path") return false;
		const ending = text.split(/[/\\]/).filter(Boolean).slice(-2).join("/");
		return ending !== "" && holdsWithSlashes(ending);
	};
}

/** Whether a word stands in a text by itself, not as a part of a longer one. */
function holdsWord(text: string, word: string): boolean {
	for (let at = text.indexOf(word); at !== -1; at = text.indexOf(word, at + 1)) {
		if (!/\w/.test(text.charAt(at - 1)) && !/\w/.test(text.charAt(at + word.length))) return true;
	}
	return false;
}

/** The texts of some messages that identifiers are looked for in: reasoning is left out. */
export function textsOfMessages(transcript: Transcript, messages: readonly number[]): string[] {
	return messages.flatMap((index) => {
		const message = transcript.messages[index];
		if (!message) return [];
		const thoughts = new Set(message.thinking.map((block) => block.text));
		return [...message.counted.filter((text) => !thoughts.has(text)), ...message.results.map(resultText)];
	});
}

/** Characters (UTF-16 code units) by which it is told at a glance that a text does not hold another. */
const glance = 6;

/**
 * Tells which texts another one holds, for very many of them: most that it does not hold are told by a look at their
 * pieces, without a search of the text.
 */
export function createSubstringFinder(text: string): (part: string) => boolean {
	/** By length: all pieces of that length. */
	const pieces = new Map<number, ReadonlySet<string>>();
	const piecesOf = (length: number): ReadonlySet<string> => {
		const known = pieces.get(length);
		if (known) return known;
		const found = new Set<string>();
		for (let end = length; end <= text.length; end += 1) found.add(text.slice(end - length, end));
		pieces.set(length, found);
		return found;
	};
	return (part) => {
		const length = Math.min(glance, part.length);
		const known = piecesOf(length);
		// From the end, since many names begin alike.
		for (let end = part.length; end >= length; end -= 1) if (!known.has(part.slice(end - length, end))) return false;
		return part.length <= glance || text.includes(part);
	};
}
