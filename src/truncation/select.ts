import { assembleUnits, type Draft, longestMarks, type Marks, type NoticeKind, shortNotice } from "./draft.ts";
import type { FirstLine } from "./failures.ts";
import { characterEdge } from "./head-tail.ts";
import { type Units, unitText } from "./lines.ts";

interface UnitChoice {
	readonly units: Units;
	/** How much each unit is wanted; what is not above 0 is kept only at head and tail or to close a small gap. */
	readonly priority: Float32Array;
	/** Lines that are kept before head and tail, those wanted most first. */
	readonly first?: readonly FirstLine[] | undefined;
	/** Share of the room beside those lines that is kept from the start and from the end, whatever the priorities. */
	readonly headShare: number | ((maxChars: number) => number);
	readonly tailShare: number;
	readonly marks: Marks;
	readonly isLike?: ((unit: number, from: number, to: number) => boolean) | undefined;
}

/** Characters behind the end of a bare start that are looked at so that no character is split. */
const longestCharacter = 80;
/** Rounds of filling the room that exact marks leave over. */
const rounds = 3;

/**
 * Keeps the lines of a text that come first, its head and tail, and between them the units that are worth most together, as
 * many as fit a number of characters with all notices and marks. Looks at each unit a fixed number of times.
 */
export function selectUnits(choice: UnitChoice): (maxChars: number) => Draft {
	const { units } = choice;
	const longest = longestMarks(choice);
	// A gap that starts or ends inside a line has a mark there too; most do not.
	const gapCosts = hasParts(units) ? [longest.gap, longest.gap + 2 * longest.inside] : [longest.gap];
	return (maxChars) => {
		const notice: NoticeKind = longest.full <= maxChars / 3 ? "full" : longest.short <= maxChars / 2 ? "short" : "none";
		const room = maxChars - (notice === "none" ? 0 : longest[notice]);
		for (const gapCost of gapCosts) {
			const draft = select({ ...choice, notice, room, gapCost, maxChars });
			if (draft !== undefined) return draft;
		}
		return bareStart(choice, maxChars);
	};
}

function hasParts({ count, line }: Units): boolean {
	for (let unit = 1; unit < count; unit += 1) if (line[unit] === line[unit - 1]) return true;
	return false;
}

interface Selecting extends UnitChoice {
	readonly notice: NoticeKind;
	readonly room: number;
	readonly gapCost: number;
	readonly maxChars: number;
}

/** One selection; `undefined` where it does not fit, or nothing does. */
function select(selecting: Selecting): Draft | undefined {
	const { units, priority, notice, room, gapCost, maxChars } = selecting;
	const kept = new Uint8Array(units.count);
	const chars = (unit: number) => (units.end[unit] as number) - (units.start[unit] as number) + 1;
	let used = gapCost;
	let chosen: number[] = [];
	const keep = (unit: number, limit: number) => {
		if (kept[unit] === 1) return true;
		if (!units.isHeld(unit)) return false;
		const hasBefore = unit === 0 || kept[unit - 1] === 1;
		const hasAfter = unit === units.count - 1 || kept[unit + 1] === 1;
		const cost = chars(unit) + (hasBefore ? 0 : gapCost) + (hasAfter ? 0 : gapCost) - gapCost;
		if (used + cost > limit) return false;
		used += cost;
		kept[unit] = 1;
		chosen.push(unit);
		return true;
	};
	keepFirst(selecting, keep, () => used);
	const before = firstFailure(selecting);
	if (before && kept[before.match] === 0) return undefined;
	keepEnds(selecting, keep, () => used);
	const worth = (unit: number) => priority[unit] as number;
	const candidates = candidatesOf(selecting, kept);
	const isForced = (unit: number) => kept[unit] === 1;
	chosen = chooseRuns({ candidates, count: units.count, worth, cost: chars, isForced, gapCost, room });
	for (const unit of chosen) kept[unit] = 1;
	const assemble = () => assembleUnits({ ...selecting, kept: chosen.sort((a, b) => a - b), notice });
	let draft = assemble();
	if (chosen.length === 0 || draft.text.length > maxChars) return undefined;

	const wanted = candidates.filter((unit) => kept[unit] === 0 && worth(unit) > 0);
	wanted.sort((a, b) => worth(b) / chars(b) - worth(a) / chars(a) || a - b);
	for (let round = 0; round < rounds; round += 1) {
		used = draft.text.length - maxChars + room;
		const before = chosen.length;
		closeSmallGaps(selecting, [...chosen], (unit) => keep(unit, room));
		for (const unit of wanted) keep(unit, room);
		if (chosen.length === before) break;
		const fuller = assemble();
		// A gap that was closed gave back less than a mark can take at most.
		if (fuller.text.length > maxChars) break;
		draft = fuller;
	}
	return draft;
}

