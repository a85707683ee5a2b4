import type { Path } from "../../engine/conversation/paths.ts";
import { fillTemplate } from "../../engine/masking/template.ts";
import { type FocusWords, focusFinder } from "../../engine/truncation/focus.ts";
import { type Entry, fillLevel, pickEntries } from "../../engine/truncation/json-entries.ts";
import { type JsonSpans, jsonStringEdge, jsonStringEdgeAfter, valueKinds } from "../../engine/truncation/json-spans.ts";

/** A list without some of its items, an object without some of its members, or a text without its middle, at its path in the shorter JSON. */
export type ShapeGap = { readonly path: Path } & (
	| { readonly kind: "list"; readonly omitted: number; readonly total: number; readonly at: number }
	| { readonly kind: "names"; readonly omitted: number; readonly total: number }
	| { readonly kind: "text" }
);

export interface ShapeCut {
	readonly text: string;
	/** The outer ones first. */
	readonly gaps: readonly ShapeGap[];
}

/** In characters. Less of a string says little. */
const leastString = 200;
/** An item is shown if it gets this many characters. */
const showable = 160;
/** An object with more names is a list by name, which may lose some. */
const mostNames = 20;
/** A value below this depth stays whole. */
const deepest = 48;
const longestRead = 2_000;

/**
 * Shortens JSON as far as its types and names stay: lists lose items from the middle that do not match the focus, and texts
 * their middle. What is kept keeps its spelling. `whole` are the lists and texts that must not be cut, as pointers with `*`
 * in place of each index.
 */
export function shortenShape({
	spans,
	focus,
	whole,
	inside,
}: {
	readonly spans: JsonSpans;
	readonly focus: FocusWords;
	readonly whole: ReadonlySet<string>;
	/** The wording in place of a text's middle, with {omitted_chars}. */
	readonly inside: string;
}): (room: number) => ShapeCut {
	const { text, kind, start, end, keyStart, keyEnd, next, size } = spans;
	const focusWordsIn = focusFinder(focus);
	const patterns = whole.size === 0 ? [] : patternsOf(spans);
	const isWhole = (value: number) => whole.size > 0 && whole.has(patterns[value] as string);
	const keyLength = (value: number) => {
		const key = (keyEnd[value] as number) - (keyStart[value] as number);
		return key === 0 ? 0 : key + 1;
	};
	const childrenOf = (value: number) => {
		const children: number[] = [];
		for (let child = value + 1; child < (next[value] as number); child = next[child] as number) children.push(child);
		return children;
	};
	const losesMembers = (value: number, { length }: readonly number[]) =>
		!isWhole(value) && (kind[value] === valueKinds.array || length > mostNames);
	/** The shortest form of each value. */
	const least: number[] = [];
	for (let value = kind.length - 1; value >= 0; value -= 1) {
		const all = size[value] as number;
		if (kind[value] === valueKinds.string) least[value] = isWhole(value) ? all : Math.min(all, leastString);
		else if (kind[value] === valueKinds.other) least[value] = all;
		else {
			const children = childrenOf(value);
			const kept = losesMembers(value, children) ? children.slice(0, 1) : children;
			const inner = kept.reduce((sum, child) => sum + keyLength(child) + (least[child] as number) + 1, 1);
			least[value] = Math.min(all, Math.max(2, inner));
		}
	}

	return (room) => {
		const parts: string[] = [];
		const gaps: ShapeGap[] = [];
		const write = (value: number, left: number, path: Path): void => {
			const [from, to] = [start[value] as number, end[value] as number];
			if ((size[value] as number) <= left || kind[value] === valueKinds.other || path.length > deepest)
				parts.push(text.slice(from, to));
			else if (kind[value] === valueKinds.string) {
				if (isWhole(value)) parts.push(text.slice(from, to));
				else {
					parts.push(cutString(text, { from: from + 1, to: to - 1, left: left - 2, inside }));
					gaps.push({ kind: "text", path });
				}
			} else writeMembers(value, left - 1, path);
		};
		const writeMembers = (value: number, left: number, path: Path): void => {
			const children = childrenOf(value);
			const isList = kind[value] === valueKinds.array;
			const entries = children.map((child): Entry => {
				const extra = keyLength(child) + 1;
				const shortest = extra + (least[child] as number);
				const full = extra + (size[child] as number);
				return {
					...{ full, least: shortest, wanted: Math.max(shortest, Math.min(full, showable)) },
					...{ score: 0, failure: Number.POSITIVE_INFINITY },
				};
			});
			const picked = losesMembers(value, children)
				? pickEntries({ entries: withScores(entries, children), room: left, gapCost: 0, isObject: !isList })
				: children.map((_, index) => index);
			const kept = picked.length === 0 ? [0] : picked;
			const levels = fillLevel(
				kept.map((index) => entries[index] as Entry),
				left,
			);
			if (kept.length < children.length) {
				const gap = kept.findIndex((index, place) => index !== place);
				const at = gap === -1 ? kept.length : gap;
				const [omitted, total] = [children.length - kept.length, children.length];
				gaps.push(isList ? { kind: "list", path, omitted, total, at } : { kind: "names", path, omitted, total });
			}
			parts.push(isList ? "[" : "{");
			for (const [place, index] of kept.entries()) {
				const child = children[index] as number;
				const key = text.slice(keyStart[child] as number, keyEnd[child] as number);
				parts.push(place > 0 ? "," : "", isList ? "" : `${key}:`);
				const level = (levels[place] as number) - keyLength(child) - 1;
				write(child, level, [...path, isList ? place : (JSON.parse(key) as string)]);
			}
			parts.push(isList ? "]" : "}");
		};
		/** Words that few items contain weigh most. */
		const withScores = (entries: readonly Entry[], children: readonly number[]): readonly Entry[] => {
			if (focus.size === 0) return entries;
			const found = children.map((child) => {
				const from = start[child] as number;
				return focusWordsIn(text.slice(from, Math.min(end[child] as number, from + longestRead)));
			});
			const times = new Map<string, number>();
			for (const one of found.flat()) times.set(one, (times.get(one) ?? 0) + 1);
			const worth = (one: string) => (focus.get(one) ?? 0) * Math.log(children.length / (times.get(one) ?? 1));
			return entries.map((entry, at) => ({
				...entry,
				score: (found[at] ?? []).reduce((sum, one) => sum + worth(one), 0),
			}));
		};
		write(0, room, []);
		return { text: parts.join(""), gaps: gaps.sort((a, b) => a.path.length - b.path.length) };
	};
}

