import type { TokenScale } from "../../engine/conversation/measure.ts";
import type { EncodingName } from "./encodings.ts";

export interface ModelWindow {
	readonly tokens: number;
	/** The most tokens of a request, where the window includes those of the answer. */
	readonly largestInput?: number | undefined;
	/** English sentences, if the window is assumed. */
	readonly notes: readonly string[];
}

/**
 * Finds the window by the name (`[1m]` of Claude Code), the catalogue, the maker's documentation, or the nearest model of the family,
 * with a note; `undefined` for an unknown family. The first call loads the catalogue (some 70 ms).
 */
export async function contextWindowOfModel(model: string): Promise<ModelWindow | undefined> {
	if (/[^/\s]\[1m\]\s*$/i.test(model)) return { tokens: 1_000_000, notes: [] };
	const name = /(?:^|\/)ft:([^:/]+)/i.exec(model.trim())?.[1] ?? model;
	const known = laterWindow(name, (await findInCatalogue(name))?.contextWindow) ?? documentedWindow(name);
	if (known !== undefined) return { tokens: known, notes: [], largestInput: largestInputOf(name, known) };
	const relative = await nearestRelative(name);
	if (relative === undefined) return undefined;
	const note = `No context window is known for ${JSON.stringify(model.slice(0, 80))}, so the window of ${relative.name} is assumed: ${relative.tokens} tokens. Where that is wrong, give the right one, or set guard.context_window_override in the policy.`;
	return { tokens: relative.tokens, notes: [note], largestInput: largestInputOf(name, relative.tokens) };
}

/** DeepSeek from V3.1 on, which `deepseek-chat` and `deepseek-reasoner` name: 128K ("Models & Pricing", api-docs.deepseek.com). */
function laterWindow(model: string, catalogued: number | undefined): number | undefined {
	const name = withoutProvider(model);
	const version = /^deepseek-(?:chat-|reasoner-)?v(\d+(?:[.-]\d(?!\d))?)/.exec(name)?.[1]?.replace("-", ".");
	const isKnown = catalogued !== undefined || Number(version) < 4;
	const isLater = version === undefined ? /^deepseek-(?:chat|reasoner)$/.test(name) : Number(version) >= 3.1 && isKnown;
	return isLater ? Math.max(128_000, catalogued ?? 0) : catalogued;
}

/** GPT-5: the window of 400 000 tokens includes 128 000 of output, so that 272 000 are the largest input. */
function largestInputOf(model: string, window: number): number | undefined {
	const isSplit = /^(?:openai\.)?gpt-[5-9](?!\d)/.test(withoutProvider(model)) && window >= 400_000;
	return isSplit ? window - 128_000 : undefined;
}

/** For models that the catalogue lists without a window and that no other provider serves. */
function documentedWindow(model: string): number | undefined {
	const name = model.trim().toLowerCase().split("/").at(-1) as string;
	// "Context windows" (platform.claude.com): all Claude models of version 5.
	if (/^(?:[a-z-]+\.)*claude-[a-z]+-5(?:[-.]\d)?(?:-\d{8})?(?:-v\d)?$/.test(withoutProvider(name))) return 1_000_000;
	// "Gemini 2.5 Pro" and "Gemini 3 Pro", maximum input tokens (docs.cloud.google.com/vertex-ai).
	return /^gemini-(?:2\.5|3)-pro(?:-|$)/.test(name) ? 1_048_576 : undefined;
}

/** Parts of model names and their families; the first match decides. */
const parts: readonly (readonly [RegExp, FamilyName])[] = [
	[/claude/, "claude"],
	[/gemini|gemma|learnlm|palm-|bison/, "gemini"],
	[/llama-?3/, "llama-3"],
	[/llama/, "unmeasured"],
	[/mi[sx]tral|ministral|codestral|devstral|magistral|pixtral|voxtral/, "mistral"],
	[/qwen|qwq/, "qwen"],
	[/deepseek|r1-1776/, "deepseek"],
	[/command|cohere|aya-/, "command"],
	[/grok|kimi|moonshot|glm|nova|minimax|gpt-|\bo\d|codex/, "unmeasured"],
];

const familiesOfProviders: Readonly<Record<string, FamilyName>> = {
	anthropic: "claude",
	google: "gemini",
	mistral: "mistral",
	deepseek: "deepseek",
	cohere: "command",
	"x-ai": "unmeasured",
	moonshotai: "unmeasured",
	openai: "unmeasured",
};

