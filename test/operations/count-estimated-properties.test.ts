import { fc, test } from "@fast-check/vitest";
import { afterAll, expect } from "vitest";
import { guardConversation } from "../../src/operations/guard.ts";
import { leastOfCases, numberOfCases } from "../support/case-divisor.ts";
import { conversations } from "../support/conversation-arbitrary.ts";
import { policyOf } from "../support/policy-of.ts";

const policy = policyOf({ guard: { reserve_tokens: 0 } });

const seen = { fitting: 0, over: 0, edits: 0, decidedByBand: 0 };

const models = ["claude-sonnet-4-5", "claude-opus-4-8", "gemini-2.5-pro", "llama-3.3-70b", "nobody-1", "gpt-4o"];

test.prop([conversations, fc.constantFrom(...models), fc.integer({ min: 100, max: 8_000 })], {
	numRuns: numberOfCases(300),
})(
	"fits when the upper end of the band fits, and reports the same of the answer",
	async ({ document }, model, contextWindow) => {
		const request = { policy, model, contextWindow };
		const { conversation, report, edits, error } = await guardConversation({ ...request, conversation: document });
		const { tokens, band } = report;
		const budget = report.budget_tokens ?? 0;
		expect(error).toBeUndefined();
		expect(band.low).toBeLessThanOrEqual(tokens.after);
		expect(tokens.after).toBeLessThanOrEqual(band.high);
		expect(report.fits).toBe(band.high <= budget);
		expect(report.shortfall_tokens).toBe(Math.max(0, band.high - budget));
		const again = await guardConversation({ ...request, conversation });
		expect(again.report.tokens.before).toBe(tokens.after);
		if (edits.length === 0) expect(again.report.band).toEqual(band);
		seen[report.fits ? "fitting" : "over"] += 1;
		seen.edits += edits.length;
		if (report.fits || band.high <= tokens.after) return;
		// No less can be sent, and it fits by the count alone.
		const between = await guardConversation({ ...request, conversation: document, contextWindow: band.high - 1 });
		expect(between.report.tokens.after).toBeLessThanOrEqual(band.high - 1);
		expect(between.report.fits).toBe(between.report.band.high < band.high);
		if (!between.report.fits) seen.decidedByBand += 1;
	},
);

afterAll(() => {
	expect(seen.fitting).toBeGreaterThan(leastOfCases(50));
	expect(seen.over).toBeGreaterThan(leastOfCases(10));
	expect(seen.edits).toBeGreaterThan(leastOfCases(500));
	expect(seen.decidedByBand).toBeGreaterThan(leastOfCases(10));
});
