import { fc, test } from "@fast-check/vitest";
import { afterAll, expect } from "vitest";
import { cleanValue } from "../../src/engine/masking/placeholder.ts";
import { loadCounter } from "../../src/formats/tokens/counter.ts";
import { reportContext } from "../../src/operations/report.ts";
import { leastOfCases, numberOfCases } from "../support/case-divisor.ts";
import { conversations } from "../support/conversation-arbitrary.ts";
import { deepFreeze } from "../support/deep-freeze.ts";
import { sumTokens } from "../support/independent-tokens.ts";
import { callerOf, readRaw, textParts } from "../support/raw-conversation.ts";

const countTokens = await loadCounter("o200k_base");

const met = { results: 0, named: 0, mixed: 0, reports: 0 };

const sum = (numbers: readonly number[]) => numbers.reduce((all, one) => all + one, 0);

test.prop([conversations], { numRuns: numberOfCases(150) })(
	"a report gives the same figures as adding up the JSON of any conversation",
	async ({ document: given, format }) => {
		// A model would scale the counts, and add what its provider does.
		const document = deepFreeze(Array.isArray(given) ? given : { ...(given as object), model: undefined });
		const report = await reportContext({ conversation: document, layers: [] });
		const total = sumTokens(document, format, 4, countTokens);
		expect(report.tokens).toBe(total);
		expect(sum(report.by_role.map(({ tokens }) => tokens))).toBe(total);

		const messages = readRaw(document, format);
		expect(report.messages).toBe(messages.length);
		expect(sum(report.by_role.map((one) => one.messages))).toBe(messages.length);
		const isTurn = ({ role, calls }: (typeof messages)[number]) =>
			role === "assistant" && calls.some(({ id }) => id !== undefined);
		expect(report.tool_turns).toBe(messages.filter(isTurn).length);

		const results = messages.flatMap((message) =>
			message.results.map((result) => {
				const caller = callerOf(messages, message.index, result.id);
				const call = caller === undefined ? undefined : messages[caller]?.calls.findLast(({ id }) => id === result.id);
				const texts = typeof result.content === "string" ? [result.content] : (textParts(result.content) ?? []);
				return {
					...result,
					message: message.index,
					name: cleanValue(call?.name ?? "") || null,
					isText: typeof result.content === "string" || textParts(result.content) !== undefined,
					tokens: sum(texts.map(countTokens)),
				};
			}),
		);
		expect(sum(report.by_tool.map((one) => one.results))).toBe(results.length);
		for (const { tool, tokens, results: count } of report.by_tool) {
			const own = results.filter(({ name }) => name === tool);
			expect(own.length).toBe(count);
			if (own.every(({ isText }) => isText)) expect([tool, tokens]).toEqual([tool, sum(own.map((one) => one.tokens))]);
			met.named += tool === null ? 0 : 1;
		}
		expect(report.biggest_results.length).toBe(Math.min(10, results.length));
		for (const { call_id, message, tokens, age_turns, tool } of report.biggest_results) {
			const same = results.filter(
				(one) => one.message === message && (one.id ?? null) === call_id && one.name === tool,
			);
			expect(same.length).toBeGreaterThan(0);
			if (same.every(({ isText }) => isText)) expect(same.map((one) => one.tokens)).toContain(tokens);
			expect(age_turns).toBe(messages.filter((one) => one.index > message && isTurn(one)).length);
		}
		const texts = results.filter(({ isText }) => isText).map(({ tokens }) => tokens);
		const least = report.biggest_results.at(-1)?.tokens ?? 0;
		expect(texts.filter((tokens) => tokens > least).length).toBeLessThanOrEqual(10);

		for (const one of report.presets) expect(one.freed_tokens).toBe(total - one.tokens_after);
		met.results += results.length;
		met.mixed += messages.some((one) => one.results.length > 0 && one.role === "user") ? 1 : 0;
		met.reports += 1;
	},
);

afterAll(() => {
	expect(met.reports).toBe(numberOfCases(150));
	expect(met.results).toBeGreaterThan(leastOfCases(700));
	expect(met.named).toBeGreaterThan(leastOfCases(150));
	expect(met.mixed).toBeGreaterThan(leastOfCases(30));
});

test.prop([fc.array(fc.nat(300), { minLength: 1, maxLength: 12 }), fc.double({ min: 0.6, max: 2.5, noNaN: true })], {
	numRuns: numberOfCases(100),
})("scaled parts add up to the scaled total, and are off by at most one each", async (sizes, given) => {
	const turns = sizes.flatMap((words, index) => [
		{ role: "assistant", tool_calls: [{ id: `${index}`, function: { name: `t${index}`, arguments: "{}" } }] },
		{ role: "tool", tool_call_id: `${index}`, content: "word ".repeat(words) },
	]);
	const request = [{ role: "user", content: "Go." }, ...turns];
	const conversation = [...request, { role: "assistant", content: "Done." }];
	const [sent, exact] = await Promise.all(
		[request, conversation].map((one) => reportContext({ conversation: one, layers: [] })),
	);
	if (!sent || !exact) throw new Error("Expected two reports.");
	const fixed = 4 * sent.messages;
	const input_tokens = Math.round(fixed + given * (sent.tokens - fixed));
	const factor = Math.round(((input_tokens - fixed) / (sent.tokens - fixed)) * 1_000) / 1_000;
	const report = await reportContext({ conversation, layers: [], usage: { input_tokens } });
	expect(report.method).toBe("calibrated");
	expect(sum(report.by_role.map(({ tokens }) => tokens))).toBe(report.tokens);
	const unscaled = new Map(exact.by_tool.map(({ tool, tokens }) => [tool, tokens]));
	expect(report.by_tool).toHaveLength(sizes.length);
	for (const { tool, tokens } of report.by_tool) {
		expect(Math.abs(tokens - (unscaled.get(tool) ?? Number.NaN) * factor)).toBeLessThanOrEqual(1);
	}
});
