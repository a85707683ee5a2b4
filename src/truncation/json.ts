import { fillTemplate } from "../masking/template.ts";
import { addRange, type CharRange, type Draft, type Marks } from "./draft.ts";
import type { JsonFailures } from "./failures.ts";
import { type FocusWords, focusFinder } from "./focus.ts";
import { type JsonSpans, jsonStringEdge, jsonStringEdgeAfter, valueKinds } from "./json-spans.ts";

interface ShortenJsonParameters {
	readonly spans: JsonSpans;
	readonly marks: Marks;
	readonly focus: FocusWords;
	/** Values that are kept before any other. */
	readonly failures: JsonFailures;
	/** What the notice at the top says, given the characters that are kept. */
	readonly noticeOf: (keptChars: number) => string;
}

/** Below this depth a value that does not fit is left out whole. */
const deepest = 48;
/** Characters at which an item is worth showing in part. */
const showable = 160;
/** Longest text of an item that is read for its words. */
const longestRead = 20_000;
/** Longest value that is shown as a whole for the failure in it. */
const wholeFailure = 1_500;
/** Share of the room of a string that lines which tell of failures may take, the first of them aside. */
const linesShare = 0.6;

/**
 * Shortens JSON so that it stays valid: long lists become their first and last items (and those that tell of failures, and
 * those with words of the focus) and a count, long strings are cut, keys are kept as long as they fit. What is kept stands as it stood, white space
 * between values aside. Marks are objects or keys named `_truncated`.
 */
