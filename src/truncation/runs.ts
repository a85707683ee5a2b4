import type { Units } from "./lines.ts";

/** Lines that are kept only together with the heads above them, such as the file and the hunk of a line of a diff. */
export interface Outline {
	/** For each unit one of `outlineLevels`. */
	readonly level: Uint8Array;
	/** For each unit the head that it needs; -1 if it needs none. */
	readonly parent: Int32Array;
	/** 1 for lines that matter less than all others, such as those that a diff does not change. */
	readonly isMinor: Uint8Array;
	/** The heads of all files. */
	readonly names: readonly number[];
	/** Characters of all of them with what the marks say of them. */
	readonly namesChars: number;
	/** The most characters that marks say of a file whose name is kept, if all names are kept or only some. */
	readonly noteChars: (names: { readonly isComplete: boolean }) => number;
	/** Returns a function that writes the marks of one selection: for units `from` to `to`, `to` excluded, in order. */
	readonly startMarks: () => (
		from: number,
		to: number,
		lines: { readonly from: number; readonly to: number },
	) => string;
}

/** A line; the heads of a hunk and of a file; a line that needs no head, such as that of a commit. */
export const outlineLevels = { line: 0, hunk: 1, file: 2, free: 3 } as const;

interface RunsChoice {
	readonly units: Units;
	readonly priority: Float32Array;
	readonly gapCost: number;
	readonly room: number;
	readonly outline?: Outline | undefined;
	/** Characters of a unit, with what marks say of it. */
	readonly chars: (unit: number) => number;
}

/** Candidates with their worth and cost, by index. */
interface Candidates {
	readonly count: number;
	readonly worth: Float64Array;
	readonly cost: Float64Array;
	/** 1 if it stays in any case. */
	readonly forced: Uint8Array;
	/** 1 if units are left out right before it. */
	readonly opens: Uint8Array;
	readonly startsAtFirst: boolean;
	readonly endsAtLast: boolean;
	readonly level: Uint8Array;
}

interface Chosen {
	readonly total: number;
	readonly used: number;
}

const [cheapest, dearest] = [1e-7, 1e7];
/** Halvings of the interval of prices, which give the price to one part in a million. */
const halvings = 40;

/**
 * Chooses the units that are worth most together within the room, marks of gaps included. For a price per character, one
 * pass finds the best choice exactly. The result is the choice at the lowest price at which it fits (Lagrangian
 * relaxation; Everett 1963). Units in `isKept` stay. Returns the kept units, in order.
 */
export function chooseRuns(choice: RunsChoice, units: readonly number[], isKept: Uint8Array): number[] {
	const { room, gapCost } = choice;
	const candidates = readCandidates(choice, units, isKept);
	const keeps = new Uint8Array(units.length);
	const chooseAt = choice.outline
		? chooseUnderHeads(candidates, gapCost, keeps)
		: chooseFreely(candidates, gapCost, keeps);

	let fitting = chooseAt(dearest);
	if (fitting.used > room) return units.filter((unit) => isKept[unit] === 1);
	let over = chooseAt(cheapest);
	let price = 0;
	while (over.used > room) {
		// Both choices are equally good at this price. If none is better there, the choice fits at any higher price.
		price = (over.total - fitting.total) / (over.used - fitting.used);
		const between = chooseAt(price);
		const gain = between.total - over.total - price * (between.used - over.used);
		if (gain <= 1e-12 * over.total) break;
		if (between.used <= room) fitting = between;
		else over = between;
	}
	// Rounding decides between equal choices, so the final price comes from a fixed series.
	let [low, high] = [Math.log(cheapest), Math.log(dearest)];
	for (let halving = 0; halving < halvings; halving += 1) {
		const middle = (low + high) / 2;
		if (Math.exp(middle) > price) high = middle;
		else low = middle;
	}
	chooseAt(Math.exp(high));
	return units.filter((unit, index) => keeps[index] === 1 || isKept[unit] === 1);
}

function readCandidates(
	{ units, priority, outline, chars }: RunsChoice,
	candidates: readonly number[],
	isKept: Uint8Array,
): Candidates {
	const count = candidates.length;
	const [worth, cost] = [new Float64Array(count), new Float64Array(count)];
	const [forced, opens, level] = [new Uint8Array(count), new Uint8Array(count), new Uint8Array(count)];
	for (let index = 0; index < count; index += 1) {
		const unit = candidates[index] as number;
		forced[index] = isKept[unit] as number;
		worth[index] = forced[index] === 1 ? 0 : (priority[unit] as number);
		cost[index] = chars(unit);
		opens[index] = unit === (index === 0 ? 0 : (candidates[index - 1] as number) + 1) ? 0 : 1;
		if (outline) level[index] = outline.level[unit] as number;
	}
	const [startsAtFirst, endsAtLast] = [opens[0] === 0, candidates[count - 1] === units.count - 1];
	return { count, worth, cost, forced, opens, startsAtFirst, endsAtLast, level };
}

