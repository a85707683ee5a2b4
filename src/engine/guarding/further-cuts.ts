import { type CountTokens, sizeOfResult } from "../conversation/measure.ts";
import {
	addSizes,
	noSize,
	type ReplaceEdit,
	type Size,
	savedSize,
	startSum,
	subtractSizes,
} from "../conversation/plan.ts";
import { resultCharacters, type Transcript } from "../conversation/transcript.ts";
import { type PairedResult, pairResults } from "../conversation/turns.ts";

/**
 * Starts to cut results further before groups are dropped (docs/strategies.md#truncation). At a moment over the budget, all
 * results over the largest ceiling that suffices by their known sizes are cut to it; over the least one if none suffices,
 * and dropping alone would leave less than half of the budget. The ceilings are fixed, so that a result
 * is cut a few times at most, and a cut depends on nothing that comes later.
 */
export function startCutter(parameters: CutterParameters): ResultCutter {
	const { transcript, countTokens, ceilings, truncated, truncateTo } = parameters;
	const isMasked = new Set(parameters.masked);
	const made = new Map<number, FurtherCut>();
	const paired = pairResults(transcript);
	const least = ceilings.at(-1) ?? Number.POSITIVE_INFINITY;
	const isLarge = (chars: number) => chars >= worthCutting * least;
	let arrived = 0;
	let waiting: Candidate[] = [];

	function arrive(moment: number): void {
		for (; arrived < paired.length && (paired[arrived] as PairedResult).message < moment; arrived += 1) {
			const { result, message } = paired[arrived] as PairedResult;
			if (!isLarge(resultCharacters(result)) || transcript.messages[message]?.sent === false) continue;
			const saved = sentSaving(truncated[arrived] ?? []);
			waiting.push({ place: arrived, message, saved, size: subtractSizes(sizeOfResult(result, countTokens), saved) });
		}
	}

	function cutTo(ceiling: number, candidate: Candidate, moment: number) {
		const { place, message, size, saved } = candidate;
		const edits = truncateTo(ceiling, paired[place] as PairedResult);
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

function sentSaving(edits: readonly ReplaceEdit[]): Size {
	return savedSize(edits.filter(({ unsent }) => !unsent));
}

/** Results below this multiple of the least ceiling stay: cutting many a little would lose more than it saves. */
const worthCutting = 2;

/** The size of a context whose results are cut to a ceiling, if tokens are in proportion to characters. */
function expectedSize(context: Size, results: readonly Candidate[], ceiling: number): Size {
	const sum = startSum(context);
	for (const { size } of results) {
		const chars = size.chars - ceiling;
		if (chars > 0) sum.subtract({ chars, tokens: Math.round((size.tokens * chars) / size.chars) });
	}
	return sum.total();
}

interface Candidate {
	readonly place: number;
	readonly message: number;
	/** With all cuts until now. */
	size: Size;
	saved: Size;
}

export interface ResultCutter {
	/** By the place of the result, in the order of `pairResults`. */
	readonly made: FurtherCuts;
	/** Cuts what has arrived at a moment over the budget, and returns by how much messages become smaller. */
	cut(now: {
		/** Number of messages. */
		readonly moment: number;
		readonly context: Size;
		readonly reaches: (context: Size) => boolean;
		/** Whether dropping alone would leave less than half of what may be used. */
		readonly leavesLittle: () => boolean;
		readonly isDropped: ArrayLike<number>;
	}): readonly { readonly message: number; readonly relief: Size }[];
	/** Tells that a result is masked, and returns the tokens that cutting it further has saved. */
	mask(place: number): number;
}

export type FurtherCuts = ReadonlyMap<number, FurtherCut>;

interface FurtherCut {
	/** In place of the edits that truncate the result to the policy's limit. */
	readonly edits: readonly ReplaceEdit[];
	/** Number of messages when it was made. */
	readonly moment: number;
	/** In addition to that of the edits before. */
	readonly relief: Size;
}

interface CutterParameters {
	readonly transcript: Transcript;
	readonly countTokens: CountTokens;
	/** In characters, the largest first. */
	readonly ceilings: readonly number[];
	/** By place, the edits that truncate results to the policy's limit. */
	readonly truncated: readonly (readonly ReplaceEdit[])[];
	/** Places of results that are masked from the beginning. */
	readonly masked: Iterable<number>;
	readonly truncateTo: (ceiling: number, one: PairedResult) => readonly ReplaceEdit[];
}
