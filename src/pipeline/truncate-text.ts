import { type Truncation, truncateHeadTail } from "../engine/truncate/head-tail.ts";
import { PalimpsestError } from "../errors.ts";
import type { Policy } from "../policy/schema.ts";
import { wordings } from "../policy/wordings.ts";
import type { Log } from "./log-event.ts";
import { tokenMeter } from "./token-meter.ts";

/** What a truncation did. Characters are UTF-16 code units. */
export interface TruncateReport {
	readonly truncated: boolean;
	readonly chars: { readonly before: number; readonly after: number };
	readonly tokens: { readonly before: number; readonly after: number };
	readonly encoding: string;
	readonly omitted_chars: number;
	/** Half-open range of the original that was left out; null where nothing was. */
	readonly omitted: { readonly start: number; readonly end: number } | null;
}

/** A text to cut. */
export interface TruncateRequest {
	readonly text: string;
	readonly policy: Policy;
	/** Characters up to which the text is left whole, in place of the policy's. */
	readonly maxChars?: number | undefined;
	readonly log?: Log;
}

/**
 * Cuts one large text to its head and tail.
 *
 * @throws PalimpsestError `invalid_argument` where `text` is no string or `maxChars` no whole number.
 */
export async function truncateText(request: TruncateRequest): Promise<{ text: string; report: TruncateReport }> {
	const { text, policy, maxChars = policy.truncate.max_chars, log } = request;
	if (typeof text !== "string") {
		throw new PalimpsestError("invalid_argument", `Expected \`text\` to be a string; got ${typeof text}.`);
	}
	if (!Number.isSafeInteger(maxChars) || maxChars < 0) {
		throw new PalimpsestError(
			"invalid_argument",
			`Expected \`max_chars\` to be a whole number, 0 or more; got ${maxChars}.`,
		);
	}
	const { head_chars: headChars, tail_chars: tailChars } = policy.truncate;
	const cut: Truncation = truncateHeadTail(text, {
		maxChars,
		headChars,
		tailChars,
		marker: wordings(policy).truncateMarker,
	});
	const { encoding, countTokens } = await tokenMeter(policy, policy.guard.model ?? undefined);
	const before = countTokens(text);
	if (cut.truncated) {
		log?.({
			level: "warning",
			message: `Truncated a text (${text.length} → ${cut.text.length} chars)`,
			data: { event: "truncated", chars_before: text.length, chars_after: cut.text.length },
		});
	}
	return {
		text: cut.text,
		report: {
			truncated: cut.truncated,
			chars: { before: text.length, after: cut.text.length },
			tokens: { before, after: cut.truncated ? countTokens(cut.text) : before },
			encoding,
			omitted_chars: cut.omittedChars,
			omitted: cut.omitted ?? null,
		},
	};
}