function cutString(
	text: string,
	{ from, to, left, inside }: { readonly from: number; readonly to: number; readonly left: number; inside: string },
): string {
	const longest = fillTemplate(inside, { omitted_chars: to - from }).length;
	const shown = Math.max(0, left - longest);
	const headEnd = jsonStringEdge(text, from, from + Math.ceil(shown * (2 / 3)));
	const tailStart = jsonStringEdgeAfter(text, from, Math.max(headEnd, to - Math.floor(shown / 3)), to);
	const mark = JSON.stringify(fillTemplate(inside, { omitted_chars: tailStart - headEnd })).slice(1, -1);
	return `"${text.slice(from, headEnd)}${mark}${text.slice(tailStart, to)}"`;
}

/** A pointer for each value, with `*` in place of each index. */
function patternsOf({ text, kind, keyStart, keyEnd, next }: JsonSpans): readonly string[] {
	const patterns: string[] = [""];
	for (let value = 0; value < kind.length; value += 1) {
		const items = `${patterns[value]}/*`;
		for (let child = value + 1; child < (next[value] as number); child = next[child] as number) {
			const key = text.slice(keyStart[child] as number, keyEnd[child] as number);
			patterns[child] = key === "" ? items : `${patterns[value]}/${segmentOf(JSON.parse(key) as string)}`;
		}
	}
	return patterns;
}

const segmentOf = (key: string) => key.replaceAll("~", "~0").replaceAll("/", "~1");

/** The pointer of a value, with `*` in place of each index. */
export function patternAt(content: unknown, pointer: string): string {
	let at: unknown = content;
	const segments = pointer.split("/").slice(1);
	const pattern = segments.map((segment) => {
		const isItem = Array.isArray(at);
		at = (at as Record<string, unknown> | null | undefined)?.[segment.replaceAll("~1", "/").replaceAll("~0", "~")];
		return isItem ? "/*" : `/${segment}`;
	});
	return pattern.join("");
}
