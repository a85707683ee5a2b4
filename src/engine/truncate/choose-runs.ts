/** What is chosen from: units in order, each with what it is worth and the characters that it takes. */
export interface RunChoice {
	/** Indices of the units, in order; those between them are left out. */
	readonly candidates: readonly number[];
	/** Units in all. */
	readonly count: number;
	readonly worth: (unit: number) => number;
	readonly cost: (unit: number) => number;
	/** Whether a unit is kept whatever it is worth. */
	readonly isForced: (unit: number) => boolean;
	/** Characters that each gap takes for its mark. */
	readonly gapCost: number;
	readonly room: number;
}

/** Halvings of the price of a character; after these it is known to one part in a million. */
const halvings = 40;
const [cheapest, dearest] = [1e-7, 1e7];

/**
 * Chooses the units that are worth most together within the room, marks of gaps included: for a price of a character the
 * best choice is found exactly in one pass (kept or left out, one after the other), and the price is raised until the
 * choice fits (Lagrangian relaxation; Everett 1963). Answers the units kept, in order.
 */
export function chooseRuns(choice: RunChoice): number[] {
	const { candidates, room } = choice;
	const worth = Float64Array.from(candidates, (unit) =>
		choice.isForced(unit) ? Number.POSITIVE_INFINITY : choice.worth(unit),
	);
	const cost = Float64Array.from(candidates, choice.cost);
	const adjacent = Uint8Array.from(candidates, (unit, index) =>
		index > 0 && candidates[index - 1] === unit - 1 ? 1 : 0,
	);
	const stays = new Uint8Array(2 * candidates.length);
	const keeps = new Uint8Array(candidates.length);
	let fitting = new Uint8Array(candidates.length);
	let [low, high] = [Math.log(cheapest), Math.log(dearest)];
	for (let halving = 0; halving < halvings; halving += 1) {
		const middle = (low + high) / 2;
		const used = chooseAt(Math.exp(middle), { ...choice, worth, cost, adjacent, stays, keeps });
		if (used <= room) {
			fitting = keeps.slice();
			high = middle;
		} else low = middle;
	}
	return candidates.filter((unit, index) => fitting[index] === 1 || choice.isForced(unit));
}

interface PricedChoice extends Pick<RunChoice, "candidates" | "count" | "gapCost"> {
	readonly worth: Float64Array;
	readonly cost: Float64Array;
	/** 1 where a candidate stands right behind the one before it. */
	readonly adjacent: Uint8Array;
	/** For each candidate whether the one before it is kept, where it is left out itself and where it is kept. */
	readonly stays: Uint8Array;
	readonly keeps: Uint8Array;
}

/** The best choice at a price of a character, written to `keeps`; answers the characters that it takes. */
function chooseAt(
	price: number,
	{ candidates, count, gapCost, worth, cost, adjacent, stays, keeps }: PricedChoice,
): number {
	const gap = price * gapCost;
	const startsAtFirst = candidates[0] === 0;
	// What the best choice so far is worth, the last candidate being left out, or kept.
	let out = startsAtFirst ? Number.NEGATIVE_INFINITY : -gap;
	let kept = startsAtFirst ? 0 : Number.NEGATIVE_INFINITY;
	const last = candidates.length;
	for (let index = 0; index < last; index += 1) {
		const step = adjacent[index] === 1 || (index === 0 && startsAtFirst) ? 0 : gap;
		const outFromKept = kept - gap;
		const keptFromKept = kept - step;
		const forced = worth[index] === Number.POSITIVE_INFINITY;
		const gain = (forced ? 0 : (worth[index] as number)) - price * (cost[index] as number);
		stays[2 * index] = outFromKept > out ? 1 : 0;
		stays[2 * index + 1] = keptFromKept >= out ? 1 : 0;
		const nextOut = forced ? Number.NEGATIVE_INFINITY : Math.max(out, outFromKept);
		kept = Math.max(out, keptFromKept) + gain;
		out = nextOut;
	}
	const endsAtLast = candidates[last - 1] === count - 1;
	let state = (endsAtLast ? kept : kept - gap) > out ? 1 : 0;
	for (let index = last - 1; index >= 0; index -= 1) {
		keeps[index] = state;
		state = stays[2 * index + state] as number;
	}
	let used = 0;
	let before = -1;
	for (let index = 0; index < last; index += 1) {
		if (keeps[index] === 0) continue;
		used += (cost[index] as number) + ((candidates[index] as number) > before + 1 ? gapCost : 0);
		before = candidates[index] as number;
	}
	return before < count - 1 ? used + gapCost : used;
}
