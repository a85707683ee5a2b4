import { isTooNew, namesOtherTier, versionOfName } from "./models.ts";

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
	/** US dollars for a million tokens at the time that was asked for. */
	readonly dollars?: { readonly input: number; readonly output: number };
	/** The multiples of the dollars for an answer that says it was served so, such as `flex`. Others are unknown. */
	readonly tiers: Tiers;
	/** The multiple of the dollars in a region or a group of regions of Bedrock or Vertex, and for `inference_geo: "us"`. */
	readonly regional: number;
	/** The name is of another version or tier than those of the table: its dollars are not known from here. */
	readonly isOfRelative?: true;
}

type Tiers = Readonly<Record<string, number>>;

/** All tokens of a request with a larger prompt cost so many times as much. Tokens read and written count. */
export interface PriceStep {
	readonly over: number;
	readonly input: number;
	readonly output: number;
}

/** When the pages of prices were read for the last time. */
export const tableDate = Date.UTC(2026, 10, 28);

/**
 * Finds the prices of a model by its name without the provider, at a time in ms since 1970. Loads nothing: a status line is drawn after
 * each answer.
 */
export function pricesInTable(name: string, at = tableDate): ModelPrices | undefined {
	for (const { family, pattern, versions, upTo } of families) {
		const found = pattern.exec(name);
		if (!found) continue;
		const rest = name.slice(found.index + found[0].length);
		const asked = versionOfName(rest);
		const known = versions.map(({ from = Number.POSITIVE_INFINITY }) => from);
		const newest = upTo ?? Math.max(...known);
		if (isTooNew(asked, newest)) return undefined;
		const inForce = versions.filter(({ since = 0 }) => since <= at);
		const row = inForce.findLast(({ from = 0 }) => asked === undefined || from <= asked) ?? inForce[0];
		if (!row) continue;
		const isListed = asked === undefined || (asked <= newest && asked >= (row.from ?? 0));
		// `chatgpt-4o` is not `gpt-4o`.
		const isWhole = !/[a-z]$/.test(name.slice(0, found.index)) && !namesOtherTier(rest, family);
		return { ...pricesOf(family, row, at), ...(isListed && isWhole ? {} : { isOfRelative: true }) };
	}
	return undefined;
}

interface Family {
	readonly family: string;
	readonly pattern: RegExp;
	readonly versions: readonly Row[];
	/** The newest version that a page of prices names, if it has the prices of the last row and a number of its own. */
	readonly upTo?: number;
}

interface Row {
	/** Absent: every version. */
	readonly from?: number;
	/** In ms since 1970, for a price that begins later than that of the row before it. */
	readonly since?: number;
	readonly read: number;
	/** US dollars for a million tokens: input, output. */
	readonly dollars?: readonly [number, number];
	/** Output by input, where the dollars differ by the provider. */
	readonly output?: number;
	readonly steps?: readonly PriceStep[];
	/** As for Anthropic: 1.25, or 2 for an hour. By default writing costs nothing. */
	readonly writes?: "paid" | "paid_by_minutes";
	readonly minutes?: number;
	readonly isAsked?: true;
	readonly tiers?: Tiers;
	readonly regional?: number;
	/** Hours of the day (UTC, Monday to Friday) with another multiple of the dollars. */
	readonly peak?: { readonly hours: readonly (readonly [from: number, to: number])[]; readonly factor: number };
	readonly source: Source;
}

/** A page of prices, and the day on which it was read. */
interface Source {
	readonly page: string;
	readonly read: string;
}

function pricesOf(family: string, row: Row, at: number): ModelPrices {
	const { from, read, dollars, steps = [], writes, minutes = 5, isAsked = false, tiers = {}, regional = 1 } = row;
	const [input = 1, output = row.output ?? usualOutput] = dollars ?? [];
	const factor = peakFactor(row, at);
	return {
		name: family.replace("*", String(from)),
		read,
		write: writes === undefined ? 1 : 1.25,
		writeForHour: writes === undefined ? 1 : writes === "paid" ? 2 : 1.25,
		output: output / input,
		steps,
		minutes,
		isAsked,
		...(dollars && { dollars: { input: input * factor, output: output * factor } }),
		tiers,
		regional,
	};
}