/** Finds the family by the model's name, else by its provider in the catalogue. */
export async function familyOfModel(model: string): Promise<FamilyName> {
	// The provider's name says nothing: `ollama/qwen3` is not Llama.
	const name = withTier(model.trim().toLowerCase().split("/").at(-1) as string);
	// A distilled model has the tokenizer of its student.
	const own = name.slice(name.indexOf("distill") + 1);
	const named = parts.find(([part]) => part.test(own))?.[1];
	const family = named ?? familiesOfProviders[(await findInCatalogue(model))?.provider ?? ""] ?? "unknown";
	const isEarly = name.includes("claude-instant") || (versionOfClaude(name) ?? Number.POSITIVE_INFINITY) < 4.7;
	return family === "claude" && !isEarly ? "claude-4.7" : family;
}

/** The version in a name of a Claude model: 4.5 in `claude-sonnet-4-5-20250929`, 3.5 in `claude-3-5-sonnet`. */
export function versionOfClaude(model: string): number | undefined {
	// Eight digits are a date.
	const version = /claude-(?:[a-z]+-)?v?(\d{1,2})(?!\d)(?:[.-](\d)(?!\d))?/.exec(model.toLowerCase());
	return version ? Number(`${version[1]}.${version[2] ?? 0}`) : undefined;
}

/**
 * Tokens of other makers' tokenizers for each token of the nearest encoding. Measured with public tokenizers on 173 agent
 * conversations in 13 formats and on prose, code, JSON and Chinese (`docs/tokens.md`). `factor` is the mean over
 * conversations unless another source is named; `low` and `high` are the least and the largest of the 1st and 99th
 * percentiles of conversations, the 5th and 95th of their tool results and the means of the other kinds.
 */
export const modelFamilies = {
	/** Up to 4.6: ai-tokenizer 1.0.6 (mean 1.18) and the API's usage in 22 sessions of 4.5 and 4.6 (mean 1.21). */
	claude: { encoding: "o200k_base", scale: { low: 1.05, factor: 1.2, high: 1.55 } },
	/**
	 * From Opus 4.7 on: about 30 % more tokens than before ("Token counting", platform.claude.com). Others measured 1.325
	 * over real sessions, 1.46 on English prose and 1.0 on Chinese with the API's counter.
	 */
	"claude-4.7": { encoding: "o200k_base", scale: { low: 1.05, factor: 1.56, high: 1.95 } },
	/** By the tokenizer of Gemma 3, which Gemini 2.0 uses too ("Gemma 3 Technical Report", "Tokenizer"). */
	gemini: { encoding: "o200k_base", scale: { low: 0.84, factor: 1.16, high: 1.34 } },
	/** Its vocabulary is cl100k_base with 28 000 more tokens for other languages. */
	"llama-3": { encoding: "cl100k_base", scale: { low: 0.75, factor: 1, high: 1.01 } },
	/** By the tokenizer of Mistral Nemo (Tekken). */
	mistral: { encoding: "o200k_base", scale: { low: 1.01, factor: 1.12, high: 1.3 } },
	qwen: { encoding: "o200k_base", scale: { low: 0.86, factor: 1.08, high: 1.26 } },
	/** DeepSeek V3; the API's usage in 6 recorded sessions was 1.07 to 1.18, since calls cost more than their text. */
	deepseek: { encoding: "o200k_base", scale: { low: 0.79, factor: 1.1, high: 1.22 } },
	/** Command R+. */
	command: { encoding: "o200k_base", scale: { low: 0.88, factor: 1.15, high: 1.34 } },
	/** Grok, Kimi, GLM, Nova, MiniMax and newer models of OpenAI: the band of all measured tokenizers. */
	unmeasured: { encoding: "o200k_base", scale: { low: 0.75, factor: 1.1, high: 1.34 } },
	/** The band of all families. */
	unknown: { encoding: "o200k_base", scale: { low: 0.75, factor: 1.2, high: 1.95 } },
} as const satisfies Readonly<Record<string, { readonly encoding: EncodingName; readonly scale: TokenScale }>>;

type FamilyName = keyof typeof modelFamilies;

const makers = ["anthropic", "openai", "google", "x-ai", "mistral", "deepseek", "moonshotai"] as const;

/** Names of models in the bundled catalogue that begin as typed, sorted. The first call loads the catalogue. */
export async function modelNames(typed: string): Promise<string[]> {
	const begin = typed.trim().toLowerCase();
	const listed = await modelsOfProviders(makers);
	const names = new Set(listed.map(({ name }) => name));
	return [...names].filter((name) => name.toLowerCase().startsWith(begin)).sort();
}