/** Returns a function that finds the best choice for a price per character, and writes it into `keeps`. */
function chooseFreely(
	{ count, worth, cost, forced, opens, startsAtFirst, endsAtLast }: Candidates,
	gapCost: number,
	keeps: Uint8Array,
): (price: number) => Chosen {
	/** For each candidate whether the one before it is kept, if it is omitted itself and if it is kept. */
	const stays = new Uint8Array(2 * count);
	return (price) => {
		const gap = price * gapCost;
		// The value of the best choice so far, with the last candidate omitted or kept.
		let out = startsAtFirst ? Number.NEGATIVE_INFINITY : -gap;
		let kept = startsAtFirst ? 0 : Number.NEGATIVE_INFINITY;
		for (let index = 0; index < count; index += 1) {
			const outFromKept = kept - gap;
			const keptFromKept = kept - (opens[index] === 1 ? gap : 0);
			stays[2 * index] = outFromKept > out ? 1 : 0;
			stays[2 * index + 1] = keptFromKept >= out ? 1 : 0;
			kept = Math.max(out, keptFromKept) + ((worth[index] as number) - price * (cost[index] as number));
			out = forced[index] === 1 ? Number.NEGATIVE_INFINITY : Math.max(out, outFromKept);
		}
		let state = (endsAtLast ? kept : kept - gap) > out ? 1 : 0;
		let total = 0;
		let used = endsAtLast && state === 1 ? 0 : gapCost;
		for (let index = count - 1; index >= 0; index -= 1) {
			keeps[index] = state;
			const before = stays[2 * index + state] as number;
			if (state === 1) {
				total += worth[index] as number;
				used += cost[index] as number;
				if (opens[index] === 1 || (before === 0 && index > 0)) used += gapCost;
			}
			state = before;
		}
		return { total, used };
	};
}

/** States of a choice: the last unit is kept; it is omitted below kept heads; its hunk is omitted; its file is omitted. */
const [isKeptState, isOut, isHunkOut, isFileOut] = [0, 1, 2, 3] as const;

/** The same, but a line is kept only if its heads are. */
function chooseUnderHeads(
	{ count, worth, cost, forced, opens, startsAtFirst, endsAtLast, level }: Candidates,
	gapCost: number,
	keeps: Uint8Array,
): (price: number) => Chosen {
	/** For each candidate and state, the best state of the candidate before it. */
	const stays = new Uint8Array(4 * count);
	const never = Number.NEGATIVE_INFINITY;
	return (price) => {
		const gap = price * gapCost;
		// A gap is paid where it begins.
		const values = new Float64Array(4).fill(never);
		values[startsAtFirst ? isKeptState : isOut] = startsAtFirst ? 0 : -gap;
		const next = new Float64Array(4);
		for (let index = 0; index < count; index += 1) {
			const own = level[index] as number;
			next.fill(never);
			const offer = (state: number, before: number, value: number) => {
				if (value <= (next[state] as number)) return;
				next[state] = value;
				stays[4 * index + state] = before;
			};
			for (let before = 0; before < 4; before += 1) {
				const value = values[before] as number;
				if (value === never) continue;
				const isFree = own === outlineLevels.file || own === outlineLevels.free;
				const canKeep =
					isFree || before === isKeptState || before === isOut || (own === outlineLevels.hunk && before === isHunkOut);
				const gapBefore = before === isKeptState && opens[index] === 1 ? gap : 0;
				if (canKeep) {
					offer(isKeptState, before, value - gapBefore + (worth[index] as number) - price * (cost[index] as number));
				}
				if (forced[index] === 1) continue;
				const omitted = before === isKeptState ? value - gap : value;
				if (own === outlineLevels.file) offer(isFileOut, before, omitted);
				else if (own === outlineLevels.hunk) offer(before === isFileOut ? isFileOut : isHunkOut, before, omitted);
				else if (own === outlineLevels.free) offer(isOut, before, omitted);
				else offer(before === isKeptState ? isOut : before, before, omitted);
			}
			values.set(next);
		}
		if (!endsAtLast) values[isKeptState] = (values[isKeptState] as number) - gap;
		let state = 0;
		for (let other = 1; other < 4; other += 1) {
			if ((values[other] as number) > (values[state] as number)) state = other;
		}
		let total = 0;
		let used = endsAtLast && state === isKeptState ? 0 : gapCost;
		for (let index = count - 1; index >= 0; index -= 1) {
			keeps[index] = state === isKeptState ? 1 : 0;
			const before = stays[4 * index + state] as number;
			if (state === isKeptState) {
				total += worth[index] as number;
				used += cost[index] as number;
				if (opens[index] === 1 || (before !== isKeptState && index > 0)) used += gapCost;
			}
			state = before;
		}
		return { total, used };
	};
}
