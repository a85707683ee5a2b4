import { outputOfRecall, smallestOf } from "../masking/fault-cost.ts";
import type { ReplayHistory, ReplayResult } from "../masking/history.ts";
import { callsInView } from "../masking/in-use.ts";
import { callsAfter, usesByCall, wholeResults } from "./recall.ts";

/** The prices of one token. */
interface TokenPrices {
	readonly read: number;
	readonly write: number;
	readonly output: number;
	/** Multiplies the cost of a fault. */
	readonly fault: number;
}

/**
 * For each penalty, a lower bound on the bill with faults plus the penalty for each fault, over all schedules that show
 * each result in full to at least one call. With at most F faults, the bill is therefore at least that sum less
 * F × penalty.
 *
 * It knows the whole history, and is too low for two reasons: masking a result is taken to rewrite only its placeholder
 * and the messages behind it up to the next result that can be masked; and a fault costs the least that it can in any
 * context. The rest is a Lagrangian relaxation: each use of a string has a price, paid by the call that faults, and earned
 * by each result that is kept until then. Any prices give a lower bound; ascent finds good ones.
 */
export function leastBills(history: ReplayHistory, prices: TokenPrices, penalties: readonly number[]): number[] {
	const relaxation = relaxationOf(history, prices);
	const ofUses = new Float64Array(relaxation.uses.length);
	return penalties.map((penalty) => relaxation.whole + ascend(relaxation, { penalty, prices: ofUses }));
}

/** A call's answer uses a string that only results hold which can be masked by then. Numbers are places. */
interface Use {
	readonly call: number;
	/** All results that had it. */
	readonly holders: readonly number[];
	/** The results that show it until they are masked; none if it was cut from all of them. */
	readonly shownBy: readonly number[];
	/** Calls whose fault may bring it into view: its own, and those that recall one of its holders. */
	readonly recalls: readonly number[];
}

/** The masking of a result from a call on, and its savings. */
interface Option {
	readonly from: number;
	readonly saves: number;
}

interface Relaxation {
	/** The bill of `raw`. */
	readonly whole: number;
	/** For each result, in the order of calls; the last is never to mask it. */
	readonly options: readonly (readonly Option[])[];
	readonly uses: readonly Use[];
	/** For each call, the least that a fault costs. */
	readonly faultCosts: readonly number[];
}

function relaxationOf(history: ReplayHistory, prices: TokenPrices): Relaxation {
	const { calls, cold, results, messageTokens, surroundingTokens, copied = 0 } = history;
	const { write } = prices;
	const read = Math.min(prices.read, write);
	const before = [surroundingTokens];
	for (const tokens of messageTokens) before.push((before.at(-1) as number) + tokens);
	/** The price of a token that is in each call from one on, without the call that first has it. */
	const carried = [0];
	for (let call = calls.length - 1; call >= 0; call -= 1) {
		const price = cold[calls[call] as number] === 1 ? write : read;
		carried.unshift((carried[0] as number) + (call < copied ? 0 : price));
	}
	const whole = calls.reduce((sum, end, call) => {
		const added = (before[end] as number) - (call === 0 ? 0 : (before[calls[call - 1] as number] as number));
		return sum + added * ((call < copied ? 0 : write) + (carried[call + 1] as number));
	}, 0);

	const maskableFrom = callsAfter(history).map((first, place) => {
		return (results[place] as ReplayResult).saves > 0 ? Math.min(first + 1, calls.length) : calls.length;
	});
	// A copied call may recall a result at no cost.
	const uses = usesOf(history, maskableFrom).filter(({ recalls }) => recalls.every((call) => call >= copied));
	const wholes = wholeResults(history);
	const usedAt = results.map(() => new Set<number>());
	for (const { call, shownBy } of uses) for (const place of shownBy) (usedAt[place] as Set<number>).add(call);

	/** Masking from one of these on rewrites nothing. The last is the end, which masks in no call. */
	const nextCold = [calls.length];
	for (let call = calls.length - 1; call >= 0; call -= 1) {
		nextCold.unshift(cold[calls[call] as number] === 1 ? call : (nextCold[0] as number));
	}
	const rewritten = rewrittenWith(history, before);
	const options = results.map(({ saves }, place): Option[] => {
		const starts = [maskableFrom[place] as number, ...Array.from(usedAt[place] as Set<number>, (call) => call + 1)];
		const moments = new Set([...starts.flatMap((call) => [call, nextCold[call] as number]), calls.length]);
		return Array.from(moments)
			.sort((a, b) => a - b)
			.map((call) => {
				const broken = call < copied || nextCold[call] === call ? 0 : rewritten(place, calls[call - 1] as number);
				return { from: call, saves: saves * (carried[call] as number) - (write - read) * broken };
			});
	});
	return { whole, options, uses, faultCosts: leastFaultCosts() };

	function leastFaultCosts(): number[] {
		const gone = new Float64Array(calls.length);
		const recalled = new Float64Array(calls.length).fill(Number.POSITIVE_INFINITY);
		maskableFrom.forEach((from, place) => {
			gone[from] = (gone[from] as number) + (results[place] as ReplayResult).saves;
		});
		for (const { call, holders } of uses) {
			const { tokens } = wholes[smallestOf(holders, wholes)] as ReplayResult;
			recalled[call] = Math.min(recalled[call] as number, tokens);
		}
		let masked = 0;
		return calls.map((end, call) => {
			masked += gone[call] as number;
			const stays = Math.min(callsInView, calls.length - 1 - call);
			const copy = (recalled[call] as number) * (write + stays * read);
			const context = (before[end] as number) - masked;
			return prices.fault * (context * read + outputOfRecall * prices.output + copy);
		});
	}
}