/** `listedBy` are providers of the catalogue. The first pattern that matches decides; version and tier follow it. */
const families: readonly { readonly pattern: RegExp; readonly listedBy: readonly string[] }[] = [
	{ pattern: /claude/, listedBy: ["anthropic"] },
	{ pattern: /gpt-oss/, listedBy: ["openai"] },
	{ pattern: /(?:chat)?gpt/, listedBy: ["openai"] },
	{ pattern: /o(?=[1-9](?:$|[-.:]))/, listedBy: ["openai"] },
	{ pattern: /gemini/, listedBy: ["google"] },
	{ pattern: /gemma/, listedBy: ["google", "aws", "openrouter"] },
	{ pattern: /grok/, listedBy: ["x-ai"] },
	{ pattern: /deepseek[-.]r(?=\d)/, listedBy: ["aws", "openrouter"] },
	{ pattern: /deepseek/, listedBy: ["deepseek"] },
	{ pattern: /qwen/, listedBy: ["openrouter", "aws"] },
	{ pattern: /llama/, listedBy: ["aws", "groq", "openrouter"] },
	{ pattern: /codestral/, listedBy: ["mistral"] },
	{ pattern: /devstral/, listedBy: ["mistral"] },
	{ pattern: /ministral/, listedBy: ["mistral"] },
	{ pattern: /mistral/, listedBy: ["mistral", "openrouter", "aws"] },
	{ pattern: /kimi/, listedBy: ["moonshotai"] },
	{ pattern: /glm/, listedBy: ["openrouter"] },
	{ pattern: /minimax/, listedBy: ["openrouter"] },
	{ pattern: /nova/, listedBy: ["aws"] },
	{ pattern: /command-[ar]/, listedBy: ["cohere", "openrouter"] },
];

/** Other words, such as `preview`, are ignored. */
const tierWords =
	/^(?:opus|sonnet|haiku|fable|instant|premier|ultra|pro|flash|lite|nano|micro|mini|tiny|small|medium|large|max|plus|turbo|light|air|fast|heavy|coder?|codex|scout|maverick|4o)$/;

/** Words of models that are not chat models, or have a window of another kind. */
const specialWords =
	/^(?:image|audio|tts|realtime|live|transcribe|embed(?:ding)?s?|ocr|guard|safeguard|vision|vl|voice|sonic|search|omni|distill|extended|\d+(?:\.\d+)?v)$/;

/** Whether what follows the name of a family has the word of a tier or of another kind of model that the family has not. Codex has none. */
export function namesOtherTier(rest: string, family: string): boolean {
	const own = new Set(["codex", ...family.split(/[-_:. ]+/)]);
	return rest.split(/[-_:. ]+/).some((word) => !own.has(word) && (tierWords.test(word) || specialWords.test(word)));
}

type ModelName = NonNullable<ReturnType<typeof parseName>>;

/** Whether a version is too far ahead of the newest known one to be more than a mistake, as in `gpt-99`. */
export const isTooNew = (version: number | undefined, newest: number): boolean =>
	Math.floor(version ?? 0) > Math.floor(newest) + 20;

/** Finds a model of the same tier if possible, of the latest version that is not later (windows grew), with the smallest window. */
async function nearestRelative(model: string): Promise<{ readonly name: string; readonly tokens: number } | undefined> {
	const asked = parseName(withoutProvider(model), /(?:^|[.-])/);
	if (!asked) return undefined;
	const listed = await modelsOfProviders(asked.family.listedBy);
	const relatives = listed.flatMap(({ name, contextWindow }) => {
		const tokens = contextWindow ?? documentedWindow(name);
		if (tokens === undefined) return [];
		// A name with the family's in its middle is another maker's model, made from one of the family.
		const parsed = parseName(withoutProvider(name), /^(?:[a-z-]+\.)*/);
		return parsed?.family === asked.family ? [{ name, tokens, ...parsed }] : [];
	});
	const newest = Math.max(...relatives.map(({ version = 0 }) => version));
	if (isTooNew(asked.version, newest)) return undefined;
	const sameTier = relatives.filter(({ tier }) => tier.join() === asked.tier.join());
	const likeTier = relatives.filter(({ tier }) => tier.some((word) => asked.tier.includes(word)));
	for (const candidates of [sameTier, likeTier, relatives]) {
		const [nearest] = nearestVersions(candidates, asked).toSorted((one, other) => one.tokens - other.tokens);
		if (nearest) return nearest;
	}
	return undefined;
}

/** `undefined` for a name of no family, and for one without version, tier or size, such as `gpt-nope`. */
function parseName(name: string, before: RegExp) {
	const family = families.find(({ pattern }) => startOf(pattern, before).test(name));
	if (!family) return undefined;
	const rest = withoutDates(name.replace(startOf(family.pattern, before), "\0").replace(/^.*\0/s, ""));
	const words = rest.split(/[-_:. ]+/).filter((word) => word !== "");
	if (rest.split(/[-_: ]+/).some((word) => specialWords.test(word))) return undefined;
	const version = versionIn(rest);
	const tier = words.filter((word) => tierWords.test(word)).sort();
	const isLatest = words.includes("latest");
	const saysSize = words.some((word) => /^\d+b$/.test(word));
	const isKnown = version !== undefined || tier.length > 0 || isLatest || saysSize || words.length === 0;
	return isKnown ? { family, version, tier, isLatest } : undefined;
}

