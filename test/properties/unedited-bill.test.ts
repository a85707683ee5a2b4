import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { cacheTerms } from "../../src/proxy/billing/terms.ts";
import { billUnedited, type RequestParts, type SizedPart, tokensOf } from "../../src/proxy/billing/unedited-bill.ts";
import { numberOfCases } from "../support/case-divisor.ts";
import { policyOf } from "../support/policy-of.ts";

const messages = [{ content: [{ type: "text", text: "a", cache_control: { type: "ephemeral" } }] }];
const { prices } = policyOf();

/** One turn: the size of its result, and what happens before its request. */
const turn = fc.record({
	tokens: fc.integer({ min: 200, max: 9_000 }),
	masks: fc.integer({ min: 0, max: 9 }).map((number) => number === 0),
	/** The provider's cache expires, is lost by accident, or a new proxy goes on. */
	event: fc.constantFrom("expires", "lost", "resumed", ...new Array<"none">(30).fill("none")),
});

const session = fc.record({
	turns: fc.array(turn, { minLength: 10, maxLength: 60 }),
	/** Tokens of the provider for each of ours. */
	scale: fc.double({ min: 0.7, max: 1.9, noNaN: true }),
	model: fc.constantFrom("claude-fable-5-2", "claude-opus-5", "claude-haiku-5-5"),
});

type Session = typeof session extends fc.Arbitrary<infer One> ? One : never;

/** Tokens that a provider reads: those of the whole messages at the start that it has. */
function commonTokens(parts: readonly SizedPart[], before: readonly SizedPart[]): number {
	let tokens = 0;
	for (const [index, part] of parts.entries()) {
		if (part.key !== before[index]?.key) break;
		tokens += part.tokens;
	}
	return tokens;
}

/** What both sessions bill at a provider that caches whole messages, and what the ledger says that the unedited one would. */
function play({ turns, scale, model }: Session) {
	const terms = cacheTerms({ model, messages }, "anthropic", prices);
	const priceOf = (parts: readonly SizedPart[], read: number) => {
		const whole = tokensOf(parts) * scale;
		const factor = terms.prices.steps.find(({ over }) => whole > over)?.input ?? 1;
		return (read * scale * terms.reads + (whole - read * scale) * terms.prices.cache_write) * factor;
	};
	const unedited: SizedPart[] = [{ key: "prompt", tokens: 3_000 }];
	let masked = 0;
	let atProvider: RequestParts = { unedited: [], sent: [] };
	let known: RequestParts | undefined;
	let [honest, claimed] = [0, 0];
	for (const [number, { tokens, masks, event: drawn }] of turns.entries()) {
		// Where an edit and a loss coincide, no usage tells them apart: the bill supposes no loss, and claims less.
		const event = masks && drawn === "lost" ? "none" : drawn;
		unedited.push({ key: `call ${number}`, tokens: 100 }, { key: `result ${number}`, tokens });
		// A new proxy sends what was sent before.
		if (masks && event !== "resumed") masked = Math.max(masked, number - 2);
		const sent = unedited.map((part, at) =>
			at > 0 && at % 2 === 0 && at / 2 <= masked ? { key: `masked ${part.key}`, tokens: 100 } : part,
		);
		const parts = { unedited: [...unedited], sent };
		const isGone = event === "expires" || event === "lost";
		const [came, read] = isGone
			? [0, 0]
			: [commonTokens(parts.unedited, atProvider.unedited), commonTokens(sent, atProvider.sent)];
		const usage = { input: 0, cacheRead: read * scale, cacheWrite: (tokensOf(sent) - read) * scale, output: 0 };
		const isCold = event === "expires";
		honest += priceOf(parts.unedited, came);
		const before = event === "resumed" ? undefined : known;
		const bill = billUnedited({ parts, before, usage, scale, terms, isCold });
		expect(bill.isUnexplained).toBe(false);
		claimed += bill.billed;
		[atProvider, known] = [parts, parts];
	}
	return claimed / honest;
}

describe("the unedited bill of random sessions", () => {
	it("equals the bill of a provider that expires, loses and resumes", () => {
		let sessions = 0;
		fc.assert(
			fc.property(session, (one) => {
				sessions += 1;
				const ratio = play(one);
				expect(ratio).toBeGreaterThan(0.9);
				expect(ratio).toBeLessThan(1.1);
			}),
			{ numRuns: numberOfCases(500) },
		);
		expect(sessions).toBeGreaterThanOrEqual(numberOfCases(500));
	});
});
