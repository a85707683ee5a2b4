import { PalimpsestError } from "../errors.ts";
import { truncationStrategies } from "../policy/names.ts";
import type { Policy, TruncatePolicy } from "../policy/schema.ts";
import type { StreamLimit } from "./stream/stream-limit.ts";

/** What a call may say of how a text is cut, in place of the policy. */
export interface CutOptions {
	/** Characters (UTF-16 code units) up to which the text is left whole. */
	readonly maxChars?: number | undefined;
	/** The same in tokens, the notices among them. */
	readonly maxTokens?: number | undefined;
	readonly strategy?: TruncatePolicy["strategy"] | undefined;
	/** What the text is looked through for, in any words; names and identifiers count most. */
	readonly focus?: string | undefined;
	/** The name of the limit in errors, where another function chose the limit. */
	readonly limitName?: string | undefined;
}

/** The name of the limit in force: an argument of the call, as the tools spell it (see `spelledFor`), or a field of the policy. */
export function nameOfLimit(
	{ limit }: Pick<Cut, "limit">,
	{ maxChars, maxTokens, limitName }: Pick<CutOptions, "maxChars" | "maxTokens" | "limitName">,
): string {
	if (limitName !== undefined) return limitName;
	if (limit.kind === "tokens") return maxTokens === undefined ? "truncate.max_tokens" : "max_tokens";
	return maxChars === undefined ? "truncate.max_chars" : "max_chars";
}

/** The error for a limit that leaves no room to say that something is left out. */
export function limitTooSmall(limit: {
	readonly name: string;
	readonly given: number;
	readonly least: number;
}): PalimpsestError {
	const { name, given, least } = limit;
	return new PalimpsestError(
		"invalid_argument",
		`Expected \`${name}\` to leave room for the note on what is left out: the smallest that works here is ${least}; got ${given}.`,
	);
}

/** How a text is cut. */
export interface Cut {
	readonly limit: StreamLimit;
	readonly strategy: TruncatePolicy["strategy"];
}

/**
 * How a call has a text cut. Without a strategy of its own it takes the policy's; in place of `head_tail`, whose numbers are
 * characters and which looks for nothing, `auto` where the limit is in tokens or a focus is given.
 *
 * @throws PalimpsestError `invalid_argument` for a limit that is no whole number, for both of them, and for a strategy that is
 * none.
 */
export function cutOfCall({ truncate }: Policy, { maxChars, maxTokens, strategy: asked, focus }: CutOptions): Cut {
	requireWhole("max_chars", maxChars, 0);
	// As in the policy: no text has fewer.
	requireWhole("max_tokens", maxTokens, 1);
	if (maxChars !== undefined && maxTokens !== undefined) {
		throw new PalimpsestError("invalid_argument", "Expected either `max_chars` or `max_tokens`, and not both.");
	}
	if (asked !== undefined && !truncationStrategies.includes(asked)) {
		const expected = `Expected \`strategy\` to be ${truncationStrategies.join(", ")}`;
		throw new PalimpsestError("invalid_argument", `${expected}, or left out.`);
	}
	const tokens = maxTokens ?? (maxChars === undefined ? truncate.max_tokens : null);
	const isMore = tokens !== null || focus !== undefined;
	const strategy = asked ?? (isMore ? excerptStrategy({ truncate }) : truncate.strategy);
	if (tokens !== null) return { limit: { kind: "tokens", most: tokens }, strategy };
	const most = maxChars ?? truncate.max_chars;
	return {
		limit: strategy === "head_tail" ? { kind: "head_tail", maxChars: most } : { kind: "chars", most },
		strategy,
	};
}

/** The strategy that a policy means where head and tail are not: its own, or `auto`. */
export function excerptStrategy({ truncate }: Pick<Policy, "truncate">): TruncatePolicy["strategy"] {
	return truncate.strategy === "head_tail" ? "auto" : truncate.strategy;
}

function requireWhole(name: string, value: number | undefined, least: number): void {
	if (value === undefined || (Number.isSafeInteger(value) && value >= least)) return;
	const expected = `Expected \`${name}\` to be a whole number, ${least} or more`;
	throw new PalimpsestError("invalid_argument", `${expected}; got ${value}.`);
}
