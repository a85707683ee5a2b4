import { describe, expect, it } from "vitest";
import { compact } from "../../src/library.ts";

/** Messages of few words: much of their room is the delimiters, which no model scales. */
const messages = [
	{ role: "user", content: "The task." },
	...Array.from({ length: 20 }, () => [
		{ role: "assistant", content: "ok" },
		{ role: "user", content: "yes" },
	]).flat(),
];

describe("a summary of many short messages", () => {
	it.each(["claude-opus-4-5", "claude-opus-4-7", "gemini-2.5-pro", "gpt-5"])(
		"is never longer for %s",
		async (model) => {
			let summarised = 0;
			for (let words = 5; words < 320; words += 9) {
				const given = { strategy: "llm-summary" as const, force: true, contextWindow: 9_000, model };
				const outcome = await compact(messages, { ...given, summary: "word ".repeat(words) }).catch(() => undefined);
				if (!outcome) continue;
				summarised += 1;
				expect(outcome.report.tokens.after).toBeLessThanOrEqual(outcome.report.tokens.before);
			}
			expect(summarised).toBeGreaterThan(2);
		},
	);
});
