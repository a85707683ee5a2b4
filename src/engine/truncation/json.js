import { fillTemplate } from "../masking/template.js";
import { addRange } from "./draft.js";
import { encodedMark, findEncoded } from "./encoded.js";
import { focusFinder } from "./focus.js";
import { endOfString, jsonStringEdge, jsonStringEdgeAfter, valueKinds } from "./json-spans.js";

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
export function shortenJson(parameters) {
	const { spans, marks, focus, failures, noticeOf } = parameters;
	const { text, kind, start, end, keyStart, keyEnd, next } = spans;
	const { wording } = marks;
	const encoded = encodedStrings(spans, wording);
	const { size, holdsEncoded } = encoded;
	let markKey = "_truncated";
	while (text.includes(`"${markKey}"`)) markKey = `_${markKey}`;
	const focusWordsIn = focusFinder(focus);
	const scores = new Map();
	const isString = (value) => kind[value] === valueKinds.string;
	const isLeaf = (value) => isString(value) || kind[value] === valueKinds.other;
	const longestCount = fillTemplate(wording.items, { omitted: size.length, total: size.length }).length;
	const longestKeys = fillTemplate(wording.keys, { omitted: size.length, total: size.length }).length;
	const longestInside = fillTemplate(wording.inside, { omitted_chars: text.length }).length;
	const markLength = (value) =>
		`{"${markKey}":""}`.length + (kind[value] === valueKinds.object ? longestKeys : longestCount);
	const shortest = (value) => Math.min(size[value], (isLeaf(value) ? longestInside : markLength(value)) + 2);
	const keyLength = (value) => {
		const key = keyEnd[value] - keyStart[value];
		return key === 0 ? 0 : key + 1;
	};
	const neededFor = (value) => {
		const whole = size[value];
		if (whole <= wholeFailure) return whole;
		const leaf = failures.leafOf(value);
		const [line] = failures.linesOf(leaf);
		const shown = line === undefined ? size[leaf] : line.end - line.start + 2 * longestInside + 2;
		let needed = Math.min(size[leaf], Math.max(shown, shortest(leaf)));
		// Each parent needs its key, its brackets and a mark at each side.
		for (let around = leaf; around > value; ) {
			const parent = parentOf(around, value);
			needed += keyLength(around) + 3 + 2 * (markLength(parent) + 1);
			around = parent;
		}
		return Math.min(whole, needed);
	};
	const parentOf = (value, top) => {
		let parent = top;
		for (let child = top; child < value; ) {
			if (next[child] > value) {
				parent = child;
				child += 1;
			} else child = next[child];
		}
		return parent;
	};
	const wordsOf = (value) => {
		const from = keyStart[value] || start[value];
		return focusWordsIn(text.slice(from, Math.min(end[value], from + longestRead)));
	};
	/** How well the children of a value match the focus. Words that few of them contain weigh most. */
	const scoresOf = (parent, children) => {
		const known = scores.get(parent);
		if (known !== undefined) return known;
		const found = children.map(wordsOf);
		const times = new Map();
		for (const one of found.flat()) times.set(one, (times.get(one) ?? 0) + 1);
		const rarity = (one) => Math.log(Math.max(1, children.length) / (times.get(one) ?? 1));
		const scored = found.map((here) => here.reduce((sum, one) => sum + (focus.get(one) ?? 0) * rarity(one), 0));
		scores.set(parent, scored);
		return scored;
	};
	return (maxChars) => {
		const parts = [];
		const ranges = [];
		const notices = [];
		let keptChars = 0;
		const copy = (from, to) => {
			parts.push(text.slice(from, to));
			keptChars += to - from;
			// Between two kept values there is only white space and punctuation.
			const last = ranges.at(-1);
			if (last && from - last.end < 200 && !/[^\s,:[\]{}]/.test(text.slice(last.end, from)))
				addRange(ranges, last.end, from);
			addRange(ranges, from, to);
		};
		const mark = (notice) => {
			notices.push(notice);
			return `"${markKey}":${JSON.stringify(notice)}`;
		};
		const copyWhole = (value) => {
			const until = end[value];
			for (let at = start[value]; at < until; ) {
				const unit = text.charCodeAt(at);
				const to = unit === 34 ? endOfString(text, at) : at + 1;
				if (unit > 32) copy(at, to);
				at = to;
			}
		};
		const writeLeaf = (value, room) => {
			const quote = isString(value) ? 1 : 0;
			let at = start[value] + quote;
			const until = end[value] - quote;
			const omitUntil = (end) => {
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
		const partsBetween = (value, from, to, room) => {
			const parts = [];
			let left = size[value] - 2 <= room ? room : room - longestInside;
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
		const partsOfString = (value, from, to, room) => {
			const chosen = [];
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
			const merged = [];
			for (const { start, end } of inOrder) addRange(merged, Math.max(start, merged.at(-1)?.end ?? from), end);
			return merged;
		};
		const write = (value, room, depth, notice) => {
			const isWhole = size[value] <= room && notice === undefined && !holdsEncoded(value);
			if (isWhole || isLeaf(value)) {
				if (isWhole) copyWhole(value);
				else writeLeaf(value, room);
				return;
			}
			const isObject = kind[value] === valueKinds.object;
			const isLines = kind[value] === valueKinds.lines;
			const top = notice === undefined ? 0 : `{"${markKey}":${JSON.stringify(notice)}},`.length;
			// A value that fits has one comma less than entries.
			const inner = room - 2 - top + (size[value] <= room && notice === undefined ? 1 : 0);
			const children = [];
			for (let child = value + 1; child < next[value]; child = next[child]) children.push(child);
			const scored = scoresOf(value, children);
			const gapCost = markLength(value) + 1;
			const entries = children.map((child, index) => {
				const extra = keyLength(child) + 1;
				const failure = failures.rankOf(child);
				const needed = failure === undefined ? 0 : Math.min(neededFor(child), inner - extra - 2 * gapCost);
				return {
					full: extra + size[child],
					least: extra + Math.max(shortest(child), needed),
					wanted: extra + Math.max(Math.min(size[child], Math.max(shortest(child), showable)), needed),
					score: scored[index] ?? 0,
					failure: failure ?? Number.POSITIVE_INFINITY,
				};
			});
			const picked = depth >= deepest ? [] : pickEntries({ entries, room: inner, gapCost, isObject });
			const kept = picked.map((index) => entries[index]);
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
			const markGap = (omitted) => {
				if (omitted <= 0) return;
				separate();
				const gap = mark(fillTemplate(isObject ? wording.keys : wording.items, { omitted, total: entries.length }));
				parts.push(isObject ? gap : `{${gap}}`);
			};
			picked.forEach((index, place) => {
				if (!isObject) markGap(index - before - 1);
				before = index;
				separate();
				const child = children[index];
				if (keyLength(child) > 0) {
					copy(keyStart[child], keyEnd[child]);
					parts.push(":");
				}
				write(child, levels[place] - keyLength(child) - 1, depth + 1, undefined);
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
		if (top !== -1) parts[top] = parts[top].replace(topMark, () => `"${markKey}":${JSON.stringify(notice)}`);
		return { text: parts.join(""), kept: ranges, notices };
	};
}
/** The encoded bytes in long strings, and the size of each value with marks in their place. */
function encodedStrings({ text, kind, start, end, size, next }, wording) {
	const found = new Map();
	/** For each value what the marks of all values before it save, in characters. */
	const saved = new Float64Array(kind.length + 1);
	for (const [value, one] of kind.entries()) {
		const ranges = one === valueKinds.string ? findEncoded(text, start[value] + 1, end[value] - 1) : [];
		if (ranges.length > 0) found.set(value, ranges);
		const saving = ranges.reduce((sum, range) => sum + range.end - range.start - encodedMark(range, wording).length, 0);
		saved[value + 1] = saved[value] + saving;
	}
	const savedIn = (value) => saved[next[value]] - saved[value];
	return {
		at: (value) => found.get(value) ?? [],
		holdsEncoded: (value) => savedIn(value) > 0,
		size: found.size === 0 ? size : size.map((chars, value) => chars - savedIn(value)),
	};
}
/** The number of marks between picked entries. An object has one for all its gaps. */
function countGaps(picked, count, isObject) {
	if (isObject) return picked.length < count ? 1 : 0;
	return [...picked, count].filter((index, place) => index > (picked[place - 1] ?? -1) + 1).length;
}
/** The shortest valid JSON of the same kind; an ellipsis if there is no room for it. */
function tiny({ kind }, maxChars) {
	const least = kind[0] === valueKinds.object ? "{}" : kind[0] === valueKinds.array ? "[]" : '""';
	return { text: maxChars < 2 ? "…".slice(0, maxChars) : least, kept: [], notices: [] };
}
/** One of this many items is kept from the end instead of the start. */
const lastEvery = 3;
/** Shares of the room for the items that match the focus, and for those with failures. */
const [focusShare, failureShare] = [0.6, 0.5];
/** Items near one with a failure, nearest first; their share of the room that is left, and their greatest length. */
const [besides, besidesShare, longestBeside] = [[-1, -2, 1, -3, 2, -4], 0.4, 400];
/**
 * Picks all entries if each can show something useful; else those with failures, the first and the last, those that
 * match the focus best, and then two from the start for each from the end. Returns their indices in order.
 */
function pickEntries({ entries, room, gapCost, isObject }) {
	const all = entries.map((_, index) => index);
	const sumOf = (size) => entries.reduce((sum, entry) => sum + size(entry), 0);
	if (sumOf(({ wanted }) => wanted) <= room || (isObject && sumOf(({ least }) => least) <= room)) return all;
	const entryAt = (index) => entries[index];
	const picked = new Set();
	let left = room - gapCost;
	const pick = (index, marks, size) => {
		if (picked.has(index)) return true;
		const cost = size(entryAt(index)) + marks * gapCost;
		if (cost > left) return false;
		left -= cost;
		picked.add(index);
		return true;
	};
	const wanted = ({ wanted: size }) => size;
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
function fillLevel(entries, room) {
	const given = entries.map(({ least, full }) => Math.min(least, full));
	let left = room - given.reduce((sum, one) => sum + one, 0);
	const smallFirst = [...entries.entries()].sort(([, a], [, b]) => a.full - b.full);
	smallFirst.forEach(([index, { full }], place) => {
		const least = given[index];
		const share = Math.max(0, Math.floor(left / (entries.length - place)));
		const more = Math.min(full - least, share);
		given[index] = least + more;
		left -= more;
	});
	return given;
}