export function shortenJson(parameters: ShortenJsonParameters): (maxChars: number) => Draft {
	const { spans, marks, focus, failures, noticeOf } = parameters;
	const { text, kind, start, end, keyStart, keyEnd, next, size } = spans;
	const { wording } = marks;
	const markKey = freeKey(text);
	const focusWordsIn = focusFinder(focus);
	const scores = new Map<number, readonly number[]>();
	const longestCount = fillTemplate(wording.items, { omitted: size.length, total: size.length }).length;
	const longestKeys = fillTemplate(wording.keys, { omitted: size.length, total: size.length }).length;
	const longestInside = fillTemplate(wording.inside, { omitted_chars: text.length }).length;
	const markLength = (value: number) =>
		`{"${markKey}":""}`.length + (kind[value] === valueKinds.object ? longestKeys : longestCount);
	const shortest = (value: number) => {
		const isLeaf = kind[value] === valueKinds.string || kind[value] === valueKinds.other;
		return Math.min(size[value] as number, isLeaf ? longestInside + 2 : markLength(value) + 2);
	};
	const keyLength = (value: number) => {
		const key = (keyEnd[value] as number) - (keyStart[value] as number);
		return key === 0 ? 0 : key + 1;
	};
	/** Characters that it takes to show the failure in a value that is wanted most. */
	const neededFor = (value: number): number => {
		const whole = size[value] as number;
		if (whole <= wholeFailure) return whole;
		const leaf = failures.leafOf(value);
		const [line] = failures.linesOf(leaf);
		const shown = line === undefined ? (size[leaf] as number) : line.end - line.start + 2 * longestInside + 2;
		let needed = Math.min(size[leaf] as number, Math.max(shown, shortest(leaf)));
		// Each value around it takes its key, its brackets and a mark at each side.
		for (let around = leaf; around > value; ) {
			const parent = parentOf(around, value);
			needed += keyLength(around) + 3 + 2 * (markLength(parent) + 1);
			around = parent;
		}
		return Math.min(whole, needed);
	};
	/** The value right around another, inside of or equal to `top`. */
	const parentOf = (value: number, top: number): number => {
		let parent = top;
		for (let child = top + 1; child < value; ) {
			if ((next[child] as number) > value) {
				parent = child;
				child += 1;
			} else child = next[child] as number;
		}
		return parent;
	};
	const wordsOf = (value: number) => {
		const from = keyStart[value] || (start[value] as number);
		const read = text.slice(from, Math.min(end[value] as number, from + longestRead));
		return focusWordsIn(read);
	};
	/** How much each of some values has to do with the focus: words that stand in few of them count most. */
	const scoresOf = (parent: number, children: readonly number[]): readonly number[] => {
		const known = scores.get(parent);
		if (known !== undefined || focus.size === 0) return known ?? [];
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
			// What stands between two values that are kept is white space and punctuation.
			const last = ranges.at(-1);
			if (last && from > last.end && from - last.end < 200 && !/[^\s,:[\]{}]/.test(text.slice(last.end, from)))
				addRange(ranges, last.end, from);
			addRange(ranges, from, to);
		};
		const mark = (said: string) => {
			notices.push(said);
			return `"${markKey}":${JSON.stringify(said)}`;
		};

		const copyWhole = (value: number) => {
			let at = start[value] as number;
			const until = end[value] as number;
			const punctuation = (to: number) => {
				for (; at < to; at += 1) if (text.charCodeAt(at) > 32) copy(at, at + 1);
			};
			for (let inner = value; inner < (next[value] as number); inner += 1) {
				if (keyLength(inner) > 0 && inner !== value) {
					punctuation(keyStart[inner] as number);
					copy(keyStart[inner] as number, keyEnd[inner] as number);
					at = keyEnd[inner] as number;
				}
				if (kind[inner] !== valueKinds.string && kind[inner] !== valueKinds.other) continue;
				punctuation(start[inner] as number);
				copy(start[inner] as number, end[inner] as number);
				at = end[inner] as number;
			}
			punctuation(until);
		};
		const writeLeaf = (value: number, room: number) => {
			const [from, to] = [(start[value] as number) + 1, (end[value] as number) - 1];
			parts.push('"');
			let at = kind[value] === valueKinds.string ? from : from - 1;
			const until = kind[value] === valueKinds.string ? to : to + 1;
			const leftOut = (end: number) => {
				if (end <= at) return;
				const said = fillTemplate(wording.inside, { omitted_chars: end - at });
				notices.push(said);
				parts.push(JSON.stringify(said).slice(1, -1));
			};
			const ranges = kind[value] === valueKinds.string ? partsOfString(value, from, to, room - 2) : [];
			for (const { start, end } of ranges) {
				leftOut(start);
				copy(start, end);
				at = end;
			}
			leftOut(until);
			parts.push('"');
		};
		/** Head and tail of a string, and between them the lines that tell of failures, in order. */
		const partsOfString = (value: number, from: number, to: number, room: number): CharRange[] => {
			const chosen: CharRange[] = [];
			let left = Math.max(0, room - longestInside);
			const most = left * linesShare;
			let used = 0;
			for (const line of failures.linesOf(value)) {
				const chars = line.end - line.start + longestInside;
				if (chosen.length > 0 && used + chars > most) continue;
				const end =
					chars <= left ? line.end : jsonStringEdge(text, from, line.start + Math.max(0, left - longestInside));
				if (end <= line.start) break;
				chosen.push({ start: line.start, end });
				used += end - line.start + longestInside;
				left -= end - line.start + longestInside;
				if (left <= 0) break;
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
			const ofKind = kind[value] as number;
			if ((size[value] as number) <= room && notice === undefined) {
				copyWhole(value);
				return;
			}
			if (ofKind === valueKinds.string || ofKind === valueKinds.other) {
				writeLeaf(value, room);
				return;
			}
			const isObject = ofKind === valueKinds.object;
			const isLines = ofKind === valueKinds.lines;
			const entries: (Entry & { readonly value: number })[] = [];
			const top = notice === undefined ? 0 : `{"${markKey}":${JSON.stringify(notice)}},`.length;
			const inner = room - 2 - top;
			const children: number[] = [];
			for (let child = value + 1; child < (next[value] as number); child = next[child] as number) children.push(child);
			const scored = scoresOf(value, children);
			for (const [index, child] of children.entries()) {
				const extra = keyLength(child) + 1;
				const failure = failures.rankOf(child);
				const needed =
					failure === undefined ? 0 : Math.min(neededFor(child), inner - extra - 2 * (markLength(value) + 1));
				entries.push({
					value: child,
					full: extra + (size[child] as number),
					least: extra + Math.max(shortest(child), needed),
					wanted: extra + Math.max(Math.min(size[child] as number, Math.max(shortest(child), showable)), needed),
					score: scored[index] ?? 0,
					failure,
				});
			}
			const picked =
				depth >= deepest ? [] : pickEntries({ entries, room: inner, gapCost: markLength(value) + 1, isObject });
			const kept = picked.map((index) => entries[index] as Entry & { value: number });
			const gaps = countGaps(picked, entries.length, isObject);
			const levels = fillLevel(kept, inner - gaps * (markLength(value) + 1));
			let written = 0;
			const separate = () => {
				if (written > 0) parts.push(isLines ? "\n" : ",");
				written += 1;
			};
			const say = (said: string) => {
				separate();
				parts.push(isObject ? mark(said) : `{${mark(said)}}`);
			};
			if (!isLines) parts.push(isObject ? "{" : "[");
			if (notice !== undefined) {
				separate();
				parts.push(isObject ? topMark : `{${topMark}}`);
			}
			let before = -1;
			const left = (omitted: number) => {
				if (omitted > 0) say(fillTemplate(isObject ? wording.keys : wording.items, { omitted, total: entries.length }));
			};
			picked.forEach((index, place) => {
				if (!isObject) left(index - before - 1);
				before = index;
				separate();
				const child = entries[index] as Entry & { value: number };
				if (keyLength(child.value) > 0) {
					copy(keyStart[child.value] as number, keyEnd[child.value] as number);
					parts.push(":");
				}
				write(child.value, (levels[place] as number) - keyLength(child.value) - 1, depth + 1, undefined);
			});
			if (isObject) left(entries.length - picked.length);
			else left(entries.length - 1 - before);
			if (!isLines) parts.push(isObject ? "}" : "]");
		};

		// The notice says how much is kept, which is known in the end: its place is held by an object of its own.
		const topMark = "\u0000notice\u0000";
		const notice = noticeOf(0);
		const isContainer = kind[0] !== valueKinds.string && kind[0] !== valueKinds.other;
		const longestNotice = `"${markKey}":${JSON.stringify(notice)}`.length;
		const hasNotice = isContainer && longestNotice + 4 <= maxChars / 3;
		if ((shortest(0) as number) > maxChars) return tiny(spans, maxChars);
		write(0, maxChars, 0, hasNotice ? notice : undefined);
		const said = noticeOf(keptChars);
		if (hasNotice) notices.unshift(said);
		const top = parts.findIndex((part) => part === topMark || part === `{${topMark}}`);
		if (top !== -1) parts[top] = (parts[top] as string).replace(topMark, () => `"${markKey}":${JSON.stringify(said)}`);
		return { text: parts.join(""), kept: ranges, notices };
	};
}

