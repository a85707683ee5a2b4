import { describe, expect, it } from "vitest";
import { loadCounter } from "../../src/formats/tokens/counter.ts";
import { modelFamilies } from "../../src/formats/tokens/models.ts";
import { guardConversation } from "../../src/operations/guard.ts";
import { maskConversation } from "../../src/operations/mask.ts";
import { truncateText } from "../../src/operations/truncate.ts";
import { policyOf } from "../support/policy-of.ts";
import { outputOf, textOfLength } from "../support/sample-text.ts";
import { openaiMessages, toolTurn, user } from "../support/script.ts";

const countTokens = await loadCounter("o200k_base");

const policy = policyOf({ guard: { reserve_tokens: 0 } });

const messages = openaiMessages(
	user("Go."),
	...Array.from({ length: 12 }, (_, index) => toolTurn(`call_${index}`, outputOf(`${index}`), "cat")),
);

const guardFor = (model: string | undefined, contextWindow = 1_000_000) =>
	guardConversation({ conversation: messages, policy, model, contextWindow });

const { report: exact } = await guardFor(undefined);

const texts = exact.tokens.after - messages.length * policy.tokens.message_overhead;

const overhead = exact.tokens.after - texts;

describe("a model without a public tokenizer", () => {
	it.each([
		["claude-sonnet-4-5", "claude"],
		["claude-opus-4-8", "claude-4.7"],
		["gemini-2.5-pro", "gemini"],
		["grok-4", "unmeasured"],
	] as const)("%s: scales texts, but not delimiters", async (model, family) => {
		const { low, factor, high } = modelFamilies[family].scale;
		const { report } = await guardFor(model);
		expect(report).toMatchObject({ encoding: "o200k_base", method: "estimated", factor, notes: [] });
		expect(report.tokens.after).toBe(Math.round(texts * factor) + overhead);
		expect(report.band).toEqual({
			low: Math.floor(texts * low) + overhead,
			high: Math.ceil(texts * high) + overhead,
		});
	});

	it("an exact count has no band", async () => {
		for (const model of [undefined, "gpt-4o"]) {
			const { report } = await guardFor(model);
			expect(report).toMatchObject({ method: "exact", factor: 1, tokens: exact.tokens });
			expect(report.band).toEqual({ low: exact.tokens.after, high: exact.tokens.after });
		}
	});

	it("an encoding set by the policy is exact for any model", async () => {
		const named = policyOf({ guard: { reserve_tokens: 0 }, tokens: { encoding: "o200k_base" } });
		const request = { conversation: messages, policy: named, model: "claude-sonnet-4-5", contextWindow: 1_000_000 };
		const { report } = await guardConversation(request);
		expect(report).toMatchObject({ method: "exact", factor: 1, tokens: exact.tokens });
	});

	it("an unknown model is estimated with a note by every tool", async () => {
		const body = { model: "nobody-1", messages };
		const note = expect.stringContaining("The tokenizer of this model is unknown");
		expect((await guardFor("nobody-1")).report).toMatchObject({ method: "estimated", notes: [note] });
		const masked = await maskConversation({ conversation: body, policy });
		expect(masked.report).toMatchObject({ method: "estimated", notes: [note] });
		const { low, high } = masked.report.band;
		expect(low).toBeLessThan(masked.report.tokens.after);
		expect(high).toBeGreaterThan(masked.report.tokens.after);
	});

	it("sizes of edits, steps and the largest messages use the model too", async () => {
		const { factor } = modelFamilies.claude.scale;
		const { edits, report } = await guardFor("claude-sonnet-4-5", 2_000);
		expect(edits.length).toBeGreaterThan(3);
		for (const { reason, before, message = 0 } of edits) {
			if (reason !== "mask") continue;
			expect(before.tokens).toBe(Math.round(countTokens(messages[message]?.content as string) * factor));
			expect(Object.keys(before)).toEqual(["chars", "tokens"]);
		}
		expect(report.steps.at(-1)?.tokens_after).toBe(report.tokens.after);
		const [largest] = report.largest;
		const counted = countTokens(messages[largest?.message ?? 0]?.content as string);
		expect(largest?.tokens).toBe(Math.round(counted * factor) + policy.tokens.message_overhead);
	});

	it("a window between estimate and upper end does not fit at first", async () => {
		const { report: free } = await guardFor("claude-sonnet-4-5");
		const between = Math.round((free.tokens.after + free.band.high) / 2);
		const { report, edits } = await guardFor("claude-sonnet-4-5", between);
		expect(edits.length).toBeGreaterThan(0);
		expect(report.fits).toBe(true);
		expect(report.band.high).toBeLessThanOrEqual(between);
		expect((await guardFor("claude-sonnet-4-5", free.band.high)).edits).toEqual([]);
	});

	it("truncation reports how it counted", async () => {
		const text = textOfLength(60_000);
		const cut = await truncateText({ text, policy: policyOf({ guard: { model: "claude-opus-4-8" } }) });
		expect(cut.report).toMatchObject({ method: "estimated", encoding: "o200k_base", factor: 1.56 });
		expect(cut.report.tokens.before).toBe(Math.round(countTokens(text) * 1.56));
		expect(cut.report.band.high).toBe(Math.ceil(countTokens(cut.text) * 1.95));
	});
});
