import type { CompactionStrategy } from "../compaction/strategy.ts";
import { notesOnRoles, reportOf } from "../conversation/report.ts";
import { PalimpsestError } from "../errors.ts";
import { type BuiltInStrategy, parseStrategyName } from "../policy/names.ts";
import type { Policy } from "../policy/schema.ts";
import type { Summariser, SummaryProgress } from "../summariser/summariser.ts";
import { type CarriedOut, carryOut, completePlan, despiteArchive } from "./carry-out.ts";
import { planExternal } from "./compact-by-strategy.ts";
import { planHiding, planSummarised } from "./compact-by-summary.ts";
import {
	asksOnce,
	type CompactionResult,
	type CompactOutcome,
	type CompactReport,
	type CompactRequest,
	decided,
	type OpenedCompaction,
	openCompaction,
	type PlannedCompaction,
	type StrategyOfCall,
	type SummarySource,
} from "./compaction-request.ts";
import { countingReport } from "./count.ts";
import { editRecord, planEvents, refsOfGroups } from "./edit-record.ts";
import { guardConversation } from "./guard.ts";

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

/** How a program compacts. */
export interface CompactionOptions {
	/** By name, or an object of your own; by default the policy's. */
	readonly strategy?: BuiltInStrategy | CompactionStrategy | undefined;
	/** Who is asked for a summary, such as `createOpenAiCompatible` makes one. */
	readonly summariser?: Summariser | undefined;
	/** Ends calls of models at any moment; the conversation stays as it was. */
	readonly signal?: AbortSignal | undefined;
	/** Told of each step of a model call and of each retry. */
	readonly onProgress?: ((progress: SummaryProgress) => void) | undefined;
}

/**
 * The strategy of a program's call and where its summary comes from.
 *
 * @throws PalimpsestError `invalid_argument` for a summary's token without a summary, `invalid_policy` where the policy
 * names an external strategy: a program passes the object.
 */
export function compactionOfOptions(
	options: CompactionOptions & { readonly summary?: string | undefined; readonly summaryToken?: string | undefined },
	policy: Policy,
): Pick<CompactRequest, "strategy" | "answer"> {
	return { strategy: strategyOf(options, policy), answer: answerOf(options, policy) };
}

function strategyOf({ strategy }: CompactionOptions, policy: Policy): StrategyOfCall {
	if (typeof strategy === "object") return { kind: "external", name: nameOf(strategy), strategy };
	const parsed = parseStrategyName(strategy ?? policy.compaction.strategy);
	if (parsed.kind === "built_in") return parsed;
	const why =
		parsed.kind === "unusable" ? parsed.problem : "a program passes its own as the object: `strategy: new Own()`.";
	throw new PalimpsestError("invalid_policy", `The compaction strategy cannot be used: ${why}`);
}

function nameOf(strategy: CompactionStrategy): string {
	const { name } = strategy.constructor;
	return name === "Object" || name === "" ? "own" : name;
}

function answerOf(
	options: CompactionOptions & { readonly summary?: string | undefined; readonly summaryToken?: string | undefined },
	policy: Policy,
): SummarySource {
	const { summary, summaryToken: token, summariser } = options;
	if (summary !== undefined) return { kind: "given", summary, token };
	if (token !== undefined) {
		throw new PalimpsestError("invalid_argument", "Expected a summary's token only together with the summary.");
	}
	if (summariser) return { kind: "summariser", summariser };
	const way = policy.compaction.answered_by.find((one) => one === "caller" || one === "none");
	return { kind: way === "none" ? "none" : "caller" };
}

/**
 * The guard's ladder in the place of a summary that nobody can be asked for.
 *
 * @throws PalimpsestError `context_window_unknown` where there is no window to bring the conversation within, `no_budget`.
 */
export async function guardInstead(request: CompactRequest, opened: OpenedCompaction): Promise<CompactOutcome> {
	const { contextWindow, reserveTokens } = opened;
	if (contextWindow === undefined) {
		throw new PalimpsestError(
			"context_window_unknown",
			"Nobody can be asked for a summary, and without a context window the guard cannot take its place: give `context_window` in tokens, or name a `model`.",
		);
	}
	const outcome = await guardConversation({ ...request, contextWindow, reserveTokens });
	const { report } = outcome;
	const made = decided(request, opened, report.changed ? "guarded" : "unchanged");
	const notes = [...report.notes, ...opened.windowNotes];
	return { ...outcome, report: { ...report, notes, ...made, context_window: contextWindow } };
}

/**
 * Runs the strategy of a call. `hiding-then-summary` hides, and summarises if nothing was left to hide, so a conversation
 * that is still too large is summarised in the next round (docs/specs/compaction-strategies.md#hiding-then-summary).
 */
export async function planCompaction(request: CompactRequest, opened: OpenedCompaction): Promise<PlannedCompaction> {
	const { strategy, answer, policy } = request;
	// Who brings a summary was asked for one.
	if (answer.kind === "given") return planSummarised(request, opened);
	if (strategy.kind === "external") return planExternal({ ...request, strategy }, opened);
	if (strategy.name !== "llm-summary") {
		const { transcript, wording, isPlaceholder, meter, archiving } = opened;
		const { countTokens } = meter;
		const edits = planHiding({ transcript, policy, wording, isPlaceholder, countTokens, archiving });
		if (edits.length > 0) return { kind: "edits", edits, result: "hidden" };
	}
	return strategy.name === "tool-result-hiding" ? { kind: "unchanged" } : planSummarised(request, opened);
}