function startOf(pattern: RegExp, before: RegExp): RegExp {
	return new RegExp(`${before.source}(?:${pattern.source})(?![a-z]{2})`);
}

/** A name without providers and without the suffixes of Bedrock, Vertex (`@20261101`), OpenRouter and Claude Code. */
export function withoutProvider(model: string): string {
	const last = model.trim().toLowerCase().split("/").at(-1) as string;
	return withTier(last)
		.replace(/\[\w*\]$/, "")
		.replace(/(?:@[\w.-]+|-v?\d+:\d+|:[a-z]+)$/, "");
}

/** Claude Code has names that are only a tier, such as `sonnet` and `opus[1m]`. */
function withTier(name: string): string {
	return name
		.replace(/^(?=(?:opus|sonnet|haiku|fable)(?:\[|-|$))/, "claude-")
		.replace(/^opusplan(?=\[|$)/, "claude-opus");
}

/** Days and months of a release are not versions. */
function withoutDates(rest: string): string {
	return rest.replace(/-(?:20\d\d-\d\d-\d\d|\d\d-20\d\d|0\d-\d\d|\d{4,8})(?![\dbk])/g, "");
}

/** The version in a name without its family, without the dates of a release. */
export function versionOfName(rest: string): number | undefined {
	return versionIn(withoutDates(rest));
}

/** The first number that is not a size: 4.5 of `-sonnet-4-5`, 3.1 of `-v3p1-8b`, 2.5 of `-k2.5`. */
function versionIn(rest: string): number | undefined {
	// Azure omits the dot.
	if (rest.startsWith("-35-")) return 3.5;
	const version = /(?:^|[-.])[vkm]?([1-9]\d?)(?:[.p-](\d{1,2})(?![\dbkp]))?(?![\dbk])/.exec(rest);
	return version ? Number(`${version[1]}.${version[2] ?? 0}`) : undefined;
}

function nearestVersions<Named extends ModelName>(models: readonly Named[], asked: ModelName): readonly Named[] {
	if (asked.version === undefined && !asked.isLatest) return models;
	const { version: most = Number.POSITIVE_INFINITY } = asked;
	const nearest = Math.max(
		...models.map(({ version = Number.NaN }) => (version <= most ? version : Number.NEGATIVE_INFINITY)),
	);
	return models.filter(({ version }) => version === nearest);
}

/** US dollars for a million tokens. All tokens of a call that is larger than a tier's start have the price of the tier. */
export type CataloguedPrice =
	| number
	| { readonly base: number; readonly tiers: readonly { readonly start: number; readonly price: number }[] };

/**
 * Looks in the bundled catalogue (no network). Accepts providers before the name (`openrouter/anthropic/claude-sonnet-4.5`)
 * and Bedrock's names. Prices have the catalogue's names, such as `input_mtok` and `cache_read_mtok`.
 */
export async function findInCatalogue(model: string) {
	return model.trim() === "" ? undefined : (await loadCatalogue())(model);
}

/** A search in the catalogue that does not wait. Loading it takes some 70 ms. */
export async function loadCatalogue() {
	const { calcPrice } = await import("@pydantic/genai-prices");
	return (model: string, at?: number) => {
		const time = at === undefined ? {} : { timestamp: new Date(at) };
		for (const { name, provider } of spellings(model.trim().toLowerCase())) {
			const options = provider === undefined ? time : { ...time, providerId: provider };
			const found = calcPrice({ input_tokens: 1 }, name, options);
			// The first find decides, even without a window: that of another provider may differ.
			if (found !== null) {
				const contextWindow = positiveInteger(found.model.context_window);
				const prices: Readonly<Record<string, CataloguedPrice | undefined>> = found.model_price;
				return { provider: found.provider.id, contextWindow, prices };
			}
		}
		return undefined;
	};
}

function* spellings(model: string): Generator<{ readonly name: string; readonly provider?: string }> {
	yield { name: model };
	const segments = model.split("/");
	const last = segments.at(-1) as string;
	const provider = segments.at(-2);
	if (provider !== undefined) {
		yield { name: last, provider };
		yield { name: last };
	}
	yield { name: last.replaceAll(".", "-") };
	// Bedrock's names have a dot after the maker; the catalogue has them, but not without their provider.
	if (last.includes(".")) yield { name: last, provider: "aws" };
}

function positiveInteger(value: number | undefined): number | undefined {
	return value !== undefined && Number.isSafeInteger(value) && value > 0 ? value : undefined;
}

async function modelsOfProviders(providers: readonly string[]) {
	const { findProvider } = await import("@pydantic/genai-prices");
	const models = providers.flatMap((providerId) => findProvider({ providerId })?.models ?? []);
	return models.map(({ id, context_window }) => ({ name: id, contextWindow: positiveInteger(context_window) }));
}
