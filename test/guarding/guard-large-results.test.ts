import { describe, expect, it } from "vitest";
import { guardConversation } from "../../src/operations/guard.ts";
import { policyOf } from "../support/policy-of.ts";
import { openaiMessages, toolTurn, user } from "../support/script.ts";

const policy = policyOf({ preset: "balanced", locale: "en" });
const log = (lines: number, name: string) =>
	Array.from(
		{ length: lines },
		(_, index) => `const ${name}${index} = compute(${index * 7}, "value of ${name} ${index}");`,
	).join("\n");

/** Older turns with small results, and one large result that is recent. */
const messages = openaiMessages(
	user("Fix the task."),
	...Array.from({ length: 12 }, (_, index) => toolTurn(`c${index}`, log(12, `small${index}_`))),
	toolTurn("large", log(900, "large")),
	user("Go on."),
);

const guard = (contextWindow: number) =>
	guardConversation({ conversation: messages, policy, contextWindow, reserveTokens: 0 });

describe("a large recent result", () => {
	it.each([4_000, 5_000, 6_500])(
		"does not push out everything older in a window of %i tokens",
		async (contextWindow) => {
			const { conversation, report } = await guard(contextWindow);
			expect(report.fits).toBe(true);
			expect(report.tokens.after).toBeGreaterThan(contextWindow / 2);
			expect((conversation as readonly unknown[]).length).toBe(messages.length);
			expect(report.steps.map(({ step }) => step)).not.toContain("drop");
		},
	);

	it("is cut no further than the policy says if that suffices", async () => {
		const { conversation } = await guard(9_000);
		const large = (conversation as readonly { content: unknown }[]).at(-2)?.content;
		expect(String(large).length).toBeGreaterThan(15_000);
	});
});
