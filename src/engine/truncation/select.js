import { assembleUnits, longestMarks, shortNotice } from "./draft.js";
import { characterEdge, longestCharacter } from "./head-tail.js";
import { unitText } from "./lines.js";

const rounds = 3;
/** The marks name all files of a diff if that takes at most this share of the room. */
const namesShare = 0.5;
/** Shortens to a number of characters, marks included: keeps the first lines, both ends, and the units worth most. */
export function selectUnits(choice) {
	const { units } = choice;
	const longest = longestMarks(choice);
	// A gap that starts or ends inside a line has two more marks, but most gaps do not.
	const gapCosts = hasParts(units) ? [longest.gap, longest.gap + 2 * longest.inside] : [longest.gap];
	return (maxChars) => {
		const notice = longest.full <= maxChars / 3 ? "full" : longest.short <= maxChars / 2 ? "short" : "none";
		const room = maxChars - (notice === "none" ? 0 : longest[notice]);
		const { outline } = choice;
		const listsNames = outline !== undefined && outline.namesChars <= room * namesShare;
		for (const least of gapCosts) {
			const gapCost = least + (outline && !listsNames ? outline.countChars : 0);
			const draft = select({ ...choice, notice, room, gapCost, maxChars, listsNames });
			if (draft !== undefined) return draft;
		}
		return bareStart(choice, maxChars);
	};
}
function hasParts({ count, line }) {
	for (let unit = 1; unit < count; unit += 1) if (line[unit] === line[unit - 1]) return true;
	return false;
}
/** A selection for one cost of gaps; `undefined` if it does not fit or is empty. */
function select(selecting) {
	const { units, priority, room, gapCost, maxChars, outline, listsNames } = selecting;
	const kept = new Uint8Array(units.count);
	const chars = (unit) => units.end[unit] - units.start[unit] + 1;
	const reserved = outline && listsNames ? outline.namesChars : 0;
	let used = gapCost + reserved;
	let chosen = [];
	const keep = (unit, limit) => {
		if (kept[unit] === 1) return true;
		if (!units.isHeld(unit) || isLeftOut(selecting, unit)) return false;
		const head = outline?.parent[unit] ?? -1;
		if (head !== -1 && kept[head] === 0) {
			// A head may take two marks, and its own head as much.
			const heads = [head, outline?.parent[head] ?? -1].filter((one) => one !== -1 && kept[one] === 0);
			const cost = heads.reduce((sum, one) => sum + chars(one) + gapCost, 0);
			if (used + cost + chars(unit) + gapCost > limit || !keep(head, limit)) return false;
		}
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
	const failure = firstFailure(selecting);
	if (failure && kept[failure.match] === 0) return undefined;
	keepEnds(selecting, keep, () => used);
	const worth = (unit) => priority[unit];
	const candidates = candidatesOf(selecting, kept).filter((unit) => !isLeftOut(selecting, unit));
	if (outline) for (const run of outline.runs) for (const unit of run) keep(unit, room);
	else chosen = chooseRuns(selecting, candidates, kept);
	for (const unit of chosen) kept[unit] = 1;
	const assemble = () =>
		assembleUnits({ ...selecting, kept: chosen.sort((a, b) => a - b), markOf: outline?.startMarks(listsNames) });
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
		// A closed gap frees less room than the longest mark needs.
		if (fuller.text.length > maxChars) break;
		draft = fuller;
	}
	return draft;
}
function isLeftOut({ units, passed }, unit) {
	return units.encoded.has(unit) || passed?.has(unit) === true;
}
function firstFailure({ first = [] }) {
	return first[0]?.kind === "failure" ? first[0] : undefined;
}
/** After this many lines of a kind in a row do not fit, the others of the kind are skipped. */
const mostMisses = 40;
/**
 * Keeps the first lines, each kind up to its share of the room. The first failure may take all the room; if it does not
 * fit, the units around its match are kept, up to half of its share.
 */
