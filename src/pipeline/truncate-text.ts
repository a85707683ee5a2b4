import type { Archive } from "../archive/archive.ts";
import { refusePlaceholders } from "../archive/refuse-placeholders.ts";
import { scaleTokens } from "../engine/token-scale.ts";
import { type Truncation, truncateHeadTail } from "../engine/truncate/head-tail.ts";
import { PalimpsestError } from "../errors.ts";
import type { Policy } from "../policy/schema.ts";
import { wordings } from "../policy/wordings.ts";
import { type CountingReport, countingReport } from "./counting-report.ts";
import type { Log } from "./log-event.ts";
import { placeholdersOf } from "./placeholders-of.ts";
import { tokenMeter } from "./token-meter.ts";
import { truncateJsonContent } from "./truncate-json-content.ts";

/** What a truncation did. Characters are UTF-16 code units. */
export interface TruncateReport extends CountingReport {
	readonly truncated: boolean;
	readonly chars: { readonly before: number; readonly after: number };
	readonly tokens: { readonly before: number; readonly after: number };
	/** Least and most tokens of the text as it is answered. */
	readonly band: { readonly low: number; readonly high: number };
	readonly omitted_chars: number;
	/** Half-open range of the original that was left out; null where nothing was, and of the `content` of a JSON object. */
	readonly omitted: { readonly start: number; readonly end: number } | null;
	/** Where the whole text is archived; only with an archive, and where it was cut. */
	readonly ref?: string;
}

/** A text to cut. */
export interface TruncateRequest {
	readonly text: string;
	readonly policy: Policy;
	/** Characters up to which the text is left whole, in place of the policy's. */
	readonly maxChars?: number | undefined;
	/** Where the whole text is kept; without one it is not, and the marker names no reference. */
	readonly archive?: Archive | undefined;
	readonly log?: Log;
}

/**
 * Cuts one large text to its head and tail.
 *
 * @throws PalimpsestError `invalid_argument` where `text` is no string or `maxChars` no whole number;
 * `archive_unavailable` where the whole cannot be kept, unless the policy says otherwise.
 */
export async function truncateText(request: TruncateRequest): Promise<{ text: string; report: TruncateReport }> {
	const { text, policy, maxChars = policy.truncate.max_chars, log, archive } = request;
	if (typeof text !== "string") {
		throw new PalimpsestError("invalid_argument", `Expected \`text\` to be a string; got ${typeof text}.`);
	}
	if (!Number.isSafeInteger(maxChars) || maxChars < 0) {
		throw new PalimpsestError(
			"invalid_argument",
			`Expected \`max_chars\` to be a whole number, 0 or more; got ${maxChars}.`,
		);
	}
	let kept: Kept;
	try {
		kept = await cutAndKeep({ text, policy, maxChars, archive });
	} catch (error) {
		const isLost = error instanceof PalimpsestError && error.code === "archive_unavailable";
		if (!archive || !isLost || policy.on_archive_failure !== "mask_without_recall") throw error;
		return truncateText({ ...request, archive: undefined });
	}
	const { cut, ref } = kept;
	const { meter, estimate } = await tokenMeter(policy, policy.guard.model ?? undefined);
	const tokensOf = (one: string) => scaleTokens({ tokens: meter.countTokens(one) }, estimate.scale);
	const before = tokensOf(text);
	const { tokens: after, ...band } = cut.truncated ? tokensOf(cut.text) : before;
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
			tokens: { before: before.tokens, after },
			band,
			...countingReport(estimate),
			omitted_chars: cut.omittedChars,
			omitted: cut.omitted ?? null,
			...(ref === undefined ? {} : { ref }),
		},
	};
}

interface Kept {
	readonly cut: Truncation;
	/** Where the whole text is archived. */
	readonly ref?: string | undefined;
}

async function cutAndKeep(
	what: Pick<TruncateRequest, "text" | "policy" | "archive"> & { readonly maxChars: number },
): Promise<Kept> {
	const { text, policy, maxChars, archive } = what;
	const isPlaceholder = placeholdersOf(policy);
	// Cut, it would no longer name what it stands for.
	const limit = archive && isPlaceholder(text) ? text.length : maxChars;
	const { head_chars: headChars, tail_chars: tailChars } = policy.truncate;
	const marker = wordings(policy, archive ? "archived" : "not_archived").truncateMarker;
	const limits = { maxChars: limit, headChars, tailChars, marker };
	const inJson = policy.truncate.json_content ? truncateJsonContent(text, limits, archive?.refOf) : undefined;
	const cut = inJson ?? truncateHeadTail(text, limits, archive?.refOf);
	if (!archive || !cut.truncated) return { cut };
	const [ref] = await refusePlaceholders(archive, isPlaceholder).put([{ kind: "text", text }]);
	return { cut, ref };
}
