import type { MaskPolicy, Prices } from "../policy/schema.ts";
import { costOfRewriting } from "./fault-cost.ts";
import type { CallTokens, ReplayHistory, View } from "./history.ts";

/** Calls that a conversation is expected to have at least, and those from which it is a long one. */
const [expectedCalls, longCalls] = [20, 40] as const;

/** Most by which the bill of a long conversation may exceed that of masking nothing. A shorter one may end at any call. */
const mostAbove = 0.05;

/** Calls after which a higher bill must be repaid: nine of ten recorded sessions of 20 calls make so many more (`npm run lab -- remaining`). */
const repaidWithin = 2;

/** Most tokens that may wait for each token that a masking frees (docs/evidence.md#masking). */
const mostWaiting = 3;

/** Future calls whose waste counts: 8, and by use more where rewriting costs more reads, so that a masking takes longer to pay. */
export function foreseenCalls(prices: Prices, selection: MaskPolicy["selection"]): number {
	return selection === "age" ? 8 : 8 * costOfRewriting(prices);
}

/**
 * At which multiple of the cost of rewriting masking pays, the calls from one masking to the next while the cache lasts,
 * and the least tokens that one frees. By use, a result that waits is also kept for its worth.
 */
export const terms = {
	age: { patience: 1, callsApart: 0, leastFreed: 0 },
	use: { patience: 4, callsApart: 10, leastFreed: 2_000 },
} as const;

/**
 * A ski-rental rule (Karlin et al., “Competitive snoopy caching”, 1988). To carry a result wastes the price of reading
 * it from the cache at each call; to mask it makes the provider write everything after it once more, so all candidates
 * after it are masked too. Masking begins where the gain is largest: the waste so far and the gain of the next calls,
 * less `patience` times the cost of rewriting. It waits unless its bill is back within that of masking nothing after
 * two more calls (or at the 20th call, if that is later); from the 40th call on within 1.05 × it. Calls to come are
 * assumed to add only what they read. After a pause that lost the cache, everything is written again in any case, so masking is free.
 *
 * By use it acts once in ten calls. It does not spend this chance on fresh results while over three times as many tokens of
 * older ones wait: the older ones go as soon as that pays, and the fresh ones with them.
 *
 * Where a model binds its reasoning, masking also takes out the valid reasoning after it: its tokens are no longer read,
 * and the model produces the share `prices.thinking_redone` of the present turn's reasoning once more, at the price of
 * output. So masking waits for a person's next message, an expired cache or the budget.
 */
export function startBreakEven(
	{ results }: ReplayHistory,
	{
		view,
		prices,
		selection,
		gainOf,
		oldestFirst = false,
	}: {
		readonly view: View;
		readonly prices: Prices;
		readonly selection: MaskPolicy["selection"];
		/** The gain of masking a result in the next calls. */
		readonly gainOf: (place: number) => number;
		/** Whether all candidates are masked or none. */
		readonly oldestFirst?: boolean | undefined;
	},
) {
	const { cache_read: read, cache_write: write, output, thinking_redone: redoneShare } = prices;
	// Every candidate is read before each answer: lists of numbers are much faster than results.
	const { saves } = view;
	const messages = Int32Array.from(results, (result) => result.message);
	const waste = new Float64Array(results.length);
	const { patience, callsApart, leastFreed } = terms[selection];
	const foreseen = foreseenCalls(prices, selection);
	const bill = { own: 0, raw: 0 };
	let calls = 0;
	let lastActed = Number.NEGATIVE_INFINITY;
	/** Tokens that the last call of an unmasked conversation would have left in the cache. */
	let rawCached = 0;
	const costOf = ({ input, cached, redone = 0 }: CallTokens) =>
		cached * read + (input - cached) * write + redone * output;
	const rawCall = () => {
		const input = view.unmasked();
		return { input, cached: view.isCold() ? 0 : Math.min(rawCached, input) };
	};

	const masked = (places: readonly number[], staying: readonly number[]) => {
		if (places.length === 0) return;
		lastActed = calls;
		if (selection === "age") for (const place of staying) waste[place] = 0;
	};

	return {
		/** The index of the first candidate (oldest first) that is masked with all after it; their number for none. */
		choose(candidates: readonly number[], mustAct: boolean): number {
			const input = view.total();
			const prefix = view.prefix();
			const isCold = view.isCold();
			const unmasked = costOf({ input, cached: prefix });
			const rawBill = bill.raw + costOf(rawCall());
			const ahead = Math.max(repaidWithin, expectedCalls - calls - 1);
			const most = calls < longCalls ? 1 : 1 + mostAbove;
			const rawLater = rawBill + ahead * read * view.unmasked();
			const reasoningAfter = view.reasoningAfter();
			let best = mustAct ? 0 : candidates.length;
			let bestGain = 0;
			let gone = 0;
			let gains = 0;
			const mayAct = !mustAct && (isCold || calls - lastActed >= callsApart);
			const mayLeaveMore = isCold || callsApart === 0;
			const waiting = candidates.reduce((sum, place) => sum + (saves[place] as number), 0);
			for (let first = candidates.length - 1; first >= 0 && mayAct; first -= 1) {
				const place = candidates[first] as number;
				const message = messages[place] as number;
				gone += saves[place] as number;
				gains += (waste[place] as number) + gainOf(place);
				if (
					gone < leastFreed ||
					(oldestFirst && first > 0) ||
					(first > 0 && messages[candidates[first - 1] as number] === message)
				)
					continue;
				if (!mayLeaveMore && waiting - gone > mostWaiting * gone) continue;
				const same = Math.min(view.before(message), prefix);
				const { all, ofTurn } = reasoningAfter(message);
				const redone = redoneShare * ofTurn;
				const without = { input: input - gone - all, cached: same };
				const lost = output * redone;
				const rewriting = (isCold ? 0 : patience) * (costOf(without) - unmasked) + (isCold ? 1 : patience) * lost;
				const gain = gains + read * foreseen * (all - redone) - rewriting;
				const then = costOf(isCold ? { ...without, cached: 0 } : without) + lost;
				const ownLater = bill.own + then + ahead * read * (without.input + redone);
				if (ownLater > most * rawLater || gain < bestGain) continue;
				best = first;
				bestGain = gain;
			}
			masked(candidates.slice(best), candidates.slice(0, best));
			return best;
		},
		/** Results were masked for another reason than a choice, and these candidates stay. */
		masked,
		called(tokens: CallTokens, carried: readonly number[]): void {
			bill.own += costOf(tokens);
			bill.raw += costOf(rawCall());
			rawCached = view.unmasked();
			calls += 1;
			for (const place of carried) waste[place] = (waste[place] as number) + read * (saves[place] as number);
		},
	};
}

/** The policy's rule for a tool; its name is untrusted. */
export function ruleOf({ tools }: MaskPolicy, toolName = ""): MaskPolicy["tools"][string] | undefined {
	return Object.hasOwn(tools, toolName) ? tools[toolName] : undefined;
}
