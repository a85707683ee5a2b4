import { versionOfName } from "./models.ts";

/** The prices of a model. Factors are multiples of the price of an input token. */
export interface ModelPrices {
	/** The model whose prices these are, such as `claude-opus-5.5`. */
	readonly name: string;
	/** A token read from the provider's prompt cache. */
	readonly read: number;
	/** A token written to it for some minutes. */
	readonly write: number;
	readonly writeForHour: number;
	readonly output: number;
	/** Larger requests cost more, from the lowest up. */
	readonly steps: readonly PriceStep[];
	/** Minutes that an unused prefix stays in the cache, if the request asks for no time. */
	readonly minutes: number;
	/** Whether only the parts that a `cache_control` in the request marks are cached. */
	readonly isAsked: boolean;
	/** US dollars for a million tokens. */
	readonly dollars?: { readonly input: number; readonly output: number };
}

/** All tokens of a request with a larger prompt cost so many times as much. Tokens read and written count. */
export interface PriceStep {
	readonly over: number;
	readonly input: number;
	readonly output: number;
}

/** Finds the prices of a model by its name without the provider. Loads nothing: a status line is drawn after each answer. */
export function pricesInTable(name: string): ModelPrices | undefined {
	for (const { family, pattern, versions } of families) {
		const found = pattern.exec(name);
		if (!found) continue;
		const asked = versionOfName(name.slice(found.index + found[0].length));
		const row = versions.findLast(({ from = 0 }) => asked === undefined || from <= asked) ?? versions[0];
		if (row) return pricesOf(family, row);
	}
	return undefined;
}

interface Row {
	/** Absent: every version. */
	readonly from?: number;
	readonly read: number;
	/** US dollars for a million tokens: input, output. */
	readonly dollars?: readonly [number, number];
	/** Output by input, where the dollars differ by the hour or the provider. */
	readonly output?: number;
	readonly steps?: readonly PriceStep[];
	/** As for Anthropic: 1.25, or 2 for an hour. By default writing costs nothing. */
	readonly writes?: "paid" | "paid_by_minutes";
	readonly minutes?: number;
	readonly isAsked?: true;
}

function pricesOf(family: string, row: Row): ModelPrices {
	const { from, read, dollars, steps = [], writes, minutes = 5, isAsked = false } = row;
	const [input = 1, output = row.output ?? usualOutput] = dollars ?? [];
	return {
		name: family.replace("*", String(from)),
		read,
		write: writes === undefined ? 1 : 1.25,
		writeForHour: writes === undefined ? 1 : writes === "paid" ? 2 : 1.25,
		output: output / input,
		steps,
		minutes,
		isAsked,
		...(dollars && { dollars: { input, output } }),
	};
}

export const usualRead = 0.1;
export const usualOutput = 5;

const claude = { read: usualRead, writes: "paid", isAsked: true } as const;
const over200k: readonly PriceStep[] = [{ over: 200_000, input: 2, output: 1.5 }];
const over272k: readonly PriceStep[] = [{ over: 272_000, input: 2, output: 1.5 }];
const over100k: readonly PriceStep[] = [{ over: 100_000, input: 5, output: 5 }];
/** OpenAI from 5.6 on: a write is billed, and the cache lasts for 30 minutes. */
const openai56 = { read: usualRead, writes: "paid_by_minutes", minutes: 30, steps: over272k } as const;

/**
 * The families that agents ask most; a star is the version. The first pattern that a name matches decides. `docs/tokens.md`
 * has the table with its sources, as of November 2026.
 */
