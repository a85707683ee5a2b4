import type { ProviderPrices } from "./stand-in-provider.ts";

/**
 * For whom the API checks that thinking is still behind the conversation that produced it:
 * `everyone`, accounts made since 2026-08-31 (`newer`), or nobody.
 */
export type Enforcement = "everyone" | "newer" | "nobody";

/**
 * Source: https://platform.claude.com/docs/en/build-with-claude/preserved-thinking/prefix-checks. Fable and Mythos from 5.2 on
 * check for every account; Fable 5.1 and Opus, Sonnet and Haiku from 5.5 on for newer accounts. Mythos 5.1 signs and does not
 * check. Models up to Opus 5 and Sonnet 5 do not check. Later models are taken to do what their family does.
 */
export function enforcementOf(model: string): Enforcement {
	const { family, version } = familyOf(model);
	if (family === "fable" || family === "mythos") {
		if (version >= 5.2) return "everyone";
		return family === "fable" && version >= 5.1 ? "newer" : "nobody";
	}
	return family !== undefined && version >= 5.5 ? "newer" : "nobody";
}

/**
 * Whether a model may read the thinking of another. One that it may not read is left out without an error. Sources: the page
 * above, "Switching models", and https://docs.aws.amazon.com/bedrock/latest/userguide/claude-messages-thinking-block-binding.md:
 * a model reads its own; Fable 5.1 also that of Opus 5 and 5.5; that of Haiku 5.5 is read by all.
 */
export function canRead(reader: string, producer: string): boolean {
	const [a, b] = [nameOf(reader), nameOf(producer)];
	if (a === b || b === "haiku 5.5") return true;
	return a === "fable 5.1" && (b === "opus 5" || b === "opus 5.5");
}

/**
 * Prices of a token relative to an uncached one of the input, from the price list of 2026-11-27. Over 100 000 tokens of the
 * prompt, every token of a request to Haiku 5.5 costs five times as much.
 */
export function claudePrices(model: string): ProviderPrices {
	const { family, version } = familyOf(model);
	const step = family === "haiku" && version >= 5.5 ? { step: { over: 100_000, factor: 5 } } : {};
	return { cacheRead: readPriceOf(family, version), cacheWrite: 1.25, cacheWriteForAnHour: 2, output: 5, ...step };
}

function readPriceOf(family: string | undefined, version: number): number {
	if (family === "fable" || family === "mythos") return 0.025;
	return (family === "opus" || family === "sonnet") && version >= 5.5 ? 0.05 : 0.1;
}

function nameOf(model: string): string {
	const { family, version } = familyOf(model);
	return family === undefined ? model : `${family} ${version}`;
}

/** Names of routers and clouds hold the same words: `us.anthropic.claude-opus-5-5-v1:0`, `anthropic/claude-opus-5.5`. */
function familyOf(model: string): { readonly family: string | undefined; readonly version: number } {
	const found = /(fable|mythos|opus|sonnet|haiku)-(\d{1,2})(?!\d)(?:[-.](\d{1,2})(?!\d))?/.exec(model);
	if (found === null) return { family: undefined, version: 0 };
	const [, family, major = "0", minor = "0"] = found;
	return { family, version: Number(`${major}.${minor}`) };
}
