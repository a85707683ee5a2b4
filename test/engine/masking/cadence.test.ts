import { fc } from "@fast-check/vitest";
import { expect, it } from "vitest";
import { ruleOf, startBreakEven } from "../../../src/engine/masking/cadence.ts";
import type { CallTokens, ReplayHistory, View } from "../../../src/engine/masking/history.ts";
import { numberOfCases } from "../../support/case-divisor.ts";
import { policyOf } from "../../support/policy-of.ts";

/** One LLM call: the context before it, and the results that may be masked. */
interface Step {
	readonly total: number;
	readonly prefix: number;
	readonly isCold: boolean;
	readonly mustAct: boolean;
	/** For each result, whether it is a candidate here. */
	readonly offered: readonly boolean[];
}

interface Scenario {
	readonly selection: "age" | "use";
	readonly read: number;
	readonly write: number;
	/** Each with the tokens that it saves, the tokens before its message, and what masking it gains. */
	readonly results: readonly { readonly saves: number; readonly message: number; readonly gain: number }[];
	readonly steps: readonly Step[];
}

/** Tokens between two messages. */
const messageTokens = 700;

/** The choices of the rule, by its definition: everything is added up anew at each call. */
function plainChoices({ selection, read, write, results, steps }: Scenario): number[][] {
	const isByUse = selection === "use";
	const patience = 4;
	const costOf = ({ input, cached }: CallTokens) => cached * read + (input - cached) * write;
	const masked = new Set<number>();
	/** Calls that carried each result since it last counted anew. */
	const carried = results.map(() => 0);
	const past: { readonly own: CallTokens; readonly raw: CallTokens }[] = [];
	let lastAct = Number.NEGATIVE_INFINITY;
	const tokensOf = (places: readonly number[]) => places.reduce((sum, place) => sum + (results[place]?.saves ?? 0), 0);
	const sum = (calls: readonly CallTokens[]) => calls.reduce((total, call) => total + costOf(call), 0);
	const rawCall = (input: number, isCold: boolean): CallTokens => {
		const whole = input + tokensOf([...masked]);
		return { input: whole, cached: isCold ? 0 : Math.min(past.at(-1)?.raw.input ?? 0, whole) };
	};
	return steps.map(({ total, prefix, isCold, mustAct, offered }, index) => {
		const candidates = results.flatMap((_, place) => (offered[place] && !masked.has(place) ? [place] : []));
		const left = Math.max(2, 19 - index);
		const rawBill = sum(past.map(({ raw }) => raw)) + costOf(rawCall(total, isCold));
		const rawLater = rawBill + left * read * (total + tokensOf([...masked]));
		const ways = candidates.flatMap((first, at) => {
			const { message = 0 } = results[first] ?? {};
			if (at > 0 && results[candidates[at - 1] ?? 0]?.message === message) return [];
			const going = candidates.slice(at);
			const gone = tokensOf(going);
			const kept = Math.min(message * messageTokens, prefix);
			const rewriting = costOf({ input: total - gone, cached: kept }) - costOf({ input: total, cached: prefix });
			const wasted = going.reduce((all, place) => {
				const { saves = 0, gain = 0 } = results[place] ?? {};
				return all + (carried[place] ?? 0) * read * saves + gain;
			}, 0);
			const gain = wasted - (isCold ? 0 : (isByUse ? patience : 1) * rewriting);
			const now = costOf({ input: total - gone, cached: isCold ? 0 : kept });
			const ownLater = sum(past.map(({ own }) => own)) + now + left * read * (total - gone);
			const isRepaid = ownLater <= (index < 40 ? 1 : 1.05) * rawLater;
			const isMinor = tokensOf(candidates) > 4 * gone;
			if (isMinor && !isCold && isByUse) return [];
			return gain >= 0 && isRepaid && gone >= (isByUse ? 2_000 : 0) ? [{ going, gain }] : [];
		});
		const most = Math.max(...ways.map(({ gain }) => gain));
		const mayAct = isCold || index - lastAct >= (isByUse ? 10 : 0);
		// Of equal gains, that which masks more.
		const best = mustAct ? candidates : mayAct ? (ways.find(({ gain }) => gain === most)?.going ?? []) : [];
		for (const place of best) masked.add(place);
		const stay = candidates.filter((place) => !masked.has(place));
		if (best.length > 0) lastAct = index;
		if (best.length > 0 && !isByUse) for (const place of stay) carried[place] = 0;
		for (const place of stay) carried[place] = (carried[place] ?? 0) + 1;
		const input = total - tokensOf(best);
		past.push({ own: { input, cached: isCold ? 0 : Math.min(prefix, input) }, raw: rawCall(input, isCold) });
		return best;
	});
}

