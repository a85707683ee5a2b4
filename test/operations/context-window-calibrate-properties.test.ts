import { fc, test } from "@fast-check/vitest";
import { afterAll, expect } from "vitest";
import { guardConversation } from "../../src/operations/guard.ts";
import { leastOfCases, numberOfCases } from "../support/case-divisor.ts";
import { conversations } from "../support/conversation-arbitrary.ts";
import { policyOf } from "../support/policy-of.ts";

const policy = policyOf({ guard: { reserve_tokens: 0 } });

const seen = { calibrated: 0, aside: 0, edits: 0 };

test.prop([conversations, fc.integer({ min: 0, max: 20_000 }), fc.integer({ min: 500, max: 8_000 })], {
	numRuns: numberOfCases(200),
})(
	"any number keeps low ≤ tokens ≤ high, and the upper end decides",
	async ({ document }, input_tokens, contextWindow) => {
		const request = { conversation: document, policy, contextWindow, usage: { input_tokens } };
		const { report: told, edits, error } = await guardConversation(request);
		expect(error).toBeUndefined();
		expect(told.band.low).toBeLessThanOrEqual(told.tokens.after);
		expect(told.tokens.after).toBeLessThanOrEqual(told.band.high);
		expect(told.fits).toBe(told.band.high <= (told.budget_tokens ?? 0));
		seen[told.method === "calibrated" ? "calibrated" : "aside"] += 1;
		seen.edits += edits.length;
	},
);

afterAll(() => {
	expect(seen.calibrated).toBeGreaterThan(leastOfCases(40));
	expect(seen.aside).toBeGreaterThan(leastOfCases(10));
	expect(seen.edits).toBeGreaterThan(leastOfCases(200));
});