function peakFactor({ peak }: Row, at: number): number {
	const date = new Date(at);
	const isWorkday = date.getUTCDay() % 6 !== 0;
	const isPeak = peak?.hours.some(([from, to]) => date.getUTCHours() >= from && date.getUTCHours() < to);
	return peak && isWorkday && isPeak ? peak.factor : 1;
}

/** All rows with their sources, for checks. */
export function tableRows(): readonly { readonly family: string; readonly row: Row }[] {
	return families.flatMap(({ family, versions }) => versions.map((row) => ({ family, row })));
}

export const usualRead = 0.1;
export const usualOutput = 5;

const readOn = (page: string): Source => ({ page, read: "2026-11-28" });
const anthropic = readOn("Pricing, Fast mode, Data residency (platform.claude.com)");
const openai = readOn("Pricing, Priority processing (developers.openai.com)");
const google = readOn("Gemini Developer API pricing (ai.google.dev)");
const deepseek = readOn("Models & Pricing (api-docs.deepseek.com)");
const catalogue = readOn("@pydantic/genai-prices 0.1.8");

/** Priority Tier has prices that are agreed on, so it is not here. */
const claude = { read: usualRead, writes: "paid", isAsked: true, tiers: { batch: 0.5 }, source: anthropic } as const;
/** From 4.5 on a region of Bedrock or Vertex costs a tenth more, and from 4.6 on `inference_geo: "us"`. */
const claude45 = { ...claude, regional: 1.1 } as const;
const withFast = (fast: number) => ({ ...claude45, tiers: { batch: 0.5, fast } }) as const;
const over200k: readonly PriceStep[] = [{ over: 200_000, input: 2, output: 1.5 }];
const over272k: readonly PriceStep[] = [{ over: 272_000, input: 2, output: 1.5 }];
const over100k: readonly PriceStep[] = [{ over: 100_000, input: 5, output: 5 }];
const ofOpenai = (read: number, priority?: number) =>
	({ read, tiers: { flex: 0.5, batch: 0.5, ...(priority && { priority, fast: priority }) }, source: openai }) as const;
const gpt5 = ofOpenai(usualRead, 2);
/** OpenAI from 5.6 on: a write is billed, and the cache lasts for 30 minutes. */
const gpt56 = { ...gpt5, writes: "paid_by_minutes", minutes: 30, steps: over272k } as const;
const gemini = { read: usualRead, tiers: { flex: 0.5, batch: 0.5, priority: 1.8 }, source: google } as const;
const gemini4 = { ...gemini, read: 0.05 } as const;
/** Not on public holidays of China, which this table does not have. */
const ofDeepseek = {
	peak: {
		hours: [
			[1, 4],
			[6, 10],
		],
		factor: 2,
	},
	source: deepseek,
} as const;

/**
 * The families that agents ask most; a star is the version. The first pattern that a name matches decides. `docs/tokens.md` shows the
 * table.
 */
