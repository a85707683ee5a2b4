import { fillTemplate } from "../masking/template.ts";
import type { NoticeWordings } from "../policy/wordings.ts";
import { addRange, type CharRange, type Draft, type Marks } from "./draft.ts";
import { type EncodedRange, encodedMark, findEncoded } from "./encoded.ts";
import type { JsonFailures } from "./failures.ts";
import { type FocusWords, focusFinder } from "./focus.ts";
import { endOfString, type JsonSpans, jsonStringEdge, jsonStringEdgeAfter, valueKinds } from "./json-spans.ts";

interface ShortenJsonParameters {
	readonly spans: JsonSpans;
	readonly marks: Marks;
	readonly focus: FocusWords;
	readonly failures: JsonFailures;
	readonly noticeOf: (keptChars: number) => string;
}

/** Below this depth a value that does not fit is omitted. */
const deepest = 48;
/** An item is shown in part if it gets this many characters. */
const showable = 160;
const longestRead = 20_000;
const wholeFailure = 1_500;
/** Share of the room of a string for lines that report failures, not counting the first. */
const linesShare = 0.6;

/**
 * Shortens JSON so that it stays valid. A long list keeps its first and last items, those with failures and those with
 * focus words; long strings are cut; keys stay if they fit. Kept values keep their spelling, without white space
 * between them. Marks are objects or keys named `_truncated`.
 */
