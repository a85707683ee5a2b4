import { resultText, type Transcript } from "../conversation/transcript.ts";
import { findIdentifiers, type Identifier } from "../masking/identifiers.ts";

export interface LostIdentifier extends Identifier {
	/** The number of texts of the range that hold it. */
	readonly texts: number;
}

/** An identifier in more texts scores no higher. */
const often = 8;

/** Characters to which git and people shorten a hash. */
const shortHash = 7;

/**
 * Lists the identifiers of a range that its summary lost: those in many texts or in late ones first, as the likeliest
 * to be needed. A path is kept by its last two parts, a hash by its first seven characters as a word.
 */
export function lostIdentifiers(range: {
	readonly texts: readonly string[];
	readonly summary: string;
	readonly limit?: number;
}): { readonly lost: readonly LostIdentifier[]; readonly found: number; readonly lostCount: number } {
	const { texts, summary, limit = 20 } = range;
	const seen = new Map<string, { readonly identifier: Identifier; readonly texts: number; readonly last: number }>();
	texts.forEach((text, last) => {
		for (const identifier of findIdentifiers(text)) {
			const known = seen.get(identifier.text) ?? { texts: 0, last: -1 };
			if (known.last !== last) seen.set(identifier.text, { identifier, texts: known.texts + 1, last });
		}
	});
	const lateness = (index: number) => (texts.length < 2 ? 1 : index / (texts.length - 1));
	const keeps = keeper(summary);
	const lost = [...seen.values()]
		.filter(({ identifier }) => !keeps(identifier))
		.map((one) => ({ ...one, score: Math.min(one.texts, often) / often + lateness(one.last) }))
		.sort((one, other) => other.score - one.score || (one.identifier.text < other.identifier.text ? -1 : 1));
	return {
		lost: lost.slice(0, limit).map((one) => ({ ...one.identifier, texts: one.texts })),
		found: seen.size,
		lostCount: lost.length,
	};
}

function keeper(summary: string): (identifier: Identifier) => boolean {
	const named = new Set(findIdentifiers(summary).map(({ text }) => text));
	const withSlashes = summary.replaceAll("\\", "/");
	const holdsAsWord = (word: string) => named.has(word) || holdsWord(summary, word);
	return ({ text, kind }) => {
		if (holdsAsWord(text)) return true;
		if (kind === "url") return summary.includes(text.replace(/\/$/, ""));
		if (kind === "hash") return holdsAsWord(text.slice(0, shortHash));
		if (kind !== "path") return false;
		const ending = text.split(/[/\\]/).filter(Boolean).slice(-2).join("/");
		return withSlashes.includes(ending);
	};
}

function holdsWord(text: string, word: string): boolean {
	for (let at = text.indexOf(word); at !== -1; at = text.indexOf(word, at + 1)) {
		if (!/\w/.test(text.charAt(at - 1)) && !/\w/.test(text.charAt(at + word.length))) return true;
	}
	return false;
}

/** The texts and results of messages, without reasoning. */
export function textsOfMessages(transcript: Transcript, messages: readonly number[]): string[] {
	return messages.flatMap((index) => {
		const message = transcript.messages[index];
		if (!message) return [];
		const thoughts = new Set(message.thinking.map((block) => block.text));
		return [...message.counted.filter((text) => !thoughts.has(text)), ...message.results.map(resultText)];
	});
}
