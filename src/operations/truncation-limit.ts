import { scaleTokens } from "../engine/conversation/measure.ts";
import { requireWholeNumber } from "../engine/policy/errors.ts";
import { truncationStrategies } from "../engine/policy/names.ts";
import type { Policy, TruncatePolicy } from "../engine/policy/schema.ts";
import { PalimpsestError } from "../errors.ts";
import type { Log } from "../log.ts";

export interface CutOptions {
	/** UTF-16 code units up to which the text stays unchanged; by default the policy's. */
	readonly maxChars?: number | undefined;
	/** The same in tokens, with the notices. */
	readonly maxTokens?: number | undefined;
	/** By default as the policy says; `auto` in place of `head_tail` with `maxTokens`. */
	readonly strategy?: TruncatePolicy["strategy"] | undefined;
	/** The subject that the reader is looking for, in any words; names and identifiers count most. */
	readonly focus?: string | undefined;
	readonly limitName?: string | undefined;
}

export function nameOfLimit(limit: StreamLimit, { maxChars, maxTokens, limitName }: CutOptions): string {
	if (limitName !== undefined) return limitName;
	if (limit.kind === "tokens") return maxTokens === undefined ? "truncate.max_tokens" : "max_tokens";
	return maxChars === undefined ? "truncate.max_chars" : "max_chars";
}

export function limitTooSmall({ name, given, least }: { name: string; given: number; least: number }) {
	const message = `Expected \`${name}\` to leave room for the note on the omitted part: the smallest that works here is ${least}; got ${given}.`;
	return new PalimpsestError("invalid_argument", message);
}

/** A limit in tokens or a focus replaces the policy's `head_tail` by `auto`. Throws PalimpsestError `invalid_argument`. */
export function cutOfCall(
	{ truncate }: Policy,
	{ maxChars, maxTokens, strategy: asked, focus }: CutOptions,
): { readonly limit: StreamLimit; readonly strategy: TruncatePolicy["strategy"] } {
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

/** The policy's strategy; `auto` in place of `head_tail`. */
export function excerptStrategy({ truncate }: Pick<Policy, "truncate">): TruncatePolicy["strategy"] {
	return truncate.strategy === "head_tail" ? "auto" : truncate.strategy;
}

/** The share of the start in both ends that a policy keeps. */
export function headShareOf({ truncate }: Pick<Policy, "truncate">): number | undefined {
	const { head_chars: head, tail_chars: tail } = truncate;
	return head + tail === 0 ? undefined : head / (head + tail);
}

export type StreamLimit =
	/** Longer outputs keep head and tail as `[truncate]` of the policy says (docs/strategies.md#truncation). */
	{ readonly kind: "head_tail"; readonly maxChars: number } | ExcerptLimit;

export type ExcerptLimit =
	| { readonly kind: "chars"; readonly most: number }
	| { readonly kind: "tokens"; readonly most: number };

export function logTruncation(log: Log | undefined, before: number, after: number): void {
	log?.({
		level: "warning",
		message: `Truncated a text (${before} → ${after} chars)`,
		data: { event: "truncated", chars_before: before, chars_after: after },
	});
}

const alwaysHeld = 8 * 1024 * 1024;
/** Characters of a placeholder, or of a marker with its numbers. */
const ofMarkers = 65_536;

/** Bytes above which every output has to be shortened, so that only its excerpt is held. */
export function bytesToHold(limit: StreamLimit, { truncate }: Policy): number {
	// No token is longer than 128 bytes, and no character than three.
	if (limit.kind === "tokens") return Math.max(alwaysHeld, 128 * limit.most);
	if (limit.kind === "chars") return Math.max(alwaysHeld, 3 * limit.most);
	// A text that was cut already is no longer than head, marker and tail.
	const chars = Math.max(limit.maxChars, truncate.head_chars + truncate.tail_chars) + ofMarkers;
	return Math.max(alwaysHeld, 3 * chars);
}

export interface LimitCheck {
	readonly unit: "chars" | "tokens";
	readonly most: number;
	/** In the unit of the limit. */
	readonly sizeOf: (text: string) => number;
	/** The upper estimate if the model's own tokens cannot be counted. */
	readonly countTokens: (text: string) => number;
	readonly fits: (text: string) => boolean;
	/** An excerpt is not searched beyond this many characters. */
	readonly mostChars: number;
}

/** Blank or repeated text has many characters in a token. */
const charsOfToken = 8;

/** Loads a tokenizer only for a limit in tokens. */
export async function limitCheck(limit: ExcerptLimit, policy: Policy): Promise<LimitCheck> {
	const { kind, most } = limit;
	if (kind === "chars") return charsCheck(most);
	const { tokenMeter } = await import("./count.ts");
	const { meter, estimate } = await tokenMeter(policy, policy.guard.model ?? undefined);
	const countTokens = (text: string) => scaleTokens({ tokens: meter.countTokens(text) }, estimate.scale).high;
	// No token is longer than 128 bytes, so a text that is far too long need not be counted.
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
