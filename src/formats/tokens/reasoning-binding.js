/** "Preserved thinking" and "What's new in Claude Fable 5.2", platform.claude.com, read on 2026-11-27. */
const floors = {
	fable: { some: [5, 1], all: [5, 2] },
	mythos: { some: [5, 1], all: [5, 2] },
	opus: { some: [5, 5] },
	sonnet: { some: [5, 5] },
	haiku: { some: [5, 5] },
};
/** The floors of families that came later: the page says that later models check, too. */
const laterFamily = { some: [5, 5] };
/**
 * Decides by the name that a request, a session, a router, Bedrock or Vertex has for a model. A name without a version, such as
 * Claude Code's `opus`, says nothing, so it counts as not binding.
 */
export function reasoningBinding(model) {
	const named = model === undefined ? undefined : claudeIn(model);
	if (named === undefined) return "none";
	const { some, all } = Object.hasOwn(floors, named.family) ? floors[named.family] : laterFamily;
	if (all && isFrom(named.version, all)) return "all_accounts";
	return isFrom(named.version, some) ? "some_accounts" : "none";
}
function isFrom([major, minor], [leastMajor, leastMinor]) {
	return major > leastMajor || (major === leastMajor && minor >= leastMinor);
}
/** Longer names are not names of models. */
const longestName = 300;
/** The family comes before the version, or after it as in `claude-3-5-sonnet`. Eight digits are a date. */
const claude = /claude-(?:([a-z]+)-)?v?(\d{1,2})(?!\d)(?:[.-](\d{1,2})(?!\d))?(?:-([a-z]+))?/;
function claudeIn(model) {
	const name = model.slice(0, longestName).toLowerCase();
	// A model that learnt from Claude's answers is another maker's.
	if (name.includes("distill")) return undefined;
	const [, before, major, minor = "0", after = ""] = claude.exec(name) ?? [];
	return major === undefined ? undefined : { family: before ?? after, version: [Number(major), Number(minor)] };
}
