import { refusePlaceholders } from "../archive/refuse-placeholders.ts";
import { scaleTokens } from "../engine/token-scale.ts";
import type { LineSpan } from "../engine/truncate/truncation-types.ts";
import { PalimpsestError } from "../errors.ts";
import type { Policy } from "../policy/schema.ts";
import { type CountingReport, countingReport } from "./counting-report.ts";
import { type CutOptions, cutOfCall, nameOfLimit } from "./cut-of-call.ts";
import { type CutText, cutText } from "./cut-text.ts";
import type { Log } from "./log-event.ts";
import { type KeepsOriginals, originalsOf } from "./originals-of.ts";
import { placeholdersOf } from "./placeholders-of.ts";
import { tokenMeter } from "./token-meter.ts";

/** What a truncation did. Characters are UTF-16 code units. */
export interface TruncateReport extends CountingReport {
	readonly truncated: boolean;
	/** How the text was cut: what `auto` has chosen, or what was asked for. */
	readonly strategy: CutText["strategy"];
	readonly chars: { readonly before: number; readonly after: number };
	readonly tokens: { readonly before: number; readonly after: number };
	/** Least and most tokens of the text as it is answered. */
	readonly band: { readonly low: number; readonly high: number };
	/** Lines of the original, and how many of them are kept whole. */
	readonly lines: { readonly before: number; readonly kept: number };
	/** Lines that are kept whole, from 1, each range as `recall_original` takes it: "12-40". */
	readonly kept_lines: readonly string[];
	/** Lines of which something is left out. */
	readonly omitted_lines: readonly string[];
	readonly omitted_chars: number;
	/**
	 * Half-open range of the original that was left out; null where nothing was, or several, and of the `content` of a JSON
	 * object.
	 */
	readonly omitted: { readonly start: number; readonly end: number } | null;
	/** Where the whole text is archived; only with an archive, and where it was cut. */
	readonly ref?: string;
}

/** A text to cut. */
export interface TruncateRequest extends CutOptions, KeepsOriginals {
	readonly text: string;
	readonly policy: Policy;
	readonly log?: Log;
}

/**
 * Cuts one large text: to its head and tail, or by a strategy to what matters in it.
 *
 * @throws PalimpsestError `invalid_argument` where `text` is no string, a limit no whole number or too small for the note on
 * what is left out, or both limits are given;
 * `archive_unavailable` where the whole cannot be kept, unless the policy says otherwise.
 */
export async function truncateText(request: TruncateRequest): Promise<{ text: string; report: TruncateReport }> {
	const { text, policy, log, archive } = request;
	if (typeof text !== "string") {
		throw new PalimpsestError("invalid_argument", `Expected \`text\` to be a string; got ${typeof text}.`);
	}
	let kept: Kept;
	try {
		kept = await cutAndKeep(request);
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
			strategy: cut.strategy,
			chars: { before: text.length, after: cut.text.length },
			tokens: { before: before.tokens, after },
			band,
			...countingReport(estimate),
			...linesReport(cut),
			omitted_chars: cut.omittedChars,
			omitted: cut.omitted ?? null,
			...(ref === undefined ? {} : { ref }),
		},
	};
}

function linesReport({ lines, omittedLines }: CutText): Pick<TruncateReport, "lines" | "kept_lines" | "omitted_lines"> {
	const kept: LineSpan[] = [];
	let next = 1;
	for (const { from, to } of omittedLines) {
		if (from > next) kept.push({ from: next, to: from - 1 });
		next = to + 1;
	}
	if (next <= lines) kept.push({ from: next, to: lines });
	return {
		lines: { before: lines, kept: kept.reduce((sum, { from, to }) => sum + to - from + 1, 0) },
		kept_lines: kept.map(spelled),
		omitted_lines: omittedLines.map(spelled),
	};
}

function spelled({ from, to }: LineSpan): string {
	return `${from}-${to}`;
}

interface Kept {
	readonly cut: CutText;
	/** Where the whole text is archived. */
	readonly ref?: string | undefined;
}

async function cutAndKeep(request: TruncateRequest): Promise<Kept> {
	const { text, policy, focus, archive } = request;
	const asked = cutOfCall(policy, request);
	const isPlaceholder = placeholdersOf(policy);
	// Cut, it would no longer name what it stands for.
	const isKept = archive !== undefined && isPlaceholder(text);
	const how = isKept ? cutOfCall(policy, { maxChars: text.length, strategy: asked.strategy }) : asked;
	const originals = originalsOf(request);
	const limitName = nameOfLimit(how, request);
	const cut = await cutText({ text, policy, cut: how, limitName, focus, originals, refOf: archive?.refOf });
	if (!archive || !cut.truncated) return { cut };
	const [ref] = await refusePlaceholders(archive, isPlaceholder).put([{ kind: "text", text }]);
	return { cut, ref };
}
