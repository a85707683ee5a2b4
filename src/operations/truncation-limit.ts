import { scaleTokens } from "../conversation/measure.ts";
import { PalimpsestError } from "../errors.ts";
import { requireWholeNumber } from "../policy/errors.ts";
import { truncationStrategies } from "../policy/names.ts";
import type { Policy, TruncatePolicy } from "../policy/schema.ts";
import type { Log } from "./edit-record.ts";

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
	requireWholeNumber("max_chars", maxChars, { least: 0 });
	// As in the policy: no text has fewer.
	requireWholeNumber("max_tokens", maxTokens, { least: 1 });
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

/** The share of the start in what a policy keeps of both ends. */
export function headShareOf({ truncate }: Pick<Policy, "truncate">): number | undefined {
	const { head_chars: head, tail_chars: tail } = truncate;
	return head + tail === 0 ? undefined : head / (head + tail);
}

/** Up to where an output is left whole, and how it is shortened past that. */
export type StreamLimit =
	/** Head and tail as `[truncate]` of the policy says, past so many characters (docs/specs/context-window-guard.md#truncation). */
	| { readonly kind: "head_tail"; readonly maxChars: number }
	/** The largest excerpt of so many characters, its notices among them. */
	| { readonly kind: "chars"; readonly most: number }
	/** The largest excerpt of so many tokens, its notices among them. */
	| { readonly kind: "tokens"; readonly most: number };

/** Tells that a text was cut, in characters before and after. */
export function logTruncation(log: Log | undefined, before: number, after: number): void {
	log?.({
		level: "warning",
		message: `Truncated a text (${before} → ${after} chars)`,
		data: { event: "truncated", chars_before: before, chars_after: after },
	});
}

/** Bytes of an output up to which it is held whole, where that decides nothing else. */
const alwaysHeld = 8 * 1024 * 1024;
/** Characters of a placeholder or of head, marker and tail, beyond their own numbers. */
const ofMarkers = 65_536;

/**
 * Bytes of an output past which it is certain that it has to be shortened, whatever it is: until then it is held, after
 * that only its excerpt is.
 */
export function bytesToHold(limit: StreamLimit, { truncate }: Policy): number {
	// No token is longer than 128 bytes, and no character than three.
	if (limit.kind === "tokens") return Math.max(alwaysHeld, 128 * limit.most);
	if (limit.kind === "chars") return Math.max(alwaysHeld, 3 * limit.most);
	// A text that was cut already is no longer than head, marker and tail.
	const chars = Math.max(limit.maxChars, truncate.head_chars + truncate.tail_chars) + ofMarkers;
	return Math.max(alwaysHeld, 3 * chars);
}

export type ExcerptLimit = Exclude<StreamLimit, { readonly kind: "head_tail" }>;

export interface LimitCheck {
	readonly unit: "chars" | "tokens";
	readonly most: number;
	/** What of the limit a text takes. */
	readonly sizeOf: (text: string) => number;
	/** Tokens of a text, on the side of more where the model's own are estimated. */
	readonly countTokens: (text: string) => number;
	readonly fits: (text: string) => boolean;
	/** Characters that an excerpt has at most, or so many that more would hardly fit. */
	readonly mostChars: number;
}

/** Blank or repeated text has many characters in a token; more than this in all is not gone after. */
const charsOfToken = 8;

/** Measures excerpts by a limit; loads a tokenizer only where tokens are what is limited. */
export async function limitCheck(limit: ExcerptLimit, policy: Policy): Promise<LimitCheck> {
	const { kind, most } = limit;
	if (kind === "chars") return charsCheck(most);
	const { tokenMeter } = await import("./count.ts");
	const { meter, estimate } = await tokenMeter(policy, policy.guard.model ?? undefined);
	const countTokens = (text: string) => scaleTokens({ tokens: meter.countTokens(text) }, estimate.scale).high;
	// No token is longer than 128 bytes, so that what is far too long need not be counted.
	const least = (text: string) => scaleTokens({ tokens: Math.ceil(text.length / 128) }, estimate.scale).low;
	const fits = (text: string) => least(text) <= most && countTokens(text) <= most;
	return { unit: "tokens", most, sizeOf: countTokens, countTokens, fits, mostChars: charsOfToken * most };
}

export function charsCheck(most: number): LimitCheck {
	return {
		unit: "chars",
		most,
		sizeOf: ({ length }) => length,
		countTokens: (text) => Buffer.byteLength(text),
		fits: (text) => text.length <= most,
		mostChars: most,
	};
}