const families: readonly { readonly family: string; readonly pattern: RegExp; readonly versions: readonly Row[] }[] = [
	{
		family: "claude-fable-*",
		pattern: /claude(?=.*fable)/,
		versions: [
			{ ...claude, from: 5, dollars: [10, 50] },
			{ ...claude, from: 5.1, read: 0.025, dollars: [10, 50] },
			{ ...claude, from: 5.2, read: 0.025, dollars: [8, 40] },
		],
	},
	{
		family: "claude-opus-*",
		pattern: /claude(?=.*opus)/,
		versions: [
			{ ...claude, from: 3, dollars: [15, 75] },
			{ ...claude, from: 4.5, dollars: [5, 25] },
			{ ...claude, from: 5.5, read: 0.05, dollars: [4, 20] },
		],
	},
	{
		family: "claude-sonnet-*",
		pattern: /claude(?=.*sonnet)/,
		versions: [
			{ ...claude, from: 3, dollars: [3, 15] },
			{ ...claude, from: 4.5, dollars: [3, 15], steps: over200k },
			{ ...claude, from: 4.6, dollars: [3, 15] },
			{ ...claude, from: 5, dollars: [2, 10] },
			{ ...claude, from: 5.5, read: 0.05, dollars: [2, 10] },
		],
	},
	{
		family: "claude-haiku-*",
		pattern: /claude(?=.*haiku)/,
		versions: [
			{ ...claude, from: 3, dollars: [0.25, 1.25] },
			{ ...claude, from: 3.5, dollars: [0.8, 4] },
			{ ...claude, from: 4.5, dollars: [1, 5] },
			{ ...claude, from: 5.5, dollars: [0.1, 0.5], steps: over100k },
		],
	},
	{ family: "claude", pattern: /claude/, versions: [claude] },
	{ family: "gpt-4o-mini", pattern: /gpt-4o-mini/, versions: [{ read: 0.5, dollars: [0.15, 0.6] }] },
	{ family: "gpt-4o", pattern: /gpt-4o/, versions: [{ read: 0.5, dollars: [2.5, 10] }] },
	{ family: "gpt-4.1-nano", pattern: /gpt-4[.-]1-nano/, versions: [{ read: 0.25, dollars: [0.1, 0.4] }] },
	{ family: "gpt-4.1-mini", pattern: /gpt-4[.-]1-mini/, versions: [{ read: 0.25, dollars: [0.4, 1.6] }] },
	{ family: "gpt-4.1", pattern: /gpt-4[.-]1(?!\d)/, versions: [{ read: 0.25, dollars: [2, 8] }] },
	{ family: "o3-mini", pattern: /^(?:[a-z]+\.)?o[13]-mini/, versions: [{ read: 0.5, dollars: [1.1, 4.4] }] },
	{ family: "o1", pattern: /^(?:[a-z]+\.)?o1(?!-pro)(?![\da-z])/, versions: [{ read: 0.5, dollars: [15, 60] }] },
	{
		family: "o3",
		pattern: /^(?:[a-z]+\.)?o3(?!-(?:pro|deep))(?![\da-z])/,
		versions: [{ read: 0.25, dollars: [2, 8] }],
	},
	{ family: "o4-mini", pattern: /^(?:[a-z]+\.)?o4-mini(?!-deep)/, versions: [{ read: 0.25, dollars: [1.1, 4.4] }] },
	{
		family: "gpt-*-luna",
		pattern: /gpt(?=.*-luna)/,
		versions: [
			{ ...openai56, from: 5.6, dollars: [0.2, 1.2] },
			{ ...openai56, from: 6, dollars: [0.1, 0.5] },
		],
	},
	{ family: "gpt-*-terra", pattern: /gpt(?=.*-terra)/, versions: [{ ...openai56, from: 5.6, dollars: [2, 12] }] },
	{ family: "gpt-*-astra", pattern: /gpt(?=.*-astra)/, versions: [{ ...openai56, from: 6, dollars: [10, 50] }] },
	{
		family: "gpt-*-mini",
		pattern: /gpt(?=-5.*-mini)(?!-5[.-][6-9])/,
		versions: [
			{ from: 5, read: usualRead, dollars: [0.25, 2] },
			{ from: 5.4, read: usualRead, dollars: [0.75, 4.5] },
		],
	},
	{
		family: "gpt-*-nano",
		pattern: /gpt(?=-5.*-nano)(?!-5[.-][6-9])/,
		versions: [
			{ from: 5, read: usualRead, dollars: [0.05, 0.4] },
			{ from: 5.4, read: usualRead, dollars: [0.2, 1.25] },
		],
	},
	{
		family: "gpt-*",
		pattern: /gpt(?=-(?:[5-9]|1\d)(?!\d)(?!.*-pro))/,
		versions: [
			{ from: 5, read: usualRead, dollars: [1.25, 10] },
			{ from: 5.2, read: usualRead, dollars: [1.75, 14] },
			{ from: 5.4, read: usualRead, dollars: [2.5, 15], steps: over272k },
			{ from: 5.5, read: usualRead, dollars: [5, 30], steps: over272k },
			{ ...openai56, from: 5.6, dollars: [4, 20] },
			{ ...openai56, from: 6, dollars: [2, 10] },
		],
	},
	{
		family: "gemini-*-flash-lite",
		pattern: /gemini(?=.*flash-lite)/,
		versions: [
			{ from: 2.5, read: usualRead, dollars: [0.1, 0.4] },
			{ from: 3.1, read: usualRead, dollars: [0.25, 1.5] },
			{ from: 3.5, read: usualRead, dollars: [0.3, 2.5] },
		],
	},
	{
		family: "gemini-*-flash",
		pattern: /gemini(?=.*flash)/,
		versions: [
			{ from: 2.5, read: usualRead, dollars: [0.3, 2.5] },
			{ from: 3, read: usualRead, dollars: [0.5, 3] },
			{ from: 3.5, read: usualRead, dollars: [1.5, 9] },
			{ from: 3.6, read: usualRead, dollars: [1.5, 7.5] },
		],
	},
	{
		family: "gemini-*-pro",
		pattern: /gemini(?=.*pro)/,
		versions: [
			{ from: 2.5, read: usualRead, dollars: [1.25, 10], steps: over200k },
			{ from: 3, read: usualRead, dollars: [2, 12], steps: over200k },
		],
	},
	{
		family: "deepseek-v3",
		pattern: /deepseek(?=-(?:chat|reasoner|v3))/,
		versions: [{ read: usualRead, dollars: [0.28, 0.42] }],
	},
	// Its prices differ by the hour.
	{ family: "deepseek-v4", pattern: /deepseek(?=-v?[4-9])/, versions: [{ read: 0.033, output: 3 }] },
	{
		family: "kimi-k*",
		pattern: /kimi/,
		versions: [
			{ from: 2, read: 0.25, dollars: [0.6, 2.5] },
			{ from: 2.5, read: 1 / 6, dollars: [0.6, 3] },
			{ from: 2.6, read: 0.168, dollars: [0.95, 4] },
			{ from: 2.7, read: 0.2, dollars: [0.95, 4] },
			{ from: 3, read: usualRead, dollars: [3, 15] },
		],
	},
	{ family: "glm-4", pattern: /(?:^|[.-])glm/, versions: [{ read: 0.185, output: 3.5 }] },
];
