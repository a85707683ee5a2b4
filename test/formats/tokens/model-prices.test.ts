import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { describe, expect, it } from "vitest";
import { openCatalogue, pricesOfModel } from "../../../src/formats/tokens/model-prices.ts";
import { type ModelPrices, tableDate, tableRows } from "../../../src/formats/tokens/price-table.ts";

/** Name, read, write, write for an hour, minutes in the cache, steps, dollars of input and output. */
const none: readonly string[] = [];
const haiku = ["100000: 5, 5"];
const openai = ["272000: 2, 1.5"];
const gemini = ["200000: 2, 1.5"];

describe("the prices of a model", () => {
	it.each([
		["claude-fable-5-2", 0.025, 1.25, 2, 5, none, 8, 40],
		["claude-fable-5-1", 0.025, 1.25, 2, 5, none, 10, 50],
		["claude-fable-5", 0.1, 1.25, 2, 5, none, 10, 50],
		["claude-opus-5-5", 0.05, 1.25, 2, 5, none, 4, 20],
		["claude-opus-5", 0.1, 1.25, 2, 5, none, 5, 25],
		["claude-opus-4-8", 0.1, 1.25, 2, 5, none, 5, 25],
		["claude-opus-4-5-20251101", 0.1, 1.25, 2, 5, none, 5, 25],
		["claude-opus-4-1", 0.1, 1.25, 2, 5, none, 15, 75],
		["claude-sonnet-5-5", 0.05, 1.25, 2, 5, none, 2, 10],
		["claude-sonnet-5", 0.1, 1.25, 2, 5, none, 2, 10],
		["claude-sonnet-4-6", 0.1, 1.25, 2, 5, none, 3, 15],
		["claude-haiku-5-5", 0.1, 1.25, 2, 5, haiku, 0.1, 0.5],
		["claude-haiku-4-5", 0.1, 1.25, 2, 5, none, 1, 5],
		["claude-3-5-haiku-latest", 0.1, 1.25, 2, 5, none, 0.8, 4],
		["gpt-6-sol", 0.1, 1.25, 1.25, 30, openai, 2, 10],
		["gpt-6.2-sol", 0.05, 1.25, 1.25, 30, openai, 2, 10],
		["gpt-6-astra", 0.1, 1.25, 1.25, 30, openai, 10, 50],
		["gpt-6.2-astra", 0.05, 1.25, 1.25, 30, openai, 8, 40],
		["gpt-6.1-terra", 0.05, 1.25, 1.25, 30, openai, 1, 5],
		["gpt-6-luna", 0.1, 1.25, 1.25, 30, openai, 0.1, 0.5],
		["gemini-4-carbon", 0.05, 1, 1, 5, none, 2, 10],
		["gemini-4-hydrogen", 0.05, 1, 1, 5, none, 1.5, 7.5],
		["gemini-4-neon", 0.05, 1, 1, 5, none, 3, 15],
		["deepseek-flash", 0.02, 1, 1, 5, none, 0.15, 0.6],
		["gpt-5.6-sol", 0.1, 1.25, 1.25, 30, openai, 4, 20],
		["gpt-5.6-luna", 0.1, 1.25, 1.25, 30, openai, 0.2, 1.2],
		["gpt-5.5", 0.1, 1, 1, 5, openai, 5, 30],
		["gpt-5.4-mini", 0.1, 1, 1, 5, none, 0.75, 4.5],
		["gpt-5", 0.1, 1, 1, 5, none, 1.25, 10],
		["gpt-5.1-codex-mini", 0.1, 1, 1, 5, none, 0.25, 2],
		["gpt-4o", 0.5, 1, 1, 5, none, 2.5, 10],
		["gpt-4o-mini", 0.5, 1, 1, 5, none, 0.15, 0.6],
		["gpt-4.1", 0.25, 1, 1, 5, none, 2, 8],
		["gpt-4.1-mini", 0.25, 1, 1, 5, none, 0.4, 1.6],
		["o3", 0.25, 1, 1, 5, none, 2, 8],
		["o4-mini", 0.25, 1, 1, 5, none, 1.1, 4.4],
		["o3-mini", 0.5, 1, 1, 5, none, 1.1, 4.4],
		["gemini-3.1-pro-preview", 0.1, 1, 1, 5, gemini, 2, 12],
		["gemini-2.5-pro", 0.1, 1, 1, 5, gemini, 1.25, 10],
		["gemini-3.5-flash", 0.1, 1, 1, 5, none, 1.5, 9],
		["deepseek-chat", 0.1, 1, 1, 5, none, 0.28, 0.42],
		["kimi-k2-0905-preview", 0.25, 1, 1, 5, none, 0.6, 2.5],
	] as const)("are those of its maker: %s", (model, read, write, hour, minutes, steps, input, output) => {
		const prices = pricesOfModel(model) as ModelPrices;
		const found = [prices.read, prices.write, prices.writeForHour, prices.minutes];
		expect(found).toEqual([read, write, hour, minutes]);
		expect(prices.steps.map((step) => `${step.over}: ${step.input}, ${step.output}`)).toEqual(steps);
		expect(prices.dollars).toEqual({ input, output });
		expect(prices.output).toBeCloseTo(output / input, 9);
	});

	it.each([
		["anthropic/claude-opus-5.5", "claude-opus-5.5"],
		["openrouter/anthropic/claude-opus-5.5:beta", "claude-opus-5.5"],
		["us.anthropic.claude-haiku-5-5-v1:0", "claude-haiku-5.5"],
		["global.anthropic.claude-haiku-5-5-20261015-v1:0", "claude-haiku-5.5"],
		["arn:aws:bedrock:us-east-1:1:inference-profile/us.anthropic.claude-haiku-5-5-v1:0", "claude-haiku-5.5"],
		["claude-opus-5-5@20261101", "claude-opus-5.5"],
		["publishers/anthropic/models/claude-opus-5-5@default", "claude-opus-5.5"],
		["claude-opus-5-5-20261101", "claude-opus-5.5"],
		["claude-opus-5-5[1m]", "claude-opus-5.5"],
		["claude-opus-5-5@20261101[1m]", "claude-opus-5.5"],
		["Claude-Opus-5.5 ", "claude-opus-5.5"],
		["opus[1m]", "claude-opus-5.5"],
		["claude-opus-latest", "claude-opus-5.5"],
		["claude-3-5-sonnet-v2@20241022", "claude-sonnet-3"],
		["openai/gpt-5.6-sol-2026-08-21", "gpt-5.6"],
		["ft:gpt-4o:acme::id", "gpt-4o"],
		["gpt-4o-2024-08-06", "gpt-4o"],
		["chatgpt-4o-latest", "gpt-4o"],
		["google/gemini-3.1-pro-preview-customtools", "gemini-3-pro"],
		["models/gemini-2.5-flash-lite", "gemini-2.5-flash-lite"],
		["moonshotai/Kimi-K2.5", "kimi-k2.5"],
		["z-ai/glm-4.6", "glm-4"],
	])("are found by the name of a router, of Bedrock or Vertex, and with a date: %s", (model, name) => {
		expect(pricesOfModel(model)?.name).toBe(name);
	});

	it.each([
		["claude-opus-6", "claude-opus-5.5"],
		["claude-haiku-6-1", "claude-haiku-5.5"],
		["claude-sonnet-2", "claude-sonnet-3"],
		["claude-mythos-5-2", "claude-mythos-5.1"],
		["gpt-7", "gpt-6.1"],
		["gpt-5.6-mini", "gpt-5.6"],
		["gemini-4-pro", "gemini-3-pro"],
	])("of a version that is not known are multiples of the latest one before it, without dollars: %s", (model, name) => {
		expect(pricesOfModel(model)).toMatchObject({ name });
		expect(pricesOfModel(model)?.dollars).toBeUndefined();
	});

	it.each([
		["claude-opus-5-4", "claude-opus-4.8"],
		["gpt-5.7-luna", "gpt-5.6-luna"],
	])("of a version between two of the table are those of the earlier one: %s", (model, name) => {
		expect(pricesOfModel(model)).toMatchObject({ name, dollars: {} });
	});

	it.each(["", " ", "a-model-of-ours", "gpt-35-turbo-of-ours", "o30", "[1m]", "/"])("are unknown for %j", (model) => {
		expect(pricesOfModel(model)).toBeUndefined();
	});

	it("have no dollars for a variant that is free", () => {
		const { dollars: _, ...factors } = pricesOfModel("deepseek/deepseek-chat-v3.1") as ModelPrices;
		expect(pricesOfModel("deepseek/deepseek-chat-v3.1:free")).toEqual(factors);
	});

	it("are those of the catalogue for other models, once it is open", async () => {
		expect(pricesOfModel("grok-4.5")).toBeUndefined();
		await openCatalogue();
		const step = { over: 199_999, input: 2, output: 2 };
		expect(pricesOfModel("grok-4.5")).toMatchObject({ read: 0.15, write: 1, output: 3, steps: [step] });
		expect(pricesOfModel("openrouter/x-ai/grok-4.5")).toMatchObject({
			steps: [step],
			dollars: { input: 2, output: 6 },
		});
		expect(pricesOfModel("us.amazon.nova-pro-v1:0")).toMatchObject({ read: 0.25, steps: [] });
		// Without a price of reads.
		expect(pricesOfModel("gpt-oss-120b")).toMatchObject({ read: 0.1, write: 1, writeForHour: 1 });
		expect(pricesOfModel("a-model-of-ours")).toBeUndefined();
		expect(pricesOfModel("claude-opus-5-5")?.name).toBe("claude-opus-5.5");
	});

	it.each([
		["gpt-6.2-sol", { input: 2, output: 10 }],
		["gemini-3.1-pro-preview", { input: 2, output: 12 }],
		["gemini-2.0-flash", { input: 0.1, output: 0.4 }],
		["kimi-k2-thinking-turbo", { input: 1.15, output: 8 }],
		["gpt-5-codex", { input: 1.25, output: 10 }],
		["gpt-6-mini", undefined],
		["gpt-6-astra-pro", undefined],
		["gemini-4-carbon-image", undefined],
		["deepseek-v5", undefined],
		["deepseek-v4.2-flash", undefined],
		["chatgpt-4o-latest", undefined],
		["ft:gpt-4o:acme::id", undefined],
		["openai/ft:gpt-4o:acme::id", undefined],
	])("have the dollars of the very model, or none: %s", async (model, dollars) => {
		await openCatalogue();
		expect(pricesOfModel(model)?.dollars).toEqual(dollars);
	});

	it.each(["claude-opus-99", "claude-haiku-42", "gpt-99", "gpt-99-luna", "gemini-77-pro", "kimi-k99", "deepseek-v99"])(
		"are unknown for a version that no maker is near: %s",
		async (model) => {
			await openCatalogue();
			expect(pricesOfModel(model)).toBeUndefined();
		},
	);

	it.each([
		["gemini-4-carbon", "2026-11-30T23:59:59Z", 2, 10],
		["models/gemini-4-carbon", "2026-12-01T00:00:00Z", 4, 20],
		["deepseek-flash", "2026-11-27T00:59:00Z", 0.15, 0.6],
		["deepseek-v4-flash", "2026-11-27T01:00:00Z", 0.3, 1.2],
		["deepseek/deepseek-v4.1-flash", "2026-11-27T03:59:00Z", 0.3, 1.2],
		["deepseek-flash", "2026-11-27T04:00:00Z", 0.15, 0.6],
		["deepseek-v4-pro", "2026-11-27T09:59:00Z", 1.32, 3.96],
		["deepseek-flash", "2026-11-28T07:00:00Z", 0.15, 0.6],
		["deepseek-flash", "2026-11-29T07:00:00Z", 0.15, 0.6],
	])("have a date and an hour: %s at %s", (model, at, input, output) => {
		expect(pricesOfModel(model, Date.parse(at))?.dollars).toEqual({ input, output });
	});

	it("of Sonnet 5.5 have another read price from 7 October 2026 on", () => {
		const readAt = (at: string) => pricesOfModel("claude-sonnet-5-5", Date.parse(at))?.read;
		expect([readAt("2026-10-06T12:00:00Z"), readAt("2026-10-07T12:00:00Z")]).toEqual([0.1, 0.05]);
	});

	it("name the page and the day of each row", () => {
		for (const { row } of tableRows()) {
			expect(row.source.page).not.toBe("");
			expect(Date.parse(row.source.read)).toBeLessThanOrEqual(tableDate);
		}
	});

	it("are found at once, for as many names as come", () => {
		for (let number = 0; number < 2_000; number += 1) pricesOfModel(`a-model-of-ours-${number}`);
		expect(pricesOfModel("claude".repeat(100_000))).toBeUndefined();
	});
});