function choices({ selection, read, write, results, steps }: Scenario): number[][] {
	let step = steps[0] as Step;
	let saved = 0;
	const view = {
		saves: Float64Array.from(results, (result) => result.saves),
		total: () => step.total,
		prefix: () => step.prefix,
		isCold: () => step.isCold,
		before: (message: number) => message * messageTokens,
		unmasked: () => step.total + saved,
		reasoningAfter: () => () => ({ all: 0, ofTurn: 0 }),
	} as unknown as View;
	const rule = startBreakEven({ results } as unknown as ReplayHistory, {
		view,
		prices: { ...policyOf({}).prices, cache_read: read, cache_write: write },
		selection,
		gainOf: (place) => results[place]?.gain ?? 0,
	});
	const masked = new Set<number>();
	return steps.map((next) => {
		step = next;
		const candidates = results.flatMap((_, place) => (step.offered[place] && !masked.has(place) ? [place] : []));
		const first = rule.choose(candidates, step.mustAct);
		const going = candidates.slice(first);
		for (const place of going) masked.add(place);
		const gone = going.reduce((sum, place) => sum + (results[place]?.saves ?? 0), 0);
		const input = step.total - gone;
		const cached = step.isCold ? 0 : Math.min(step.prefix, input);
		rule.called({ input, cached }, candidates.slice(0, first));
		saved += gone;
		return going;
	});
}

// Prices without rounding, so that the order of sums does not matter.
const scenarios: fc.Arbitrary<Scenario> = fc.integer({ min: 1, max: 7 }).chain((count) =>
	fc.record({
		selection: fc.constantFrom("age", "use"),
		read: fc.constantFrom(0.125, 0.25, 1),
		write: fc.constantFrom(0.5, 1, 1.25),
		results: fc
			.array(
				fc.record({
					saves: fc.constantFrom(0, 100, 900, 1_000, 2_000, 6_000),
					further: fc.integer({ min: 0, max: 3 }),
					// Less than nothing for a tool whose results always go.
					gain: fc.constantFrom(0, 0, 500, 4_000, -3_000),
				}),
				{ minLength: count, maxLength: count },
			)
			.map((all) => {
				let message = 0;
				return all.map(({ saves, further, gain }) => {
					message += further;
					return { saves, message, gain };
				});
			}),
		steps: fc.array(
			fc
				.record({
					total: fc.integer({ min: 20_000, max: 60_000 }),
					missing: fc.constantFrom(0, 300, 3_000, 60_000),
					isCold: fc.integer({ min: 0, max: 9 }).map((number) => number === 0),
					mustAct: fc.integer({ min: 0, max: 30 }).map((number) => number === 0),
					offered: fc.array(
						fc.integer({ min: 0, max: 3 }).map((number) => number > 0),
						{
							minLength: count,
							maxLength: count,
						},
					),
				})
				.map(({ missing, ...step }) => ({ ...step, prefix: step.isCold ? 0 : Math.max(0, step.total - missing) })),
			{ minLength: 1, maxLength: 40 },
		),
	}),
);

it("masks at break-even as a plain search over all earlier calls says", () => {
	const seen = { acted: 0, waited: 0 };
	fc.assert(
		fc.property(scenarios, (scenario) => {
			const expected = plainChoices(scenario);
			expect(choices(scenario)).toEqual(expected);
			for (const { length } of expected) seen[length > 0 ? "acted" : "waited"] += 1;
		}),
		{ numRuns: numberOfCases(3_000) },
	);
	expect(seen.acted).toBeGreaterThan(numberOfCases(2_000));
	expect(seen.waited).toBeGreaterThan(numberOfCases(2_000));
});

it("finds the rule of a tool by its own name alone", () => {
	const mask = policyOf({ mask: { tools: { read: "never" } } }).mask;
	expect([ruleOf(mask, "read"), ruleOf(mask, "constructor"), ruleOf(mask)]).toEqual(["never", undefined, undefined]);
});
