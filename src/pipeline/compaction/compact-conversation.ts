import { notesOnRoles, reportOf } from "../../engine/report.ts";
import { type CarriedOut, carryOut } from "../carry-out.ts";
import { completePlan } from "../complete-plan.ts";
import { countingReport } from "../counting-report.ts";
import { despiteArchive } from "../despite-archive.ts";
import { editRecord, refsOfGroups } from "../edit-record.ts";
import { planEvents } from "../plan-events.ts";
import { asksOnce } from "./asks-once.ts";
import type { CompactOutcome } from "./compact-outcome.ts";
import type { CompactionResult, CompactReport } from "./compact-report.ts";
import type { CompactRequest } from "./compact-request.ts";
import { decided } from "./decided.ts";
import { guardInstead } from "./guard-instead.ts";
import { type OpenedCompaction, openCompaction } from "./open-compaction.ts";
import { planCompaction } from "./plan-compaction.ts";
import type { PlannedCompaction } from "./planned-compaction.ts";

/**
 * Compacts a conversation by a strategy, where that is due or forced. Whatever fails, the conversation comes back as it
 * was.
 *
 * With an archive, what is taken out is kept there first; where that fails, the conversation comes back as it was, with the
 * error `archive_unavailable`, unless the policy says otherwise.
 *
 * @throws SummariserError where a model could not be asked. PalimpsestError `not_a_conversation`,
 * `context_window_unknown` where the guard takes a summary's place, `invalid_argument`, `summary_refused`, `stale_edit` for a summary of
 * messages that are not there any more, `thinking_bound`, `strategy_failed`.
 */
export function compactConversation(request: CompactRequest): Promise<CompactOutcome> {
	// A model is asked once, also where the archive fails and all is done again without it.
	return despiteArchive({ ...request, answer: asksOnce(request.answer) }, compactOnce);
}

async function compactOnce(request: CompactRequest): Promise<CompactOutcome> {
	const opened = await openCompaction(request);
	const planned: PlannedCompaction =
		opened.trigger === "not_due" ? { kind: "unchanged" } : await planCompaction(request, opened);
	request.signal?.throwIfAborted();
	if (planned.kind === "guard") return guardInstead(request, opened);
	return conclude(request, opened, planned);
}

async function conclude(
	request: CompactRequest,
	opened: OpenedCompaction,
	planned: Exclude<PlannedCompaction, { kind: "guard" }>,
): Promise<CompactOutcome> {
	const { conversation, policy, archive, spellingsOf, log } = request;
	const { source, transcript, meter, measurement, estimate, scale, isPlaceholder, wording } = opened;
	const { countTokens } = meter;
	const edits = planned.kind === "edits" ? planned.edits : [];
	const { plan, thinking } = completePlan({ source, plan: edits, policy, countTokens });
	const isRewritten = planned.kind === "edits" && planned.result === "rewritten";
	const settled = await carryOut({
		source,
		plan,
		countTokens,
		archive,
		isPlaceholder,
		spellingsOf,
		...(isRewritten ? { rewrite: { meter } } : {}),
	});
	const isKept = settled.kind === "kept_promises";
	const done = isKept ? plan : [];
	const inCommon = { document: conversation, scale, refOfGroup: refsOfGroups(settled) };
	for (const event of planEvents(done, { unknownTool: wording.unknownTool, scale })) log?.(event);
	const report = reportOf(transcript, measurement, done, scale);
	return {
		conversation: settled.document,
		edits: done.map((edit) => editRecord(edit, inCommon)),
		report: {
			...report,
			notes: [...report.notes, ...notesOnRoles(source.document, transcript), ...opened.windowNotes, ...estimate.notes],
			...countingReport(estimate),
			...decided(request, opened, isKept ? resultOf(planned) : "unchanged"),
			...(isKept && planned.kind === "edits" && planned.summary ? { summary: planned.summary } : {}),
			...(thinking ? { thinking } : {}),
			...groupsOf(settled),
		},
		...(planned.kind === "request" ? { request: planned.request } : {}),
		...(settled.kind === "kept_promises" ? {} : { error: settled.error }),
	};
}

function resultOf(planned: Exclude<PlannedCompaction, { kind: "guard" }>): CompactionResult {
	switch (planned.kind) {
		case "edits":
			return planned.result;
		case "request":
			return "summary_requested";
		case "unchanged":
			return "unchanged";
	}
}

function groupsOf(settled: CarriedOut): Pick<CompactReport, "dropped_groups"> {
	return settled.kind === "kept_promises" && settled.groups.length > 0 ? { dropped_groups: settled.groups } : {};
}
