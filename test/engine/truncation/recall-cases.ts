import { resultText, type Transcript } from "../../../src/engine/conversation/transcript.ts";
import { pairResults } from "../../../src/engine/conversation/turns.ts";
import { findIdentifiers } from "../../../src/engine/masking/identifiers.ts";
import { findUses } from "../../../src/engine/masking/uses.ts";
import { callFocusReader } from "../../../src/engine/truncation/focus.ts";
import { wholeLines } from "../../support/whole-lines.ts";

/** What is used of a result later, by kind. */
export interface Used {
	readonly identifiers: ReadonlySet<string>;
	/** Whole lines, as `wholeLines` has them. */
	readonly lines: ReadonlySet<string>;
}

/** A large result of a conversation, with what the agent used of it later. */
export interface RecallCase {
	readonly text: string;
	/** What its call was after, as `guard_context` reads it. */
	readonly focus: string;
	/** What stood in this result alone when it was used. */
	readonly alone: Used;
	/** That, and what stood in other results too. */
	readonly shared: Used;
}

export const kinds = ["identifiers", "lines"] as const;
export type RecallKind = (typeof kinds)[number];

/** What stands in a text, by the same measure for what is used and for what is kept. */
export const measures: Readonly<Record<RecallKind, (text: string) => Iterable<string>>> = {
	identifiers: (text) => findIdentifiers(text).map((one) => one.text),
	lines: wholeLines,
};

/** The results over a size with their later use, by the measure of `palimpsest replay` (`findUses`). */
export function recallCases(transcript: Transcript, isLarge: (text: string) => boolean): RecallCase[] {
	const paired = pairResults(transcript);
	const uses = findUses(transcript);
	const focusOf = callFocusReader(transcript.messages);
	const make = () => ({ identifiers: new Set<string>(), lines: new Set<string>() });
	const used = paired.map(() => ({ alone: make(), shared: make() }));
	for (const kind of kinds) {
		for (const { text, holders } of uses[kind].flat()) {
			for (const holder of holders) {
				used[holder]?.shared[kind].add(text);
				if (holders.length === 1) used[holder]?.alone[kind].add(text);
			}
		}
	}
	return paired.flatMap((one, place) => {
		const text = resultText(one.result);
		return isLarge(text) ? [{ text, focus: focusOf(one), ...(used[place] as (typeof used)[number]) }] : [];
	});
}

/** Strings of `wanted` that a text holds. */
export function countKept(text: string, wanted: ReadonlySet<string>, kind: RecallKind): number {
	let kept = 0;
	for (const one of new Set(measures[kind](text))) if (wanted.has(one)) kept += 1;
	return kept;
}

/** Longest piece that the bound takes at once; longer lines can be taken in part. */
const longestPiece = 300;

/**
 * What a choice of lines that knows the later use can keep at most within a budget of characters, whatever else the text
 * says: how many of `wanted` are kept, by greedy choice of what keeps most for a character.
 */
export function clairvoyantBound(text: string, wanted: ReadonlySet<string>, kind: RecallKind, budget: number): number {
	const pieces = text.split("\n").flatMap((line) => {
		if (line.length <= longestPiece || kind === "lines") return [line];
		return line.match(/.{1,300}(?=[\s,;"'(){}[\]]|$)/g) ?? [line];
	});
	let open = pieces
		.map((piece) => ({
			cost: piece.length + 1,
			holds: [...new Set(measures[kind](piece))].filter((one) => wanted.has(one)),
		}))
		.filter(({ holds }) => holds.length > 0);
	const kept = new Set<string>();
	let left = budget;
	while (open.length > 0) {
		open = open
			.map((piece) => ({ ...piece, holds: piece.holds.filter((one) => !kept.has(one)) }))
			.filter((piece) => piece.holds.length > 0 && piece.cost <= left)
			.sort((a, b) => b.holds.length / b.cost - a.holds.length / a.cost);
		const best = open.shift();
		if (!best) break;
		left -= best.cost;
		for (const one of best.holds) kept.add(one);
	}
	return kept.size;
}