/** The line that comes before anything else, whatever room it takes. */
function firstFailure({ first = [] }: UnitChoice): FirstLine | undefined {
	return first[0]?.kind === "failure" ? first[0] : undefined;
}

/** Lines of a kind in a row that do not fit, after which no other of it is tried. */
const mostMisses = 40;

/**
 * Keeps the lines that come first, each kind up to its share of the room; the very first failure may take all of it. Where
 * that one does not fit as a whole, it is kept in part, around what tells, up to half of its share.
 */
function keepFirst(selecting: Selecting, keep: (unit: number, limit: number) => boolean, used: () => number): void {
	const { units, first = [], room, gapCost } = selecting;
	const spent = new Map<FirstLine["kind"], { chars: number; misses: number }>();
	for (const one of first) {
		const { kind, share, from, to, match } = one;
		const ofKind = spent.get(kind) ?? { chars: 0, misses: 0 };
		spent.set(kind, ofKind);
		if (ofKind.misses >= mostMisses) continue;
		const before = used();
		const cost = (units.end[to] as number) - (units.start[from] as number) + to - from + 1 + gapCost;
		const comesFirst = one === firstFailure(selecting);
		if (before + cost <= room && (comesFirst || ofKind.chars + cost <= room * share)) {
			for (let unit = from; unit <= to; unit += 1) keep(unit, room);
			ofKind.misses = 0;
		} else if (comesFirst) {
			keep(match, room);
			const limit = Math.min(room, before + (room * share) / 2);
			let [left, right] = [match - 1, match + 1];
			while (left >= from || right <= to) {
				if (right <= to) right = keep(right, limit) ? right + 1 : to + 1;
				if (left >= from) left = keep(left, limit) ? left - 1 : from - 1;
			}
		} else ofKind.misses += 1;
		ofKind.chars += used() - before;
	}
}

/** Keeps units from both ends up to their shares; the first of each where it takes no more than half of the room. */
function keepEnds(
	{ units, headShare: share, tailShare, room: whole, maxChars, gapCost }: Selecting,
	keep: (unit: number, limit: number) => boolean,
	used: () => number,
): void {
	const headShare = typeof share === "number" ? share : share(maxChars);
	const last = units.count - 1;
	const start = used();
	const room = whole - (start - gapCost);
	for (let unit = 0; unit <= last; unit += 1) {
		const limit = start + Math.max(room * headShare, unit === 0 && headShare > 0 ? room / 2 : 0);
		if (!keep(unit, Math.min(limit, whole))) break;
	}
	const middle = used();
	for (let unit = last; unit >= 0; unit -= 1) {
		const limit = middle + Math.max(room * tailShare, unit === last && tailShare > 0 ? room / 4 : 0);
		if (!keep(unit, Math.min(limit, whole))) break;
	}
}

/** Steps into which priorities are put, so that the most wanted are found without sorting all. */
const steps = 4_096;

