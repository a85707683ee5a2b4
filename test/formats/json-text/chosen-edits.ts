import { createHash } from "node:crypto";
import fc from "fast-check";
import type { PortableEdit } from "../../../src/formats/json-text/edit.ts";
import { anyCharacter } from "../../support/any-character.ts";
import type { Placed, SpelledDocument } from "./spelled-json.ts";

/** An edit with the value that it changes. */
export interface ChosenEdit extends PortableEdit {
	readonly place: Placed;
	/** The list that an item is taken from, in order. */
	readonly siblings: readonly Placed[];
}

/** How edits are chosen: each picks a place, what to do there, and with how much. */
export const choices = fc.array(
	fc.record({
		at: fc.nat(),
		action: fc.constantFrom("replace", "replace", "single", "run", "first", "last", "all"),
		size: fc.integer({ min: 1, max: 4 }),
		replacement: fc.oneof(fc.string({ unit: anyCharacter }), fc.constant("\ud800"), fc.jsonValue({ maxDepth: 2 })),
	}),
	{ minLength: 1, maxLength: 6 },
);
export type Choice = typeof choices extends fc.Arbitrary<(infer One)[]> ? One : never;

/** Edits of a document that do not overlap. */
export function chooseEdits(document: SpelledDocument, picked: readonly Choice[]): ChosenEdit[] {
	const { text, kind, roots } = document;
	const all = roots.flatMap(withDescendants).filter((place) => place.live);
	const lists = all.filter((place) => place.kind === "array").map((place) => place.children);
	if (kind === "json_lines") lists.unshift(roots);
	const chosen: ChosenEdit[] = [];
	const add = (edit: Pick<ChosenEdit, "kind" | "place" | "siblings" | "replacement">) => {
		const { place } = edit;
		if (chosen.some((other) => place.start < other.place.end && other.place.start < place.end)) return;
		chosen.push({
			...edit,
			path: place.pointer,
			sha256_before: hashOf(JSON.parse(text.slice(place.start, place.end))),
		});
	};
	for (const { at, action, size, replacement } of picked) {
		if (action === "replace") {
			const place = all[at % all.length];
			// A record stays one: a bare text on a line with others would be no JSON Lines.
			const isRecord = kind === "json_lines" && place !== undefined && roots.includes(place);
			if (place) add({ kind: "replace", place, siblings: [], replacement: isRecord ? [replacement] : replacement });
			continue;
		}
		const siblings = lists[at % lists.length] ?? [];
		const [from, count] = {
			single: [at % Math.max(1, siblings.length), 1],
			run: [at % Math.max(1, siblings.length), size],
			first: [0, size],
			last: [Math.max(0, siblings.length - size), size],
			all: [0, siblings.length],
		}[action] as [number, number];
		for (const place of siblings.slice(from, from + count)) add({ kind: "remove", place, siblings });
	}
	return chosen;
}

interface Cut {
	readonly start: number;
	readonly end: number;
	readonly paste: string;
}

/** The text that edits have to make, cut and pasted by the places that were noted while it was written. */
export function expectedText({ kind, text, roots }: SpelledDocument, edits: readonly ChosenEdit[]): string {
	const cuts = edits.flatMap(({ kind: change, place: { start, end }, replacement }): Cut[] =>
		change === "replace" ? [{ start, end, paste: JSON.stringify(replacement) }] : [],
	);
	const removals = edits.filter((edit) => edit.kind === "remove");
	for (const siblings of new Set(removals.map((edit) => edit.siblings))) {
		const removed = new Set(removals.map((edit) => edit.place));
		cuts.push(
			...runsOf(siblings, removed).map((run) => cutOfRun(run, kind === "json_lines" && siblings === roots, text)),
		);
	}
	let [result, position] = ["", 0];
	for (const { start, end, paste } of cuts.sort((a, b) => a.start - b.start)) {
		result += text.slice(position, start) + paste;
		position = end;
	}
	return result + text.slice(position);
}

/** Neighbours that are all removed, with those that stay before and behind. */
interface Run {
	readonly first: Placed;
	readonly last: Placed;
	readonly before: Placed | undefined;
	readonly behind: Placed | undefined;
}

function runsOf(siblings: readonly Placed[], removed: ReadonlySet<Placed>): Run[] {
	return siblings.flatMap((first, index): Run[] => {
		const before = siblings[index - 1];
		if (!removed.has(first) || (before && removed.has(before))) return [];
		const length = siblings.slice(index).findIndex((one) => !removed.has(one));
		const end = length === -1 ? siblings.length : index + length;
		return [{ first, last: siblings[end - 1] as Placed, before, behind: siblings[end] }];
	});
}

/** A separator goes with each item: the one behind, or the one before at the end of a list or inside a line. */
function cutOfRun({ first, last, before, behind }: Run, areRecords: boolean, text: string): Cut {
	const isInsideLine = areRecords && before && !text.slice(before.end, first.start).includes("\n");
	if (before && (!behind || isInsideLine)) return { start: before.end, end: last.end, paste: "" };
	return { start: first.start, end: behind ? behind.start : last.end, paste: "" };
}

function withDescendants(place: Placed): Placed[] {
	return [place, ...place.children.flatMap(withDescendants)];
}

function hashOf(value: unknown): string {
	const text = typeof value === "string" ? value : JSON.stringify(value);
	return createHash("sha256").update(text).digest("hex");
}
