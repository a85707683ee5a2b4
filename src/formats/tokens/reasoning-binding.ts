/** Whether a model accepts reasoning only after the messages that it was produced after, and for which accounts. */
type ReasoningBinding = "none" | "some_accounts" | "all_accounts";

/** A version as `[major, minor]`. */
type Version = readonly [number, number];

interface Floors {
	/** The first version that checks reasoning, for accounts made since 2026-08-31 and for requests that ask for it. */
	readonly some: Version;
	/** The first version that checks it for all accounts. */
	readonly all?: Version;
}

/** "Preserved thinking" and "What's new in Claude Fable 5.2", platform.claude.com, read on 2026-11-27. */
const floors: Readonly<Record<string, Floors>> = {
	fable: { some: [5, 1], all: [5, 2] },
	mythos: { some: [5, 1], all: [5, 2] },
	opus: { some: [5, 5] },
	sonnet: { some: [5, 5] },
	haiku: { some: [5, 5] },
};

/** The floors of families that came later: the page says that later models check, too. */
const laterFamily: Floors = { some: [5, 5] };

/**
 * Decides by the name that a request, a session, a router, Bedrock or Vertex has for a model. A name without a version, such as
 * Claude Code's `opus`, says nothing, so it counts as not binding.
 */
export function reasoningBinding(model: string | undefined): ReasoningBinding {
	const named = model === undefined ? undefined : claudeIn(model);
	if (named === undefined) return "none";
	const { some, all } = Object.hasOwn(floors, named.family) ? (floors[named.family] as Floors) : laterFamily;
	if (all && isFrom(named.version, all)) return "all_accounts";
	return isFrom(named.version, some) ? "some_accounts" : "none";
}

function isFrom([major, minor]: Version, [leastMajor, leastMinor]: Version): boolean {
	return major > leastMajor || (major === leastMajor && minor >= leastMinor);
}

/** Longer names are not names of models. */
const longestName = 300;

/** The family comes before the version, or after it as in `claude-3-5-sonnet`. Eight digits are a date. */
const claude = /claude-(?:([a-z]+)-)?v?(\d{1,2})(?!\d)(?:[.-](\d{1,2})(?!\d))?(?:-([a-z]+))?/;

function claudeIn(model: string): { readonly family: string; readonly version: Version } | undefined {
	const name = model.slice(0, longestName).toLowerCase();
	// A model that learnt from Claude's answers is another maker's.
	if (name.includes("distill")) return undefined;
	const [, before, major, minor = "0", after = ""] = claude.exec(name) ?? [];
	return major === undefined ? undefined : { family: before ?? after, version: [Number(major), Number(minor)] };
}
