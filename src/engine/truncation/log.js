import { isSummaryLine } from "./failure-signs.js";
import { byForm, withoutTimes } from "./failures.js";
import { scoreLines } from "./line-worth.js";
import { lineFeatures, linePattern, unitText } from "./lines.js";

const worth = { summary: 60, newFailure: 100, otherFailure: 60, newLikely: 6, otherLikely: 2, warning: 2, fresh: 0.4 };
/** Worth of the lines around a failure, nearest first. */
const behindFailure = [9, 8, 7, 6, 5, 4, 3, 2.5, 2, 1.5, 1, 1];
const beforeFailure = [6, 3];
/** Additional worth of the best line by focus and content. */
const focusWorth = 2;
/** Least worth of a stack frame outside libraries. */
const ownFrame = 5;
const frame = /^\s*(?:at |File "|\d+: |from \S+:\d+|❯ |› |--> |\.{3} \d+ more)/;
const libraryFrame =
	/node_modules|node:|site-packages|dist-packages|\/lib\/python|<frozen|<anonymous>|java\.base|internal\//;
const mostRemembered = 200_000;
/** Scores a log: failures with the lines around them, summaries, new lines. `isFailing`: it has a sure failure. */
export function scoreLog(units, focus, signs) {
	const { text, count, start, end } = units;
	const priority = new Float32Array(count);
	const patterns = new Uint32Array(count);
	const seenPatterns = new Set();
	const seenFailures = new Set();
	const failures = [];
	let isFailing = false;
	const raise = (unit, to) => {
		if (priority[unit] < to) priority[unit] = to;
	};
	for (let unit = 0; unit < count; unit += 1) {
		const pattern = linePattern(text, start[unit], end[unit]);
		patterns[unit] = pattern;
		if (pattern === 0) continue;
		const isNew = !seenPatterns.has(pattern);
		if (isNew && seenPatterns.size < mostRemembered) seenPatterns.add(pattern);
		const line = unitText(units, unit);
		const isSure = signs[unit] === byForm;
		if (signs[unit] !== 0) {
			const failure = withoutTimes(line);
			const isOther = !seenFailures.has(failure);
			if (isOther && seenFailures.size < mostRemembered) seenFailures.add(failure);
			if (isSure) isFailing = true;
			if (isSure && isOther) failures.push(unit);
			// Otherwise a failure in a long line would be too expensive to keep.
			const length = isSure ? line.length : 0;
			if (isNew) raise(unit, isSure ? worth.newFailure + length : worth.newLikely);
			else if (isOther) raise(unit, isSure ? worth.otherFailure + length : worth.otherLikely);
		} else if (isNew) raise(unit, /\bwarn(?:ing)?\b/i.test(line) ? worth.warning : worth.fresh);
		if (isSummaryLine(line)) raise(unit, worth.summary);
	}
	for (const unit of failures) raiseAround(units, unit, raise);
	if (focus.size > 0) {
		const wanted = scoreLines(units, lineFeatures(units, focus, priority));
		// A unit of priority 0 counts as bare, so it gets none.
		for (let unit = 0; unit < count; unit += 1) {
			priority[unit] = priority[unit] + focusWorth * wanted[unit];
		}
	}
	const isLike = (unit, from, to) => {
		for (let other = from; other < to; other += 1) {
			if (patterns[other] !== patterns[unit] && patterns[other] !== 0) return false;
		}
		return to - from > 1 && patterns[unit] !== 0;
	};
	return { priority, isFailing, isLike };
}
function raiseAround(units, unit, raise) {
	behindFailure.forEach((one, index) => {
		const behind = unit + 1 + index;
		// After the last line the text is empty.
		const line = unitText(units, behind);
		if (line.trim() === "") return;
		if (frame.test(line)) raise(behind, libraryFrame.test(line) ? 0.5 : Math.max(ownFrame, one));
		else raise(behind, one);
	});
	beforeFailure.forEach((one, index) => {
		const before = unit - 1 - index;
		if (unitText(units, before).trim() !== "") raise(before, one);
	});
}
