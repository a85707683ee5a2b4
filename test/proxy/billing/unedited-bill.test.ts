import { describe, expect, it } from "vitest";
import { cacheTerms } from "../../../src/proxy/billing/terms.ts";
import { billUnedited, estimatedBill, type SizedPart } from "../../../src/proxy/billing/unedited-bill.ts";
import type { Usage } from "../../../src/proxy/billing/usage.ts";
import { policyOf } from "../../support/policy-of.ts";

const { prices } = policyOf();
const messages = [{ content: [{ type: "text", text: "a", cache_control: { type: "ephemeral" } }] }];
const termsOf = (model: string) => cacheTerms({ model, messages }, "anthropic", prices);
const terms = termsOf("claude-opus-5");

/** A conversation of results of 10 000 tokens, of which the first ones are masked and 100 tokens long. */
function partsOf(results: number, masked: number, prompt = "prompt") {
	const unedited: SizedPart[] = [{ key: prompt, tokens: 2_000 }];
	for (let result = 0; result < results; result += 1) {
		unedited.push({ key: `call ${result}`, tokens: 100 }, { key: `result ${result}`, tokens: 10_000 });
	}
	const sent = unedited.map((part, at) =>
		at > 0 && at % 2 === 0 && at / 2 <= masked ? { key: `masked ${part.key}`, tokens: 100 } : part,
	);
	return { unedited, sent };
}

const usageOf = (cacheRead: number, cacheWrite: number): Usage => ({ input: 0, cacheRead, cacheWrite, output: 0 });

type BilledRequest = Parameters<typeof billUnedited>[0];

function bill(request: Partial<BilledRequest> & Pick<BilledRequest, "parts">) {
	return billUnedited({ before: undefined, usage: undefined, scale: 1, terms, isCold: false, ...request });
}

const whole = (results: number) => 2_000 + results * 10_100;

