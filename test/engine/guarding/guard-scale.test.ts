import { fc, test } from "@fast-check/vitest";
import { expect } from "vitest";
import { measure, scaleTokens } from "../../../src/engine/conversation/measure.ts";
import { planGuard } from "../../../src/engine/guarding/guard.ts";
import { wordings } from "../../../src/engine/policy/wordings.ts";
import { policyOf } from "../../support/policy-of.ts";
import { roughCount } from "../../support/rough-count.ts";
import { messageOf, transcriptOf } from "../../support/transcripts.ts";

const policy = policyOf({ guard: { ladder: ["drop"], pin_task: false } });

const meter = { countTokens: roughCount, messageOverhead: 4 };

const messages = fc.array(
	fc
		.record({ length: fc.integer({ min: 1, max: 400 }), mediaTokens: fc.constantFrom(0, 0, 85) })
		.map(({ length, mediaTokens }) => messageOf({ role: "user", counted: ["x".repeat(length)], mediaTokens })),
	{ minLength: 2, maxLength: 30 },
);

const scales = fc.constantFrom(
	{ low: 1, factor: 1, high: 1 },
	{ low: 1.05, factor: 1.56, high: 1.95 },
	{ low: 0.75, factor: 1, high: 1.01 },
);

let dropped = 0;

test.prop([messages, scales, fc.integer({ min: 1, max: 3_000 })], { numRuns: 500 })(
	"drops until the upper end fits, and no more messages than necessary",
	(all, scale, budget) => {
		const transcript = transcriptOf(...all);
		const { plan, fits, tokensAfter } = planGuard({
			transcript,
			policy,
			budget,
			meter,
			scale,
			wording: wordings(policy),
			isPlaceholder: () => false,
		});
		const left = (count: number) => scaleTokens(measure(transcriptOf(...all.slice(count)), meter).total, scale);
		const { high, tokens } = left(plan.length);
		expect({ fits, tokensAfter }).toEqual({ fits: high <= budget, tokensAfter: tokens });
		if (!fits) expect(plan.length).toBe(all.length - 1);
		if (plan.length > 0) expect(left(plan.length - 1).high).toBeGreaterThan(budget);
		dropped += plan.length;
	},
);

test("messages were dropped in that property", () => {
	expect(dropped).toBeGreaterThan(500);
});