/** Marks that the gaps between picked entries need; an object has one for all of them. */
function countGaps(picked: readonly number[], count: number, isObject: boolean): number {
	if (isObject) return picked.length < count ? 1 : 0;
	return [...picked, count].filter((index, place) => index > (picked[place - 1] ?? -1) + 1).length;
}

/** A key that stands nowhere in the text. */
function freeKey(text: string): string {
	let key = "_truncated";
	while (text.includes(`"${key}"`)) key = `_${key}`;
	return key;
}

/** The least valid JSON of the same kind; below two characters there is none. */
function tiny({ kind }: JsonSpans, maxChars: number): Draft {
	const least = kind[0] === valueKinds.object ? "{}" : kind[0] === valueKinds.array ? "[]" : '""';
	return { text: maxChars < 2 ? "…".slice(0, maxChars) : least, kept: [], notices: [] };
}

/** An item of a list or an entry of an object; sizes in characters with its key and its comma. */
interface Entry {
	/** Size as it stands. */
	readonly full: number;
	/** Size of the least that can stand for it. */
	readonly least: number;
	/** Size from which on it tells something. */
	readonly wanted: number;
	/** How much it has to do with the focus; 0 for nothing. */
	readonly score: number;
	/** Place of the failure in it among all failures, 0 for the one wanted most; `undefined` where it tells of none. */
	readonly failure?: number | undefined;
}

