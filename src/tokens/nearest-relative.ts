import { modelsOfProvider } from "./model-catalogue.ts";

/** A model that another one is taken to be like. */
export interface Relative {
	readonly name: string;
	/** Its context window. */
	readonly tokens: number;
}

interface Family {
	/** Finds the family's name at the start of a model's name. What stands behind it says the version and the tier. */
	readonly pattern: RegExp;
	/** The catalogue's providers whose models are the relatives: the makers, or else those that serve most of them. */
	readonly listedBy: readonly string[];
}

/** Families of models whose later versions are named after the earlier ones. The first pattern that matches decides. */
const families: readonly Family[] = [
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

/** Words that tell models of one version apart by size or purpose. Other words, such as `preview`, are passed over. */
const tierWords =
	/^(?:opus|sonnet|haiku|fable|instant|premier|ultra|pro|flash|lite|nano|micro|mini|tiny|small|medium|large|max|plus|turbo|light|air|fast|heavy|coder?|codex|scout|maverick|4o)$/;

/** What is no chat model, or has a window of its own kind: such models neither give nor take a window. */
const specialWords =
	/^(?:image|audio|tts|realtime|live|transcribe|embed(?:ding)?s?|ocr|guard|safeguard|vision|vl|voice|sonic|search|omni|distill|extended|\d+(?:\.\d+)?v)$/;

interface ModelName {
	readonly family: Family;
	/** 4.5 of `claude-sonnet-4-5`; `undefined` where the name says none. */
	readonly version: number | undefined;
	/** The tier words, sorted. */
	readonly tier: readonly string[];
	readonly isLatest: boolean;
}

/**
 * The nearest model of the same family that the bundled catalogue, or else `documented`, knows a window of. The same tier
 * (`pro`, `mini`, `opus` …) counts first, then the version, where a later version is never taken for an earlier one: windows
 * have grown. Of several that are as near it is the one with the smallest window. `undefined` where there is none.
 */
export async function nearestRelative(
	model: string,
	documented: (name: string) => number | undefined,
): Promise<Relative | undefined> {
	const asked = parseName(withoutProvider(model), /(?:^|[.-])/);
	if (!asked) return undefined;
	const listed = (await Promise.all(asked.family.listedBy.map(modelsOfProvider))).flat();
	const relatives = listed.flatMap(({ name, contextWindow }) => {
		const tokens = contextWindow ?? documented(name);
		// A name that holds the family's in its middle is somebody else's model, made of one of the family's.
		const parsed = tokens === undefined ? undefined : parseName(withoutProvider(name), /^(?:[a-z-]+\.)*/);
		return tokens !== undefined && parsed?.family === asked.family ? [{ name, tokens, ...parsed }] : [];
	});
	const sameTier = relatives.filter(({ tier }) => tier.join() === asked.tier.join());
	const likeTier = relatives.filter(({ tier }) => tier.some((word) => asked.tier.includes(word)));
	for (const candidates of [sameTier, likeTier, relatives]) {
		const nearest = smallestWindow(nearestVersions(candidates, asked));
		if (nearest) return nearest;
	}
	return undefined;
}

/** `undefined` where a name is of no family, or of one but no model that could be known, such as `gpt-nope`. */
function parseName(name: string, before: RegExp): ModelName | undefined {
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

/** Without providers before the name, and without what Bedrock, OpenRouter and Claude Code write behind it. */
function withoutProvider(model: string): string {
	const last = model.trim().toLowerCase().split("/").at(-1) ?? "";
	// Claude Code names models by their tier alone.
	const name = last.replace(/^(?=(?:opus|sonnet|haiku)(?:\[|$))/, "claude-");
	return name.replace(/\[\w*\]$/, "").replace(/(?:-v?\d+:\d+|:(?!\d+b)[a-z]+)$/, "");
}

/** Days and months of a release are no versions. */
function withoutDates(rest: string): string {
	return rest.replace(/-(?:20\d\d-\d\d-\d\d|\d\d-20\d\d|0\d-\d\d|\d{4,8})(?![\dbk])/g, "");
}

/** The first number that is no size: 4.5 of `-sonnet-4-5`, 3.1 of `-v3p1-8b`, 2.5 of `-k2.5`. */
function versionIn(rest: string): number | undefined {
	const azure = /^-35-/.exec(rest);
	if (azure) return 3.5;
	const version = /(?:^|[-.])[vkm]?([1-9]\d?)(?:[.p-](\d{1,2})(?![\dbkp]))?(?![\dbk])/.exec(rest);
	return version ? Number(`${version[1]}.${version[2] ?? 0}`) : undefined;
}

function nearestVersions<Named extends ModelName>(models: readonly Named[], asked: ModelName): readonly Named[] {
	if (asked.version === undefined && !asked.isLatest) return models;
	const most = asked.version ?? Number.POSITIVE_INFINITY;
	const versions = models.flatMap(({ version }) => (version !== undefined && version <= most ? [version] : []));
	const nearest = Math.max(...versions);
	return models.filter(({ version }) => version === nearest);
}

function smallestWindow(models: readonly Relative[]): Relative | undefined {
	const tokens = Math.min(...models.map((model) => model.tokens));
	const name = models.find((model) => model.tokens === tokens)?.name;
	return name === undefined ? undefined : { name, tokens };
}