export function shortenJson(parameters: ShortenJsonParameters): (maxChars: number) => Draft {
	const { spans, marks, focus, failures, noticeOf } = parameters;
	const { text, kind, start, end, keyStart, keyEnd, next } = spans;
	const { wording } = marks;
	const encoded = encodedStrings(spans, wording);
	const { size, holdsEncoded } = encoded;
	let markKey = "_truncated";
	while (text.includes(`"${markKey}"`)) markKey = `_${markKey}`;
	const focusWordsIn = focusFinder(focus);
	const scores = new Map<number, readonly number[]>();
	const isString = (value: number) => kind[value] === valueKinds.string;
	const isLeaf = (value: number) => isString(value) || kind[value] === valueKinds.other;
	const longestCount = fillTemplate(wording.items, { omitted: size.length, total: size.length }).length;
	const longestKeys = fillTemplate(wording.keys, { omitted: size.length, total: size.length }).length;
	const longestInside = fillTemplate(wording.inside, { omitted_chars: text.length }).length;
	const markLength = (value: number) =>
		`{"${markKey}":""}`.length + (kind[value] === valueKinds.object ? longestKeys : longestCount);
	const shortest = (value: number) =>
		Math.min(size[value] as number, (isLeaf(value) ? longestInside : markLength(value)) + 2);
	const keyLength = (value: number) => {
		const key = (keyEnd[value] as number) - (keyStart[value] as number);
		return key === 0 ? 0 : key + 1;
	};
	const neededFor = (value: number): number => {
		const whole = size[value] as number;
		if (whole <= wholeFailure) return whole;
		const leaf = failures.leafOf(value);
		const [line] = failures.linesOf(leaf);
		const shown = line === undefined ? (size[leaf] as number) : line.end - line.start + 2 * longestInside + 2;
		let needed = Math.min(size[leaf] as number, Math.max(shown, shortest(leaf)));
		// Each parent needs its key, its brackets and a mark at each side.
		for (let around = leaf; around > value; ) {
			const parent = parentOf(around, value);
			needed += keyLength(around) + 3 + 2 * (markLength(parent) + 1);
			around = parent;
		}
		return Math.min(whole, needed);
	};
	const parentOf = (value: number, top: number): number => {
		let parent = top;
		for (let child = top; child < value; ) {
			if ((next[child] as number) > value) {
				parent = child;
				child += 1;
			} else child = next[child] as number;
		}
		return parent;
	};
	const wordsOf = (value: number) => {
		const from = keyStart[value] || (start[value] as number);
		return focusWordsIn(text.slice(from, Math.min(end[value] as number, from + longestRead)));
	};
	/** How well the children of a value match the focus. Words that few of them contain weigh most. */
	const scoresOf = (parent: number, children: readonly number[]): readonly number[] => {
		const known = scores.get(parent);
		if (known !== undefined) return known;
		const found = children.map(wordsOf);
		const times = new Map<string, number>();
		for (const one of found.flat()) times.set(one, (times.get(one) ?? 0) + 1);
		const rarity = (one: string) => Math.log(Math.max(1, children.length) / (times.get(one) ?? 1));
		const scored = found.map((here) => here.reduce((sum, one) => sum + (focus.get(one) ?? 0) * rarity(one), 0));
		scores.set(parent, scored);
		return scored;
	};

	return (maxChars) => {
		const parts: string[] = [];
		const ranges: CharRange[] = [];
		const notices: string[] = [];
		let keptChars = 0;
		const copy = (from: number, to: number) => {
			parts.push(text.slice(from, to));
			keptChars += to - from;
			// Between two kept values there is only white space and punctuation.
			const last = ranges.at(-1);
			if (last && from - last.end < 200 && !/[^\s,:[\]{}]/.test(text.slice(last.end, from)))
				addRange(ranges, last.end, from);
			addRange(ranges, from, to);
		};
		const mark = (notice: string) => {
			notices.push(notice);
			return `"${markKey}":${JSON.stringify(notice)}`;
		};

		const copyWhole = (value: number) => {
			const until = end[value] as number;
			for (let at = start[value] as number; at < until; ) {
				const unit = text.charCodeAt(at);
				const to = unit === 34 ? endOfString(text, at) : at + 1;
				if (unit > 32) copy(at, to);
				at = to;
			}
		};
		const writeLeaf = (value: number, room: number) => {
			const quote = isString(value) ? 1 : 0;
			let at = (start[value] as number) + quote;
			const until = (end[value] as number) - quote;
			const omitUntil = (end: number) => {
				if (end <= at) return;
				const data = encoded.at(value).find((one) => one.start === at && one.end === end);
				const notice = data ? encodedMark(data, wording) : fillTemplate(wording.inside, { omitted_chars: end - at });
				notices.push(notice);
				parts.push(JSON.stringify(notice).slice(1, -1));
			};
			const partsOf =
				encoded.at(value).length > 0 && failures.linesOf(value).length === 0 ? partsBetween : partsOfString;
			parts.push('"');
			for (const { start, end } of isString(value) ? partsOf(value, at, until, room - 2) : []) {
				omitUntil(start);
				copy(start, end);
				at = end;
			}
			omitUntil(until);
			parts.push('"');
		};
		/** The parts of a string around encoded bytes, from its start, as far as they fit. */
		const partsBetween = (value: number, from: number, to: number, room: number): CharRange[] => {
			const parts: CharRange[] = [];
			let left = (size[value] as number) - 2 <= room ? room : room - longestInside;
			let at = from;
			for (const data of [...encoded.at(value), undefined]) {
				const wanted = data?.start ?? to;
				const end = left >= wanted - at ? wanted : jsonStringEdge(text, from, at + Math.max(0, left));
				addRange(parts, at, Math.max(at, end));
				left -= wanted - at + (data ? encodedMark(data, wording).length : 0);
				if (end < wanted || left < 0) break;
				at = data?.end ?? to;
			}
			return parts;
		};
		const partsOfString = (value: number, from: number, to: number, room: number): CharRange[] => {
			const chosen: CharRange[] = [];
			let left = Math.max(0, room - longestInside);
			const most = left * linesShare;
			let used = 0;
			for (const line of failures.linesOf(value)) {
				const chars = line.end - line.start + longestInside;
				if (chosen.length > 0 && used + chars > most) continue;
				const end = jsonStringEdge(text, from, Math.min(line.end, line.start + Math.max(0, left - longestInside)));
				if (end <= line.start) break;
				chosen.push({ start: line.start, end });
				used += end - line.start + longestInside;
				left -= end - line.start + longestInside;
			}
			left = Math.max(0, left);
			const headEnd = jsonStringEdge(text, from, from + Math.ceil(left * (2 / 3)));
			const tailStart = jsonStringEdgeAfter(text, from, Math.max(headEnd, to - Math.floor(left / 3)), to);
			const inOrder = [{ start: from, end: headEnd }, ...chosen, { start: tailStart, end: to }].sort(
				(a, b) => a.start - b.start,
			);
			const merged: CharRange[] = [];
			for (const { start, end } of inOrder) addRange(merged, Math.max(start, merged.at(-1)?.end ?? from), end);
			return merged;
		};
		const write = (value: number, room: number, depth: number, notice: string | undefined): void => {
			const isWhole = (size[value] as number) <= room && notice === undefined && !holdsEncoded(value);
			if (isWhole || isLeaf(value)) {
				if (isWhole) copyWhole(value);
				else writeLeaf(value, room);
				return;
			}
			const isObject = kind[value] === valueKinds.object;
			const isLines = kind[value] === valueKinds.lines;
			const top = notice === undefined ? 0 : `{"${markKey}":${JSON.stringify(notice)}},`.length;
			// A value that fits has one comma less than entries.
			const inner = room - 2 - top + ((size[value] as number) <= room && notice === undefined ? 1 : 0);
			const children: number[] = [];
			for (let child = value + 1; child < (next[value] as number); child = next[child] as number) children.push(child);
			const scored = scoresOf(value, children);
			const gapCost = markLength(value) + 1;
			const entries = children.map((child, index): Entry => {
				const extra = keyLength(child) + 1;
				const failure = failures.rankOf(child);
				const needed = failure === undefined ? 0 : Math.min(neededFor(child), inner - extra - 2 * gapCost);
				return {
					full: extra + (size[child] as number),
					least: extra + Math.max(shortest(child), needed),
					wanted: extra + Math.max(Math.min(size[child] as number, Math.max(shortest(child), showable)), needed),
					score: scored[index] ?? 0,
					failure: failure ?? Number.POSITIVE_INFINITY,
				};
			});
			const picked = depth >= deepest ? [] : pickEntries({ entries, room: inner, gapCost, isObject });
			const kept = picked.map((index) => entries[index] as Entry);
			const levels = fillLevel(kept, inner - countGaps(picked, entries.length, isObject) * gapCost);
			let written = 0;
			const separate = () => {
				if (written > 0) parts.push(isLines ? "\n" : ",");
				written += 1;
			};
			if (!isLines) parts.push(isObject ? "{" : "[");
			if (notice !== undefined) {
				separate();
				parts.push(isObject ? topMark : `{${topMark}}`);
			}
			let before = -1;
			const markGap = (omitted: number) => {
				if (omitted <= 0) return;
				separate();
				const gap = mark(fillTemplate(isObject ? wording.keys : wording.items, { omitted, total: entries.length }));
				parts.push(isObject ? gap : `{${gap}}`);
			};
			picked.forEach((index, place) => {
				if (!isObject) markGap(index - before - 1);
				before = index;
				separate();
				const child = children[index] as number;
				if (keyLength(child) > 0) {
					copy(keyStart[child] as number, keyEnd[child] as number);
					parts.push(":");
				}
				write(child, (levels[place] as number) - keyLength(child) - 1, depth + 1, undefined);
			});
			markGap(isObject ? entries.length - picked.length : entries.length - 1 - before);
			if (!isLines) parts.push(isObject ? "}" : "]");
		};

		// The number of kept characters is known at the end, so a placeholder reserves the position of the notice.
		const topMark = "\u0000notice\u0000";
		const longest = noticeOf(0);
		const hasNotice = !isLeaf(0) && `"${markKey}":${JSON.stringify(longest)}`.length + 4 <= maxChars / 3;
		if (shortest(0) > maxChars) return tiny(spans, maxChars);
		write(0, maxChars, 0, hasNotice ? longest : undefined);
		const notice = noticeOf(keptChars);
		if (hasNotice) notices.unshift(notice);
		const top = parts.findIndex((part) => part === topMark || part === `{${topMark}}`);
		if (top !== -1)
			parts[top] = (parts[top] as string).replace(topMark, () => `"${markKey}":${JSON.stringify(notice)}`);
		return { text: parts.join(""), kept: ranges, notices };
	};
}

