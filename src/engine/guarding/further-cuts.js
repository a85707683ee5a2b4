import { sizeOfResult } from "../conversation/measure.js";
import { addSizes, noSize, savedSize, startSum, subtractSizes } from "../conversation/plan.js";
import { resultCharacters } from "../conversation/transcript.js";
import { pairResults } from "../conversation/turns.js";
/**
 * Starts to cut results further before groups are dropped (docs/strategies.md#truncation). At a moment over the budget, all
 * results over the largest ceiling that suffices by their known sizes are cut to it; over the least one if none suffices,
 * and dropping alone would leave less than half of the budget. The ceilings are fixed, so that a result
 * is cut a few times at most, and a cut depends on nothing that comes later.
 */
export function startCutter(parameters) {
	const { transcript, countTokens, ceilings, truncated, truncateTo } = parameters;
	const isMasked = new Set(parameters.masked);
	const made = new Map();
	const paired = pairResults(transcript);
	const least = ceilings.at(-1) ?? Number.POSITIVE_INFINITY;
	const isLarge = (chars) => chars >= worthCutting * least;
	let arrived = 0;
	let waiting = [];
	function arrive(moment) {
		for (; arrived < paired.length && paired[arrived].message < moment; arrived += 1) {
			const { result, message } = paired[arrived];
			if (!isLarge(resultCharacters(result)) || transcript.messages[message]?.sent === false) continue;
			const saved = sentSaving(truncated[arrived] ?? []);
			waiting.push({ place: arrived, message, saved, size: subtractSizes(sizeOfResult(result, countTokens), saved) });
		}
	}
	function cutTo(ceiling, candidate, moment) {
		const { place, message, size, saved } = candidate;
		const edits = truncateTo(ceiling, paired[place]);
		const nowSaved = sentSaving(edits);
		const relief = subtractSizes(nowSaved, saved);
		if (relief.tokens <= 0) return [];
		candidate.size = subtractSizes(size, relief);
		candidate.saved = nowSaved;
		const earlier = made.get(place)?.relief ?? noSize;
		made.set(place, { edits, moment, relief: addSizes(earlier, relief) });
		return [{ message, relief }];
	}
	return {
		made,
		mask(place) {
			isMasked.add(place);
			return made.get(place)?.relief.tokens ?? 0;
		},
		cut({ moment, context, reaches, leavesLittle, isDropped }) {
			arrive(moment);
			waiting = waiting.filter(
				({ place, message, size }) => isLarge(size.chars) && isDropped[message] !== 1 && !isMasked.has(place),
			);
			const enough = ceilings.find((chars) => reaches(expectedSize(context, waiting, chars)));
			if (enough === undefined && !leavesLittle()) return [];
			const ceiling = enough ?? least;
			const large = waiting.filter(({ size }) => size.chars > ceiling);
			return large.flatMap((candidate) => cutTo(ceiling, candidate, moment));
		},
	};
}
function sentSaving(edits) {
	return savedSize(edits.filter(({ unsent }) => !unsent));
}
/** Results below this multiple of the least ceiling stay: cutting many a little would lose more than it saves. */
const worthCutting = 2;
/** The size of a context whose results are cut to a ceiling, if tokens are in proportion to characters. */
function expectedSize(context, results, ceiling) {
	const sum = startSum(context);
	for (const { size } of results) {
		const chars = size.chars - ceiling;
		if (chars > 0) sum.subtract({ chars, tokens: Math.round((size.tokens * chars) / size.chars) });
	}
	return sum.total();
}