/** The units that are chosen from, in order: all of them, or of very many those most wanted and those kept already. */
function candidatesOf({ priority, units, room }: Selecting, kept: Uint8Array): number[] {
	const { start, end, count } = units;
	if (count <= 8 * room) return Array.from({ length: count }, (_, unit) => unit).filter(units.isHeld);
	let most = 0;
	for (const one of priority) if (one > most) most = one;
	const stepOf = (one: number) => Math.min(steps - 1, Math.floor((one / most) * steps));
	const chars = new Float64Array(steps);
	for (let unit = 0; unit < priority.length; unit += 1) {
		const one = priority[unit] as number;
		if (one > 0)
			chars[stepOf(one)] = (chars[stepOf(one)] as number) + (end[unit] as number) - (start[unit] as number) + 1;
	}
	let lowest = steps - 1;
	for (let sum = chars[lowest] as number; lowest > 0 && sum < 4 * room; sum += chars[lowest] as number) lowest -= 1;
	const candidates: number[] = [];
	let least = 0;
	for (let unit = 0; unit < priority.length; unit += 1) {
		const one = priority[unit] as number;
		const step = one > 0 ? stepOf(one) : -1;
		// Where a great many are wanted alike, the first of them fill the room.
		if (kept[unit] === 1 || step > lowest) candidates.push(unit);
		else if (step === lowest && least < 4 * room) {
			candidates.push(unit);
			least += 1;
		}
	}
	return candidates;
}

/** Keeps what stands in gaps that take no more room than their mark. */
function closeSmallGaps(
	{ units, marks }: UnitChoice,
	chosen: readonly number[],
	keep: (unit: number) => boolean,
): void {
	const mark = marks.wording.gap.length;
	chosen.forEach((unit, index) => {
		const next = chosen[index + 1] ?? unit;
		if (next - unit < 2 || next - unit > 4) return;
		const chars = (units.end[next - 1] as number) - (units.start[unit + 1] as number);
		if (chars <= mark) for (let between = unit + 1; between < next; between += 1) keep(between);
	});
}

/**
 * What can be kept where not even one unit fits with its marks: the start of the line that comes first, or of the first
 * that holds anything.
 */
function bareStart(choice: UnitChoice, maxChars: number): Draft {
	const { units, marks } = choice;
	const { chars, count } = units;
	let unit = firstFailure(choice)?.match ?? 0;
	while (unit < count - 1 && !/\S/.test(unitText(units, unit))) unit += 1;
	const lengthOf = (template: string) => template.replace("{omitted_chars}", `${chars}`).length;
	// Where the reference has no room, the notice without it is better than none.
	const notice = [shortNotice(marks), marks.wording.short].find((one) => lengthOf(one) + 2 <= maxChars);
	const hasNotice = notice !== undefined;
	const room = hasNotice ? maxChars - lengthOf(notice) - 1 : maxChars;
	const first = units.start[unit] as number;
	const start = first + Math.max(0, unitText(units, unit).search(/\S/));
	const held = units.slice(first, start + room + longestCharacter).slice(start - first);
	const end = characterEdge(held, 0, Math.min(held.length, room));
	const kept = held.slice(0, end);
	const notices = hasNotice ? [notice.replace("{omitted_chars}", `${chars - kept.length}`)] : [];
	// Where not even one character fits, there is at least a sign that there was something.
	const body = kept === "" && !hasNotice ? "…".slice(0, maxChars) : kept;
	const shown = [...notices, body].filter((part) => part !== "").join("\n");
	return { text: shown, kept: kept === "" ? [] : [{ start, end: start + end }], notices };
}

/** What is chosen from: units in order, each with what it is worth and the characters that it takes. */
interface RunChoice {
	readonly candidates: readonly number[];
	readonly count: number;
	readonly worth: (unit: number) => number;
	readonly cost: (unit: number) => number;
	readonly isForced: (unit: number) => boolean;
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
function chooseRuns(choice: RunChoice): number[] {
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