/** The encoded bytes in long strings, and the size of each value with marks in their place. */
function encodedStrings({ text, kind, start, end, size, next }: JsonSpans, wording: NoticeWordings) {
	const found = new Map<number, readonly EncodedRange[]>();
	/** For each value what the marks of all values before it save, in characters. */
	const saved = new Float64Array(kind.length + 1);
	for (const [value, one] of kind.entries()) {
		const ranges =
			one === valueKinds.string ? findEncoded(text, (start[value] as number) + 1, (end[value] as number) - 1) : [];
		if (ranges.length > 0) found.set(value, ranges);
		const saving = ranges.reduce((sum, range) => sum + range.end - range.start - encodedMark(range, wording).length, 0);
		saved[value + 1] = (saved[value] as number) + saving;
	}
	const savedIn = (value: number) => (saved[next[value] as number] as number) - (saved[value] as number);
	return {
		at: (value: number): readonly EncodedRange[] => found.get(value) ?? [],
		holdsEncoded: (value: number) => savedIn(value) > 0,
		size: found.size === 0 ? size : size.map((chars, value) => chars - savedIn(value)),
	};
}

/** The number of marks between picked entries. An object has one for all its gaps. */
function countGaps(picked: readonly number[], count: number, isObject: boolean): number {
	if (isObject) return picked.length < count ? 1 : 0;
	return [...picked, count].filter((index, place) => index > (picked[place - 1] ?? -1) + 1).length;
}