describe("the unedited bill of a request", () => {
	it("reads the earlier messages, also where an edit has broken the cache of the sent request", () => {
		const request = { parts: partsOf(8, 5), before: partsOf(7, 0), usage: usageOf(2_100, 8 * 200 + 20_000) };
		expect(bill(request).billed).toBeCloseTo(whole(7) * 0.1 + 10_100 * 1.25, 6);
		expect(bill(request)).toMatchObject({ repeated: 2_100, isUnexplained: false });
	});

	it("reads the messages that the provider read in their edited form, in the first request of a resumed session", () => {
		const sent = 2_000 + 5 * 200 + 3 * 10_100;
		const usage = usageOf(sent - 10_100, 10_100);
		expect(bill({ parts: partsOf(8, 5), usage }).billed).toBeCloseTo(whole(7) * 0.1 + 10_100 * 1.25, 6);
	});

	it("reads nothing in the first request of a session with an expired cache", () => {
		const sent = 2_000 + 5 * 200 + 3 * 10_100;
		expect(bill({ parts: partsOf(8, 5), usage: usageOf(0, sent) }).billed).toBeCloseTo(whole(8) * 1.25, 6);
		// The tools and the system prompt of another session.
		const shared = bill({ parts: partsOf(8, 5), usage: usageOf(2_000, sent - 2_000) });
		expect(shared.billed).toBeCloseTo(2_000 * 0.1 + (whole(8) - 2_000) * 1.25, 6);
	});

	it("reads all but the last turn in a first request whose read ends at an edited result", () => {
		const usage = usageOf(2_000 + 3 * 200 + 100, 40_000);
		expect(bill({ parts: partsOf(8, 5), usage }).billed).toBeCloseTo(whole(7) * 0.1 + 10_100 * 1.25, 6);
	});

	it("reads nothing after the cache has expired, except what the provider read anyway", () => {
		const request = { parts: partsOf(8, 5), before: partsOf(7, 5), isCold: true };
		const sent = 2_000 + 5 * 200 + 3 * 10_100;
		expect(bill({ ...request, usage: usageOf(0, sent) })).toMatchObject({ billed: whole(8) * 1.25, repeated: 0 });
		const outlived = bill({ ...request, usage: usageOf(sent - 10_100, 10_100) });
		expect(outlived.billed).toBeCloseTo(whole(7) * 0.1 + 10_100 * 1.25, 6);
	});

	it("loses repeated messages that the provider has lost", () => {
		const sent = 2_000 + 5 * 200 + 3 * 10_100;
		const request = { parts: partsOf(8, 5), before: partsOf(7, 5), usage: usageOf(0, sent) };
		expect(bill(request)).toMatchObject({ billed: whole(8) * 1.25, repeated: sent - 10_100, isUnexplained: false });
	});

	it("bills the part that is not read as the sent request did", () => {
		const request = { parts: partsOf(8, 5), before: partsOf(7, 5) };
		const usage = { input: 5_050, cacheRead: 2_000 + 5 * 200 + 2 * 10_100, cacheWrite: 5_050, output: 0 };
		expect(bill({ ...request, usage }).billed).toBeCloseTo(whole(7) * 0.1 + 5_050 + 5_050 * 1.25, 6);
	});

	it("is in tokens of the provider", () => {
		const usage = usageOf(2 * (2_000 + 5 * 200 + 2 * 10_100), 2 * 10_100);
		const request = { parts: partsOf(8, 5), before: partsOf(7, 5), scale: 2 };
		expect(bill({ ...request, usage }).billed).toBeCloseTo(2 * (whole(7) * 0.1 + 10_100 * 1.25), 6);
	});

	it("is multiplied over a price step, also where the sent request stays below it", () => {
		const usage = usageOf(2_000 + 10 * 200 + 10_100, 10_100);
		const request = { parts: partsOf(12, 10), before: partsOf(11, 10), usage, terms: termsOf("claude-haiku-5-5") };
		expect(bill(request).billed).toBeCloseTo(5 * (whole(11) * 0.1 + 10_100 * 1.25), 6);
	});

	it("is unknown where the provider reads a part that seems to differ", () => {
		const sent = 2_000 + 5 * 200 + 3 * 10_100;
		const request = { parts: partsOf(8, 5, "today"), before: partsOf(7, 5, "yesterday") };
		expect(bill({ ...request, usage: usageOf(sent - 10_100, 10_100) }).isUnexplained).toBe(true);
		// The host has changed its system prompt, as the provider confirms.
		expect(bill({ ...request, usage: usageOf(0, sent) })).toMatchObject({
			billed: whole(8) * 1.25,
			isUnexplained: false,
		});
		expect(bill(request).isUnexplained).toBe(true);
		expect(bill({ ...request, isCold: true }).isUnexplained).toBe(false);
		expect(bill({ parts: request.parts }).isUnexplained).toBe(false);
	});

	it("is explained after the host has gone back to an earlier message", () => {
		const usage = usageOf(2_000 + 3 * 200, 0);
		expect(bill({ parts: partsOf(3, 3), before: partsOf(8, 5), usage }).isUnexplained).toBe(false);
	});
});

it("the bill of a request without a reported usage reads everything that was sent before", () => {
	const request = { parts: partsOf(8, 5), before: partsOf(7, 5), scale: 1, terms, isCold: false };
	const again = 2_000 + 5 * 200 + 2 * 10_100;
	expect(estimatedBill(request)).toBeCloseTo(again * 0.1 + 10_100 * 1.25, 6);
	expect(estimatedBill({ ...request, isCold: true })).toBeCloseTo((again + 10_100) * 1.25, 6);
	const first = { ...request, before: undefined };
	expect(estimatedBill(first)).toBeCloseTo((again + 10_100) * 1.25, 6);
	// Another process has sent all but the last turn.
	expect(estimatedBill({ ...first, isResumed: true })).toBeCloseTo(again * 0.1 + 10_100 * 1.25, 6);
});
