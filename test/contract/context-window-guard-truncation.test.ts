import { describe, expect, it } from "vitest";
import { guardConversation } from "../../src/operations/guard.ts";
import { truncateText } from "../../src/operations/truncate.ts";
import { policyOf } from "../support/policy-of.ts";
import { resultContents } from "../support/raw-conversation.ts";
import { textOfLength } from "../support/sample-text.ts";
import { openaiMessages, toolTurn, user } from "../support/script.ts";

const policy = policyOf({ preset: "context-guard" });

async function truncated(text: string): Promise<string> {
	return (await truncateText({ text, policy })).text;
}

async function guarded(text: string): Promise<unknown> {
	const conversation = openaiMessages(user("Read it."), toolTurn("call_1", text));
	const outcome = await guardConversation({ conversation, policy, contextWindow: 1_000_000 });
	return resultContents(outcome.conversation)[0];
}

describe.each([
	["truncate_output", truncated],
	["guard_context", guarded],
])("Large outputs in %s (docs/strategies.md#truncation)", (_, cut) => {
	it("leaves a short text unchanged", async () => {
		expect(await cut("short")).toBe("short");
	});

	it("keeps the first and the last 2 000 characters", async () => {
		const text = textOfLength(123_456);
		const result = String(await cut(text));
		expect(result.startsWith(text.slice(0, 2_000))).toBe(true);
		expect(result.endsWith(text.slice(-2_000))).toBe(true);
	});

	it("the marker says how much is missing (docs/strategies.md#truncation-marker)", async () => {
		const text = textOfLength(123_456);
		const marker = "\n\n... [119456 characters truncated] ...\n\n";
		expect(await cut(text)).toBe(text.slice(0, 2_000) + marker + text.slice(-2_000));
	});

	it("leaves a text at the limit unchanged", async () => {
		const text = textOfLength(50_000);
		expect(await cut(text)).toBe(text);
	});

	it("cuts a text one character over the limit", async () => {
		const text = textOfLength(50_001);
		expect(await cut(text)).toBe(
			`${text.slice(0, 2_000)}\n\n... [46001 characters truncated] ...\n\n${text.slice(-2_000)}`,
		);
	});

	it("never splits a character", async () => {
		const text = `${"a".repeat(1_999)}${"🦊".repeat(40_000)}b`;
		const result = String(await cut(text));
		expect(result.isWellFormed()).toBe(true);
		expect(result.length).toBeLessThan(text.length);
	});

	it("cutting twice equals cutting once", async () => {
		const once = String(await cut(textOfLength(60_000)));
		expect(await cut(once)).toBe(once);
	});
});

describe("truncate_output", () => {
	it.each([0, 1, 10])("max_chars %i: cuts every text over it, with a marker", async (maxChars) => {
		const whole = await truncateText({ text: textOfLength(maxChars), policy, maxChars });
		expect(whole.report.truncated).toBe(false);
		for (const length of [maxChars + 1, maxChars + 20, maxChars + 60]) {
			const cut = truncateText({ text: textOfLength(length), policy, maxChars });
			await expect(cut).rejects.toMatchObject({
				code: "invalid_argument",
				message: expect.stringMatching(/smallest that works here is \d+/),
			});
		}
	});

	it.each([50, 500, 3_999, 4_000, 4_030])("max_chars %i: never longer than before", async (maxChars) => {
		for (const length of [maxChars, maxChars + 1, maxChars + 20, maxChars + 60]) {
			const { text, report } = await truncateText({ text: textOfLength(length), policy, maxChars });
			expect(text.length).toBeLessThanOrEqual(length);
			expect(report.truncated).toBe(length > maxChars);
			expect(report.chars).toEqual({ before: length, after: text.length });
		}
	});

	it("reports which part it omitted", async () => {
		const original = textOfLength(70_000);
		const { text, report } = await truncateText({ text: original, policy });
		expect(report.omitted).toEqual({ start: 2_000, end: 68_000 });
		expect(report.omitted_chars).toBe(66_000);
		expect(text).not.toContain(original.slice(2_000, 2_050));
	});

	it("logs a cut text but no complete one", async () => {
		const messages: string[] = [];
		const log = (event: { message: string }) => messages.push(event.message);
		await truncateText({ text: "short", policy, log });
		const { text } = await truncateText({ text: textOfLength(60_000), policy, log });
		expect(messages).toEqual([`Truncated a text (60000 → ${text.length} chars)`]);
	});

	it.each([[-1], [1.5], [Number.NaN]])("refuses max_chars %d", async (maxChars) => {
		await expect(truncateText({ text: "", policy, maxChars })).rejects.toThrow(
			/Expected `max_chars` to be a whole number/,
		);
	});
});