/** The shortest valid JSON of the same kind; an ellipsis if there is no room for it. */
function tiny({ kind }: JsonSpans, maxChars: number): Draft {
	const least = kind[0] === valueKinds.object ? "{}" : kind[0] === valueKinds.array ? "[]" : '""';
	return { text: maxChars < 2 ? "…".slice(0, maxChars) : least, kept: [], notices: [] };
}

/** An item of a list or an entry of an object. Sizes are in characters, with key and comma. */
export interface Entry {
	readonly full: number;
	readonly least: number;
	/** The size at which it shows something useful. */
	readonly wanted: number;
	readonly score: number;
	/** The rank of its most important failure, from 0; infinite if it contains none. */
	readonly failure: number;
}

interface PickParameters {
	readonly entries: readonly Entry[];
	readonly room: number;
	readonly gapCost: number;
	readonly isObject: boolean;
}

/** One of this many items is kept from the end instead of the start. */
const lastEvery = 3;
/** Shares of the room for the items that match the focus, and for those with failures. */
const [focusShare, failureShare] = [0.6, 0.5];
/** Items near one with a failure, nearest first; their share of the room that is left, and their greatest length. */
const [besides, besidesShare, longestBeside] = [[-1, -2, 1, -3, 2, -4], 0.4, 400] as const;

/**
 * Picks all entries if each can show something useful; else those with failures, the first and the last, those that
 * match the focus best, and then two from the start for each from the end. Returns their indices in order.
 */
export function pickEntries({ entries, room, gapCost, isObject }: PickParameters): number[] {
	const all = entries.map((_, index) => index);
	const sumOf = (size: (entry: Entry) => number) => entries.reduce((sum, entry) => sum + size(entry), 0);
	if (sumOf(({ wanted }) => wanted) <= room || (isObject && sumOf(({ least }) => least) <= room)) return all;

	const entryAt = (index: number) => entries[index] as Entry;
	const picked = new Set<number>();
	let left = room - gapCost;
	const pick = (index: number, marks: number, size: (entry: Entry) => number): boolean => {
		if (picked.has(index)) return true;
		const cost = size(entryAt(index)) + marks * gapCost;
		if (cost > left) return false;
		left -= cost;
		picked.add(index);
		return true;
	};
	const wanted = ({ wanted: size }: Entry) => size;
	const failing = all.filter((index) => entryAt(index).failure < Number.POSITIVE_INFINITY);
	failing.sort((a, b) => entryAt(a).failure - entryAt(b).failure);
	const leastLeft = left * (1 - failureShare);
	for (const index of failing) {
		if (left <= leastLeft) break;
		pick(index, isObject ? 0 : 1, wanted);
	}
	if (!pick(0, 0, wanted)) pick(0, 0, ({ least }) => least);
	pick(entries.length - 1, 0, wanted);
	const best = all.filter((index) => entryAt(index).score > 0).sort((a, b) => entryAt(b).score - entryAt(a).score);
	const floor = left * (1 - focusShare);
	for (const index of best) {
		if (left <= floor) break;
		pick(index, isObject ? 0 : 1, wanted);
	}
	// What a program reports next to a failure, in lines of their own, tells of it.
	const leastBesides = left * (1 - besidesShare);
	for (const index of failing) {
		if (!picked.has(index)) continue;
		for (const near of besides) {
			const one = entries[index + near];
			if (left > leastBesides && one !== undefined && one.full <= longestBeside) pick(index + near, 0, wanted);
		}
	}
	let [front, back] = [0, entries.length - 1];
	for (let turn = 1; front <= back; turn += 1) {
		const fromBack = turn % lastEvery === 0;
		const index = fromBack ? back : front;
		if (!pick(index, 0, wanted)) break;
		if (fromBack) back -= 1;
		else front += 1;
	}
	return [...picked].sort((a, b) => a - b);
}

/** Divides room so that small entries are complete and large ones get equal shares (max-min fairness). */
export function fillLevel(entries: readonly Entry[], room: number): number[] {
	const given = entries.map(({ least, full }) => Math.min(least, full));
	let left = room - given.reduce((sum, one) => sum + one, 0);
	const smallFirst = [...entries.entries()].sort(([, a], [, b]) => a.full - b.full);
	smallFirst.forEach(([index, { full }], place) => {
		const least = given[index] as number;
		const share = Math.max(0, Math.floor(left / (entries.length - place)));
		const more = Math.min(full - least, share);
		given[index] = least + more;
		left -= more;
	});
	return given;
}