/** Of how many items one is kept from the end, in place of the start. */
const lastEvery = 3;
/** Share of the room that items found by the focus may take, and those that tell of failures, the first of them aside. */
const focusShare = 0.6;
const failureShare = 0.5;

/**
 * Picks the entries to keep: all of them where each can show something; otherwise those that tell of failures, the first
 * and the last, those that have most to do with the focus, and then from both ends as many as fit, two from the start for each from the end.
 * Answers their indices in order.
 */
function pickEntries(given: {
	readonly entries: readonly Entry[];
	readonly room: number;
	/** Size of the mark of a gap. */
	readonly gapCost: number;
	readonly isObject: boolean;
}): number[] {
	const { entries, room, gapCost, isObject } = given;
	const all = entries.map((_, index) => index);
	const sumOf = (size: (entry: Entry) => number) => entries.reduce((sum, entry) => sum + size(entry), 0);
	if (sumOf(({ wanted }) => wanted) <= room || (isObject && sumOf(({ least }) => least) <= room)) return all;

	const picked = new Set<number>();
	let left = room - gapCost;
	const pick = (index: number, marks: number, size: (entry: Entry) => number): boolean => {
		const entry = entries[index];
		if (entry === undefined || picked.has(index)) return entry !== undefined;
		const cost = size(entry) + marks * gapCost;
		if (cost > left) return false;
		left -= cost;
		picked.add(index);
		return true;
	};
	const wanted = ({ wanted: size }: Entry) => size;
	const failing = all.filter((index) => entries[index]?.failure !== undefined);
	failing.sort((a, b) => (entries[a]?.failure ?? 0) - (entries[b]?.failure ?? 0));
	const leastLeft = left * (1 - failureShare);
	for (const index of failing) {
		if (left <= leastLeft) break;
		pick(index, isObject ? 0 : 1, wanted);
	}
	if (!pick(0, 0, wanted)) pick(0, 0, ({ least }) => least);
	if (entries.length > 1) pick(entries.length - 1, 0, wanted);
	const found = all.filter((index) => (entries[index]?.score ?? 0) > 0);
	// Where nearly all have to do with the focus, it tells them apart by how much alone.
	const best = found.sort((a, b) => (entries[b]?.score ?? 0) - (entries[a]?.score ?? 0) || a - b);
	const floor = left * (1 - focusShare);
	for (const index of best) {
		if (left <= floor) break;
		pick(index, isObject ? 0 : 1, wanted);
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

/**
 * Shares room among things so that the small ones are whole and the large ones get the same each (max-min fairness):
 * each gets at least its least and at most what it takes whole. All together get at most `room`, where their least
 * fits it.
 */
function fillLevel(things: readonly Pick<Entry, "full" | "least">[], room: number): number[] {
	const given = things.map(({ least, full }) => Math.min(least, full));
	let left = room - given.reduce((sum, one) => sum + one, 0);
	const order = things.map((_, index) => index).sort((a, b) => (things[a]?.full ?? 0) - (things[b]?.full ?? 0));
	// The level that each of those still open would reach, small ones first.
	order.forEach((index, place) => {
		const { full } = things[index] as Entry;
		const open = order.length - place;
		const spare = Math.max(0, Math.floor(left / open));
		const least = given[index] as number;
		const more = Math.min(full - least, spare);
		given[index] = least + more;
		left -= more;
	});
	return given;
}