const families: readonly Family[] = [
	{
		family: "claude-fable-*",
		pattern: /claude(?=.*fable)/,
		versions: [
			{ ...claude45, from: 5, dollars: [10, 50] },
			{ ...claude45, from: 5.1, read: 0.025, dollars: [10, 50] },
			{ ...withFast(2), from: 5.2, read: 0.025, dollars: [8, 40] },
		],
	},
	{
		family: "claude-mythos-*",
		pattern: /claude(?=.*mythos)/,
		versions: [
			{ ...claude45, from: 5, dollars: [10, 50] },
			{ ...claude45, from: 5.1, read: 0.025, dollars: [10, 50] },
		],
	},
	{
		family: "claude-opus-*",
		pattern: /claude(?=.*opus)/,
		versions: [
			{ ...claude, from: 3, dollars: [15, 75] },
			{ ...claude45, from: 4.5, dollars: [5, 25] },
			{ ...withFast(6), from: 4.6, dollars: [5, 25] },
			{ ...withFast(2), from: 4.8, dollars: [5, 25] },
			{ ...withFast(2), from: 5.5, read: 0.05, dollars: [4, 20] },
		],
	},
	{
		family: "claude-sonnet-*",
		pattern: /claude(?=.*sonnet)/,
		versions: [
			{ ...claude, from: 3, dollars: [3, 15] },
			{ ...claude45, from: 4.5, dollars: [3, 15], steps: over200k },
			{ ...claude45, from: 4.6, dollars: [3, 15] },
			{ ...claude45, from: 5, dollars: [2, 10] },
			{ ...claude45, from: 5.5, dollars: [2, 10] },
			{ ...claude45, from: 5.5, since: Date.UTC(2026, 9, 7), read: 0.05, dollars: [2, 10] },
		],
	},
	{
		family: "claude-haiku-*",
		pattern: /claude(?=.*haiku)/,
		versions: [
			{ ...claude, from: 3, dollars: [0.25, 1.25] },
			{ ...claude, from: 3.5, dollars: [0.8, 4] },
			{ ...claude45, from: 4.5, dollars: [1, 5] },
			{ ...claude45, from: 5.5, dollars: [0.1, 0.5], steps: over100k },
		],
	},
	{ family: "claude", pattern: /claude/, versions: [claude] },
	{ family: "gpt-4o-mini", pattern: /gpt-4o-mini/, versions: [{ ...ofOpenai(0.5, 5 / 3), dollars: [0.15, 0.6] }] },
	{ family: "gpt-4o", pattern: /gpt-4o/, versions: [{ ...ofOpenai(0.5, 1.7), dollars: [2.5, 10] }] },
	{ family: "gpt-4.1-nano", pattern: /gpt-4[.-]1-nano/, versions: [{ ...ofOpenai(0.25, 2), dollars: [0.1, 0.4] }] },
	{
		family: "gpt-4.1-mini",
		pattern: /gpt-4[.-]1-mini/,
		versions: [{ ...ofOpenai(0.25, 1.75), dollars: [0.4, 1.6] }],
	},
	{ family: "gpt-4.1", pattern: /gpt-4[.-]1(?!\d)/, versions: [{ ...ofOpenai(0.25, 1.75), dollars: [2, 8] }] },
	{
		family: "o3-mini",
		pattern: /^(?:[a-z]+\.)?o[13]-mini/,
		versions: [{ ...ofOpenai(0.5), dollars: [1.1, 4.4] }],
	},
	{
		family: "o1",
		pattern: /^(?:[a-z]+\.)?o1(?!-pro)(?![\da-z])/,
		versions: [{ ...ofOpenai(0.5), dollars: [15, 60] }],
	},
	{
		family: "o3",
		pattern: /^(?:[a-z]+\.)?o3(?!-(?:pro|deep))(?![\da-z])/,
		versions: [{ ...ofOpenai(0.25, 1.75), dollars: [2, 8] }],
	},
	{
		family: "o4-mini",
		pattern: /^(?:[a-z]+\.)?o4-mini(?!-deep)/,
		versions: [{ ...ofOpenai(0.25, 20 / 11), dollars: [1.1, 4.4] }],
	},
	{
		family: "gpt-*-luna",
		pattern: /gpt(?=.*-luna)/,
		versions: [
			{ ...gpt56, from: 5.6, dollars: [0.2, 1.2] },
			{ ...gpt56, from: 6, dollars: [0.1, 0.5] },
		],
	},
	{
		family: "gpt-*-terra",
		pattern: /gpt(?=.*-terra)/,
		versions: [
			{ ...gpt56, from: 5.6, dollars: [2, 12] },
			{ ...gpt56, from: 6.1, read: 0.05, dollars: [1, 5] },
		],
	},
	{
		family: "gpt-*-astra",
		pattern: /gpt(?=.*-astra)/,
		versions: [
			{ ...gpt56, from: 6, dollars: [10, 50] },
			{ ...gpt56, from: 6.2, read: 0.05, dollars: [8, 40] },
		],
	},
	{
		family: "gpt-*-mini",
		pattern: /gpt(?=-5.*-mini)(?!-5[.-][6-9])/,
		versions: [
			{ ...ofOpenai(usualRead, 1.8), from: 5, dollars: [0.25, 2] },
			{ ...gpt5, from: 5.4, dollars: [0.75, 4.5] },
		],
	},
	{
		family: "gpt-*-nano",
		pattern: /gpt(?=-5.*-nano)(?!-5[.-][6-9])/,
		versions: [
			{ ...ofOpenai(usualRead), from: 5, dollars: [0.05, 0.4] },
			{ ...ofOpenai(usualRead), from: 5.4, dollars: [0.2, 1.25] },
		],
	},
	{
		family: "gpt-*",
		pattern: /gpt(?=-(?:[5-9]|1\d)(?!\d)(?!.*-pro))/,
		versions: [
			{ ...gpt5, from: 5, dollars: [1.25, 10] },
			{ ...gpt5, from: 5.2, dollars: [1.75, 14] },
			{ ...gpt5, from: 5.4, dollars: [2.5, 15], steps: over272k },
			{ ...ofOpenai(usualRead, 2.5), from: 5.5, dollars: [5, 30], steps: over272k },
			{ ...gpt56, from: 5.6, dollars: [4, 20] },
			{ ...gpt56, from: 6, dollars: [2, 10] },
			{ ...gpt56, from: 6.1, read: 0.05, dollars: [2, 10] },
		],
		upTo: 6.2,
	},
	{
		family: "gemini-*-carbon",
		pattern: /gemini(?=.*(?:carbon|argon))/,
		versions: [
			{ ...gemini4, from: 4, dollars: [2, 10] },
			{ ...gemini4, from: 4, since: Date.UTC(2026, 11, 1), dollars: [4, 20] },
		],
	},
	{
		family: "gemini-*-hydrogen",
		pattern: /gemini(?=.*hydrogen)/,
		versions: [{ ...gemini4, from: 4, dollars: [1.5, 7.5] }],
	},
	{ family: "gemini-*-neon", pattern: /gemini(?=.*neon)/, versions: [{ ...gemini4, from: 4, dollars: [3, 15] }] },
	{
		family: "gemini-*-flash-lite",
		pattern: /gemini(?=.*flash-lite)/,
		versions: [
			{ ...gemini, from: 2.5, dollars: [0.1, 0.4] },
			{ ...gemini, from: 3.1, dollars: [0.25, 1.5] },
			{ ...gemini, from: 3.5, dollars: [0.3, 2.5] },
		],
	},
	{
		family: "gemini-*-flash",
		pattern: /gemini(?=.*flash)/,
		versions: [
			{ ...gemini, from: 2.5, dollars: [0.3, 2.5] },
			{ ...gemini, from: 3, dollars: [0.5, 3] },
			{ ...gemini, from: 3.5, dollars: [1.5, 9] },
			{ ...gemini, from: 3.6, dollars: [0.75, 3.75] },
			{ ...gemini, from: 3.6, since: Date.UTC(2027, 0, 1), dollars: [1.5, 7.5] },
		],
	},
	{
		family: "gemini-*-pro",
		pattern: /gemini(?=.*pro)/,
		versions: [
			{ ...gemini, from: 2.5, dollars: [1.25, 10], steps: over200k },
			{ ...gemini, from: 3, dollars: [2, 12], steps: over200k },
		],
		upTo: 3.1,
	},
	{
		family: "deepseek-v3",
		pattern: /deepseek(?=-(?:chat|reasoner|v3))/,
		versions: [{ read: usualRead, dollars: [0.28, 0.42], source: deepseek }],
	},
	// Its names without a version, and those of 4, are served by V4.1-Flash.
	{
		family: "deepseek-v4.1-flash",
		pattern: /deepseek(?=-(?:v?[4-9](?!\d).*)?flash)/,
		versions: [{ ...ofDeepseek, from: 4, read: 0.02, dollars: [0.15, 0.6] }],
		upTo: 4.1,
	},
	{
		family: "deepseek-v4-pro",
		pattern: /deepseek(?=-v?[4-9](?!\d))/,
		versions: [{ ...ofDeepseek, from: 4, read: 1 / 30, dollars: [0.66, 1.98] }],
		upTo: 4.1,
	},
	{
		family: "kimi-k*",
		pattern: /kimi/,
		versions: [
			{ from: 2, read: 0.25, dollars: [0.6, 2.5], source: catalogue },
			{ from: 2.5, read: 1 / 6, dollars: [0.6, 3], source: catalogue },
			{ from: 2.6, read: 0.168, dollars: [0.95, 4], source: catalogue },
			{ from: 2.7, read: 0.2, dollars: [0.95, 4], source: catalogue },
			{ from: 3, read: usualRead, dollars: [3, 15], source: catalogue },
		],
	},
	{ family: "glm-4", pattern: /(?:^|[.-])glm/, versions: [{ read: 0.185, output: 3.5, source: catalogue }] },
];
