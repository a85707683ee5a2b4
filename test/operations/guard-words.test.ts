import { expect, it } from "vitest";
import { loadCounter } from "../../src/formats/tokens/counter.ts";
import { guardConversation } from "../../src/operations/guard.ts";
import { sumTokens } from "../support/independent-tokens.ts";
import { policyOf } from "../support/policy-of.ts";
import { brokenPromises } from "../support/promise-checker.ts";

const countTokens = await loadCounter("o200k_base");
const policy = policyOf({ preset: "balanced", locale: "en" });
const remarks = Array.from({ length: 60 }, (_, index) => [
	{ role: "user", content: `remark number ${index}: please change item ${index} to value ${index * 7}` },
	{ role: "assistant", content: `answer ${index}: ${"word ".repeat(40)}` },
]).flat();

it.each([150, 300, 600, 1_500])("people's many words fit a window of %i tokens", async (contextWindow) => {
	const before = [{ role: "user", content: "start the task" }, ...remarks, { role: "user", content: "go on" }];
	const { conversation, edits, report } = await guardConversation({
		conversation: before,
		policy,
		contextWindow,
		reserveTokens: 0,
	});
	expect(report.fits).toBe(true);
	const text = JSON.stringify(conversation);
	expect(text).toContain("start the task");
	expect(text).toContain("go on");
	// As many of the newest remarks as fit.
	expect(report.tokens.after).toBeGreaterThan(contextWindow * 0.6);
	expect(text).toContain("remark number 59");
	// What is left out is counted at a mark.
	const format = "openai-chat";
	const tokens = sumTokens(conversation, format, policy.tokens.message_overhead, countTokens);
	const roomForWords = (more: number) => tokens + more <= contextWindow;
	const checked = { format, before, after: conversation, edits, countTokens, keepsWords: true, roomForWords } as const;
	expect(brokenPromises(checked)).toEqual([]);
});

it("says that words were cut", async () => {
	const given = { conversation: remarks, policy, reserveTokens: 0 };
	const [small, large] = [300, 100_000].map((contextWindow) => guardConversation({ ...given, contextWindow }));
	expect((await small)?.report.notes.join()).toContain("some of their messages were cut");
	expect((await large)?.report.notes.join()).not.toContain("some of their messages were cut");
});