describe("the page of prices", () => {
	const page = readFileSync(resolve(import.meta.dirname, "../../../docs/tokens.md"), "utf8");
	const [, prices = ""] = page.split("\n## Prices\n");
	const rows = (prices.match(/^\| `.*\|$/gm) ?? []).map((line) =>
		line
			.slice(1, -1)
			.split("|")
			.map((cell) => cell.trim()),
	);

	const names = rows.map(([name = ""]) => name.slice(1, -1));

	const models = names.map((model) => pricesOfModel(model) as ModelPrices);

	it("has the prices of each model in its row", () => {
		const found = models.map(({ name, dollars, read, steps }) => [
			`\`${name}\``,
			dollars ? `${dollars.input}/${dollars.output}` : "",
			String(Math.round(read * 1_000) / 1_000),
			steps.map(({ over, input, output }) => `${over.toLocaleString("en")}: ${input}/${output}`).join(),
		]);
		expect(rows.length).toBeGreaterThan(20);
		expect(rows).toEqual(found);
	});

	it("says what a write costs, and for how long a prefix stays", () => {
		const unlike = models.filter(({ name, write, writeForHour, minutes }) => {
			const isPaid = name.startsWith("claude") || minutes === 30;
			const isLate = /^gpt-(?:5\.[6-9]|[6-9])/.test(name);
			const hour = name.startsWith("claude") ? 2 : write;
			return write !== (isPaid ? 1.25 : 1) || writeForHour !== hour || minutes !== (isLate ? 30 : 5);
		});
		expect(unlike.map(({ name }) => name)).toEqual([]);
	});

	it("says what a tier and a region cost", () => {
		const unlike = models.filter(({ name, tiers: { batch = 0.5, flex = 0.5, priority, fast }, regional }) => {
			const isOfOpenai = /^(?:gpt|o\d)/.test(name);
			const isPriority = priority === undefined || (isOfOpenai ? priority > 1.6 && priority <= 2.5 : priority === 1.8);
			const isFast = fast === undefined || (isOfOpenai ? fast === priority : fast === (name.endsWith("4.6") ? 6 : 2));
			return batch !== 0.5 || flex !== 0.5 || !isPriority || !isFast || ![1, 1.1].includes(regional);
		});
		expect(unlike.map(({ name }) => name)).toEqual([]);
	});

	const versions = Array.from({ length: 90 }, (_, index) => String((index + 10) / 10));
	const asked = names.flatMap((name) => versions.map((version) => name.replace(/\d+(?:\.\d+)?/, version)));
	// Before a test opens the catalogue, which has other models.
	const found = new Set(asked.flatMap((model) => pricesOfModel(model)?.name ?? []));

	it("has a row for each version of its models", () => {
		expect([...found].filter((name) => !names.includes(name))).toEqual([]);
		expect(names.filter((name) => !found.has(name))).toEqual([]);
	});
});
