import type { MaskPolicy, Prices } from "../policy/schema.ts";
import type { CallTokens, ReplayHistory, View } from "./history.ts";

/** Decides when it pays to mask, and from where on. */
export interface BreakEven {
	/**
	 * Which of the candidates (oldest first) is the first that goes, with all behind it; their number where none does.
	 * All go where it must act.
	 */
	readonly choose: (candidates: readonly number[], mustAct: boolean) => number;
	/** Takes a call up that was made, with the candidates that it still carried. */
	readonly called: (tokens: CallTokens, carried: readonly number[]) => void;
}

/** Share by which the bill may be above that of masking nothing. */
const mostAbove = 0.05;

/** Calls within which a bill above that must be back below. */
const repaidWithin = 2;

/** Calls that a conversation is taken to last at least: what is spent early on is repaid until then. */
const expectedCalls = 20;

/** Calls to come whose waste counts like that of the calls made. */
const foreseenCalls = 8;

/**
 * Starts a rule of the ski-rental kind (rent until the rent paid is what buying costs; Karlin et al., “Competitive
 * snoopy caching”, 1988). Carrying text that may go wastes the price of reading it from the cache at each call.
 * Masking it makes the provider write anew what stands behind it, once. Since all behind the first masked result is
 * written anew anyway, everything that may go there goes with it, and the place to begin is the one that gains most:
 * the waste so far, and that of the next 8 calls, less `patience` times what rewriting costs.
 *
 * It bets only what it can lose: both bills, its own and that of masking nothing, are known at each moment, and it acts
 * only where its own will be back within 1.05 × the other after two more calls (or at the 20th call, if that is later).
 * The bill is exact, and what comes can only be guessed too small: the calls to come add at least what they read.
 */
export function startBreakEven(
	{ results }: ReplayHistory,
	{ view, prices, patience }: { readonly view: View; readonly prices: Prices; readonly patience: number },
): BreakEven {
	const { cache_read: read, cache_write: write } = prices;
	// Every candidate is looked at before each answer: lists of numbers are read much faster than results.
	const saves = Float64Array.from(results, (result) => result.saves);
	const messages = Int32Array.from(results, (result) => result.message);
	/** What carrying each result has cost since it might have gone. */
	const waste = new Float64Array(results.length);
	const bill = { own: 0, raw: 0 };
	let calls = 0;
	let saved = 0;
	/** Tokens that the last call left in the cache of a conversation in which nothing is masked. */
	let rawCached = 0;
	const costOf = ({ input, cached }: CallTokens) => cached * read + (input - cached) * write;
	const rawCall = (input: number): CallTokens => ({ input: input + saved, cached: Math.min(rawCached, input + saved) });

	return {
		choose(candidates, mustAct) {
			const input = view.total();
			const cached = view.cached();
			const now = costOf({ input, cached });
			const rawBill = bill.raw + costOf(rawCall(input));
			const ahead = Math.max(repaidWithin, expectedCalls - calls - 1);
			const rawLater = rawBill + ahead * read * (input + saved);
			let best = mustAct ? 0 : candidates.length;
			let bestGain = 0;
			let gone = 0;
			let wasted = 0;
			for (let first = candidates.length - 1; first >= 0 && !mustAct; first -= 1) {
				const place = candidates[first] as number;
				const message = messages[place] as number;
				gone += saves[place] as number;
				wasted += waste[place] as number;
				if (first > 0 && messages[candidates[first - 1] as number] === message) continue;
				const same = Math.min(view.before(message), cached);
				const then = costOf({ input: input - gone, cached: same });
				const gain = wasted + foreseenCalls * read * gone - patience * (then - now);
				const ownLater = bill.own + then + ahead * read * (input - gone);
				if (ownLater > (1 + mostAbove) * rawLater || gain < bestGain) continue;
				best = first;
				bestGain = gain;
			}
			for (const place of candidates.slice(0, best < candidates.length ? best : 0)) waste[place] = 0;
			for (const place of candidates.slice(best)) saved += saves[place] as number;
			return best;
		},
		called(tokens, carried) {
			bill.own += costOf(tokens);
			bill.raw += costOf(rawCall(tokens.input));
			rawCached = tokens.input + saved;
			calls += 1;
			for (const place of carried) waste[place] = (waste[place] as number) + read * (saves[place] as number);
		},
	};
}

/** What the one knob sets where the policy does not set it itself: tokens kept, and patience. */
const settings: Readonly<Record<MaskPolicy["thrift"], { readonly keepTokens: number; readonly patience: number }>> = {
	low: { keepTokens: 15_000, patience: 4 },
	medium: { keepTokens: 12_000, patience: 3 },
	high: { keepTokens: 5_000, patience: 3 },
};

/** Tokens of results that stay; 0 where all that is older than the window may go. */
export function budgetOfSelection(policy: MaskPolicy): number {
	return policy.keep_tokens ?? (policy.selection === "use" ? settings[policy.thrift].keepTokens : 0);
}

/** Multiple of what rewriting costs at which it pays to act. */
export function patienceOf(policy: MaskPolicy): number {
	return policy.patience ?? (policy.selection === "use" ? settings[policy.thrift].patience : 1);
}

/** The policy's rule for a tool; its name is untrusted. */
export function ruleOf({ tools }: MaskPolicy, toolName = ""): MaskPolicy["tools"][string] | undefined {
	return Object.hasOwn(tools, toolName) ? tools[toolName] : undefined;
}
