import { lostIdentifiers, textsOfMessages } from "../../engine/compaction/lost-identifiers.ts";
import { type PickedRange, pickRange } from "../../engine/compaction/pick-range.ts";
import { planSummary } from "../../engine/compaction/plan-summary.ts";
import { frameSummary, summaryOfMessage } from "../../engine/compaction/summary-frame.ts";
import type { Size } from "../../engine/edit.ts";
import { startSum } from "../../engine/size.ts";
import { scaleTokens } from "../../engine/token-scale.ts";
import type { SummaryReport } from "./compact-report.ts";
import type { CompactRequest } from "./compact-request.ts";
import { obtainSummary } from "./obtain-summary.ts";
import type { OpenedCompaction } from "./open-compaction.ts";
import type { PlannedCompaction } from "./planned-compaction.ts";
import { rangeJson } from "./range-json.ts";
import { showRange } from "./show-range.ts";
import { isTooShortToSummarise } from "./summary-overhead.ts";
import { rangeOfToken, summaryToken } from "./summary-token.ts";

/**
 * Plans a summary in the place of all but the task and the last messages (seed 3's `llm-summary`), or asks the caller for
 * one.
 *
 * @throws as `obtainSummary` and `rangeOfToken` do.
 */
export async function planSummarised(request: CompactRequest, opened: OpenedCompaction): Promise<PlannedCompaction> {
	const { policy, answer, archive, signal, onProgress } = request;
	const { source, meter, measurement, scale } = opened;
	const range = rangeOf(request, opened);
	if (!range) return { kind: "unchanged" };
	const before = startSum();
	for (const index of range.messages) before.add(measurement.messages[index] ?? nothing);
	const { tokens: rangeTokens } = before.total();

	if (answer.kind === "none") return { kind: "guard" };
	if (answer.kind !== "given" && isTooShortToSummarise(rangeTokens, policy.locale, meter)) return { kind: "unchanged" };
	if (answer.kind === "caller") return { kind: "request", request: callerRequest(request, opened, range, rangeTokens) };
	const { transcript } = source;
	const asked = { source: answer, transcript, range, rangeTokens, policy, meter, signal, onProgress };
	const { text, by, parts, usage } = await obtainSummary(asked);

	const original = archive && rangeJson(source, range);
	const takenOut =
		archive && original !== undefined
			? ({ kind: "group", text: original, ref: archive.refOf(original) } as const)
			: undefined;
	const framed = frameSummary({ summary: text, locale: policy.locale, ref: takenOut?.ref });
	const { document, located, format } = source;
	const { messages: sizes } = measurement;
	const where = { document, transcript, base: located.base, writer: format.write };
	const edits = planSummary({ ...where, range, sizes, text: framed, meter, takenOut });
	const { lost, found, lostCount } = lostIdentifiers({
		texts: textsOfMessages(transcript, range.messages),
		summary: text,
	});
	const tokens = (size: Size) => scaleTokens(size, scale).tokens;
	const summary: SummaryReport = {
		by,
		messages: range.messages.length,
		tokens: { before: tokens(before.total()), after: tokens(edits[0]?.after ?? nothing) },
		...(takenOut ? { ref: takenOut.ref } : {}),
		parts,
		...(usage ? { usage: { prompt_tokens: usage.promptTokens, completion_tokens: usage.completionTokens } } : {}),
		lost_identifiers: lost.map(({ text: name, kind }) => ({ text: name, kind })),
		identifiers: { found, lost: lostCount },
	};
	return { kind: "edits", edits, result: "summarised", summary };
}

const nothing: Size = { chars: 0, tokens: 0 };

function rangeOf({ policy, answer }: CompactRequest, { source }: OpenedCompaction): PickedRange | undefined {
	if (answer.kind === "given" && answer.token !== undefined) return rangeOfToken(source, answer.token);
	const { transcript } = source;
	return pickRange({
		transcript,
		keepLastMessages: policy.compaction.keep_last_messages,
		pinTask: policy.guard.pin_task,
		isSummary: (index) => {
			const message = transcript.messages[index];
			return message !== undefined && summaryOfMessage(message) !== undefined;
		},
	});
}

function callerRequest(
	{ policy }: CompactRequest,
	{ source, meter, scale }: OpenedCompaction,
	range: PickedRange,
	rangeTokens: number,
) {
	const { transcript } = source;
	const { caller_prompt_tokens: promptTokens, max_summary_tokens } = policy.compaction;
	const shown = showRange({ transcript, range, policy, promptTokens, countTokens: meter.countTokens });
	return {
		summary_token: summaryToken(source, range),
		prompt: shown.writePrompt(shown.pieces),
		max_summary_tokens,
		messages: {
			first: range.first,
			last: range.messages.at(-1) ?? range.first,
			count: range.messages.length,
			tokens: scaleTokens({ tokens: rangeTokens }, scale).tokens,
		},
	};
}