function keepFirst(selecting, keep, used) {
	const { units, first = [], room, gapCost } = selecting;
	const spent = new Map();
	for (const one of first) {
		const { kind, share, from, to, match } = one;
		const ofKind = spent.get(kind) ?? { chars: 0, misses: 0 };
		spent.set(kind, ofKind);
		if (ofKind.misses >= mostMisses) continue;
		const before = used();
		const cost = units.end[to] - units.start[from] + to - from + 1 + gapCost;
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
/** Keeps units from both ends up to their shares. The outermost units may take half and a quarter of the room. */
function keepEnds(selecting, keep, used) {
	const { units, headShare: share, tailShare, room: whole, maxChars, gapCost } = selecting;
	const headShare = typeof share === "number" ? share : share(maxChars);
	const last = units.count - 1;
	const start = used();
	const room = whole - (start - gapCost);
	for (let unit = 0; unit <= last; unit += 1) {
		const limit = start + Math.max(room * headShare, unit === 0 && headShare > 0 ? room / 2 : 0);
		if (!keep(unit, Math.min(limit, whole)) && !isLeftOut(selecting, unit)) break;
	}
	const middle = used();
	for (let unit = last; unit >= 0; unit -= 1) {
		const limit = middle + Math.max(room * tailShare, unit === last && tailShare > 0 ? room / 4 : 0);
		if (!keep(unit, Math.min(limit, whole)) && !isLeftOut(selecting, unit)) break;
	}
}
/** Number of classes of priorities, which find the best units without sorting. */
const steps = 4_096;
/** The units to choose from, in order: all of them, or the best of very many and those that are kept already. */
function candidatesOf({ priority, units, room }, kept) {
	const { start, end, count } = units;
	if (count <= 8 * room) return Array.from({ length: count }, (_, unit) => unit).filter(units.isHeld);
	let most = 0;
	for (const one of priority) if (one > most) most = one;
	const stepOf = (one) => Math.min(steps - 1, Math.floor((one / most) * steps));
	const chars = new Float64Array(steps);
	for (let unit = 0; unit < priority.length; unit += 1) {
		const one = priority[unit];
		if (one > 0) chars[stepOf(one)] = chars[stepOf(one)] + end[unit] - start[unit] + 1;
	}
	let lowest = steps - 1;
	for (let sum = chars[lowest]; lowest > 0 && sum < 4 * room; sum += chars[lowest]) lowest -= 1;
	const candidates = [];
	let least = 0;
	for (let unit = 0; unit < priority.length; unit += 1) {
		const one = priority[unit];
		const step = one > 0 ? stepOf(one) : -1;
		// Among very many equal units, the first fill the room.
		if (kept[unit] === 1 || step > lowest) candidates.push(unit);
		else if (step === lowest && least < 4 * room) {
			candidates.push(unit);
			least += 1;
		}
	}
	return candidates;
}
function closeSmallGaps({ units, marks }, chosen, keep) {
	const mark = marks.wording.gap.length;
	chosen.forEach((unit, index) => {
		const next = chosen[index + 1] ?? unit;
		if (next - unit < 2 || next - unit > 4) return;
		const chars = units.end[next - 1] - units.start[unit + 1];
		if (chars <= mark) for (let between = unit + 1; between < next; between += 1) keep(between);
	});
}
/** If no unit fits with its marks: the start of the first failure, or of the first line that is not blank. */
function bareStart(choice, maxChars) {
	const { units, marks } = choice;
	const { chars, count } = units;
	let unit = firstFailure(choice)?.match ?? 0;
	while (unit < count - 1 && !/\S/.test(unitText(units, unit))) unit += 1;
	const lengthOf = (template) => template.replace("{omitted_chars}", `${chars}`).length;
	// A notice without the reference is better than none.
	const notice = [shortNotice(marks), marks.wording.short].find((one) => lengthOf(one) + 2 <= maxChars);
	const hasNotice = notice !== undefined;
	const room = hasNotice ? maxChars - lengthOf(notice) - 1 : maxChars;
	const first = units.start[unit];
	const start = first + Math.max(0, unitText(units, unit).search(/\S/));
	const held = units.slice(first, start + room + longestCharacter).slice(start - first);
	const end = characterEdge(held, 0, Math.min(held.length, room));
	const kept = held.slice(0, end);
	const notices = hasNotice ? [notice.replace("{omitted_chars}", `${chars - kept.length}`)] : [];
	const body = kept === "" && !hasNotice ? "…".slice(0, maxChars) : kept;
	const shown = [...notices, body].filter((part) => part !== "").join("\n");
	return { text: shown, kept: kept === "" ? [] : [{ start, end: start + end }], notices };
}
const [cheapest, dearest] = [1e-7, 1e7];
/** Halvings of the interval of prices, which give the price to one part in a million. */
const halvings = 40;
/**
 * Chooses the units that are worth most together within the room, marks of gaps included. For a price per character, one
 * pass finds the best choice exactly. The result is the choice at the lowest price at which it fits (Lagrangian
 * relaxation; Everett 1963). Units in `isKept` stay. Returns the kept units, in order.
 */
function chooseRuns({ units, priority, gapCost, room }, candidates, isKept) {
	const last = candidates.length;
	const [worth, cost] = [new Float64Array(last), new Float64Array(last)];
	const forced = new Uint8Array(last);
	const opens = new Uint8Array(last);
	for (let index = 0; index < last; index += 1) {
		const unit = candidates[index];
		forced[index] = isKept[unit];
		worth[index] = forced[index] === 1 ? 0 : priority[unit];
		cost[index] = units.end[unit] - units.start[unit] + 1;
		opens[index] = unit === (index === 0 ? 0 : candidates[index - 1] + 1) ? 0 : 1;
	}
	const [startsAtFirst, endsAtLast] = [opens[0] === 0, candidates[last - 1] === units.count - 1];
	/** For each candidate whether the one before it is kept, if it is omitted itself and if it is kept. */
	const stays = new Uint8Array(2 * last);
	const keeps = new Uint8Array(last);
	const chooseAt = (price) => {
		const gap = price * gapCost;
		// The value of the best choice so far, with the last candidate omitted or kept.
		let out = startsAtFirst ? Number.NEGATIVE_INFINITY : -gap;
		let kept = startsAtFirst ? 0 : Number.NEGATIVE_INFINITY;
		for (let index = 0; index < last; index += 1) {
			const outFromKept = kept - gap;
			const keptFromKept = kept - (opens[index] === 1 ? gap : 0);
			stays[2 * index] = outFromKept > out ? 1 : 0;
			stays[2 * index + 1] = keptFromKept >= out ? 1 : 0;
			kept = Math.max(out, keptFromKept) + (worth[index] - price * cost[index]);
			out = forced[index] === 1 ? Number.NEGATIVE_INFINITY : Math.max(out, outFromKept);
		}
		let state = (endsAtLast ? kept : kept - gap) > out ? 1 : 0;
		let total = 0;
		let used = endsAtLast && state === 1 ? 0 : gapCost;
		for (let index = last - 1; index >= 0; index -= 1) {
			keeps[index] = state;
			const before = stays[2 * index + state];
			if (state === 1) {
				total += worth[index];
				used += cost[index];
				if (opens[index] === 1 || (before === 0 && index > 0)) used += gapCost;
			}
			state = before;
		}
		return { total, used };
	};
	let fitting = chooseAt(dearest);
	if (fitting.used > room) return candidates.filter((unit) => isKept[unit] === 1);
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
	return candidates.filter((unit, index) => keeps[index] === 1 || isKept[unit] === 1);
}