/** The strings without a holder that is surely in view, each once. */
function usesOf(history: ReplayHistory, maskableFrom: readonly number[]): Use[] {
	const results = wholeResults(history);
	const found = new Map<string, Omit<Use, "recalls">>();
	for (const { call, holders, shownBy } of [...usesByCall(history, "identifiers"), ...usesByCall(history, "lines")]) {
		const canFault = shownBy.every((place) => (maskableFrom[place] as number) <= call);
		if (canFault) found.set(`${call}:${holders}:${shownBy}`, { call, holders, shownBy });
	}
	const uses = Array.from(found.values());
	/** For each result, the calls that may recall it. */
	const recalls = results.map(() => new Set<number>());
	for (const { call, holders } of uses) (recalls[smallestOf(holders, results)] as Set<number>).add(call);
	return uses.map(({ call, holders, shownBy }) => {
		const some = holders.flatMap((place) => Array.from(recalls[place] as Set<number>));
		const near = some.filter((other) => other <= call && call - other <= callsInView);
		return { call, holders, shownBy, recalls: [...new Set(near)] };
	});
}

/**
 * Tokens that are surely written again if a result is masked after a call that had so many messages: of those from its
 * place on, the ones that no other result answers for.
 */
function rewrittenWith({ results, messageTokens }: ReplayHistory, before: readonly number[]) {
	const frame = Float64Array.from(messageTokens);
	for (const { message, tokens } of results) frame[message] = Math.max(0, (frame[message] as number) - tokens);
	/** For each result, the message of the next one that can be masked. */
	const next = new Float64Array(results.length);
	let following = messageTokens.length;
	for (let place = results.length - 1; place >= 0; place -= 1) {
		const { saves, message } = results[place] as ReplayResult;
		next[place] = following;
		if (saves > 0) following = message;
	}
	return (place: number, sent: number): number => {
		const { message, tokens, saves } = results[place] as ReplayResult;
		const end = next[place] as number;
		if (end === message) return tokens - saves;
		const behind = (before[Math.min(end, sent)] as number) - (before[message + 1] as number);
		return tokens - saves + (frame[message] as number) + Math.max(0, behind);
	};
}

const rounds = 120;

/** The best bound that subgradient ascent finds, less the bill of `raw`; `prices` of the uses are changed to its own. */
function ascend(
	{ options, uses, faultCosts }: Relaxation,
	{ penalty, prices }: { readonly penalty: number; readonly prices: Float64Array },
): number {
	const ofResult = options.map((): number[] => []);
	uses.forEach(({ shownBy }, use) => {
		for (const place of shownBy) (ofResult[place] as number[]).push(use);
	});
	for (const some of ofResult) some.sort((a, b) => (uses[a] as Use).call - (uses[b] as Use).call);
	const forced = new Set(uses.flatMap(({ call, shownBy }) => (shownBy.length === 0 ? [call] : [])));
	const ofForced = Array.from(forced).reduce((sum, call) => sum + (faultCosts[call] as number) + penalty, 0);
	// A schedule without faults but those of what was cut: each result stays until its last use.
	const feasible = options.reduce((sum, some, place) => {
		const last = (ofResult[place] as number[]).at(-1);
		const call = last === undefined ? -1 : (uses[last] as Use).call;
		return sum + Math.min(...some.map(({ from, saves }) => (from > call ? -saves : 0)));
	}, ofForced);
	const slope = new Float64Array(uses.length);
	const earned = new Float64Array(faultCosts.length);
	let best = Number.NEGATIVE_INFINITY;
	let pace = 1;
	let idle = 0;
	for (let round = 0; round < rounds; round += 1) {
		const bound = evaluate();
		if (bound > best) {
			best = bound;
			idle = 0;
		} else {
			idle += 1;
			if (idle % 5 === 0) pace /= 2;
		}
		const length = slope.reduce((sum, one, use) => sum + (prices[use] === 0 ? Math.max(0, one) : one) ** 2, 0);
		if (length === 0) break;
		const step = (pace * Math.max(0, feasible - bound)) / length;
		slope.forEach((one, use) => {
			prices[use] = Math.max(0, (prices[use] as number) + step * one);
		});
	}
	return best;

	/** The bound at these prices; sets the slope. */
	function evaluate(): number {
		let bound = 0;
		earned.fill(0);
		uses.forEach(({ recalls }, use) => {
			const price = prices[use] as number;
			bound += price;
			slope[use] = 1;
			for (const call of recalls) earned[call] = (earned[call] as number) + price;
		});
		options.forEach((some, place) => {
			const own = ofResult[place] as readonly number[];
			let [least, stays, passed, kept] = [Number.POSITIVE_INFINITY, 0, 0, 0];
			for (const { from, saves } of some) {
				for (; passed < own.length && (uses[own[passed] as number] as Use).call < from; passed += 1) {
					kept += prices[own[passed] as number] as number;
				}
				if (-saves - kept < least) [least, stays] = [-saves - kept, passed];
			}
			bound += least;
			for (const use of own.slice(0, stays)) slope[use] = (slope[use] as number) - 1;
		});
		const faults = faultCosts.map((cost, call) => cost + penalty - (earned[call] as number));
		for (const cost of faults) bound += Math.min(0, cost);
		uses.forEach(({ recalls }, use) => {
			for (const call of recalls) if ((faults[call] as number) < 0) slope[use] = (slope[use] as number) - 1;
		});
		return bound;
	}
}
