import type { CompactionStrategy } from "../compaction/strategy.ts";
import { PalimpsestError } from "../errors.ts";
import { type BuiltInStrategy, parseStrategyName } from "../policy/names.ts";
import type { Policy } from "../policy/schema.ts";
import type { Summariser, SummaryAnswer, SummaryProgress } from "../summariser/summariser.ts";
import { planExternal } from "./compact-by-strategy.ts";
import { planHiding, planSummarised } from "./compact-by-summary.ts";
import {
	type CompactionResult,
	type CompactOutcome,
	type CompactReport,
	type CompactRequest,
	type OpenedCompaction,
	openCompaction,
	type PlannedCompaction,
	type StrategyOfCall,
	type SummarySource,
} from "./compaction-request.ts";
import { concludePlan, retryWithoutArchive } from "./conversation.ts";
import { guardConversation } from "./guard.ts";

/**
 * Compacts a conversation by a strategy, if that is due or forced. If anything fails, the conversation comes back
 * unchanged; `error` says if the archive failed.
 * @throws SummariserError; PalimpsestError `not_a_conversation`, `context_window_unknown` if the guard runs instead of
 * a summary, `invalid_argument`, `summary_refused`, `stale_edit`, `thinking_bound`, `strategy_failed`.
 */
export function compactConversation(request: CompactRequest): Promise<CompactOutcome> {
	return retryWithoutArchive({ ...request, answer: askOnce(request.answer) }, compactOnce);
}

/** Caches answers of the model, so that the attempt without the archive does not pay for the same summary again. */
function askOnce(source: SummarySource): SummarySource {
	if (source.kind !== "summariser") return source;
	const { summariser } = source;
	const answers = new Map<string, SummaryAnswer>();
	return {
		kind: "summariser",
		summariser: {
			...summariser,
			async summarise(request) {
				const answer = answers.get(request.prompt) ?? (await summariser.summarise(request));
				answers.set(request.prompt, answer);
				return answer;
			},
		},
	};
}

async function compactOnce(request: CompactRequest): Promise<CompactOutcome> {
	const opened = await openCompaction(request);
	const planned: PlannedCompaction =
		opened.trigger === "not_due" ? { kind: "unchanged" } : await planCompaction(request, opened);
	request.signal?.throwIfAborted();
	if (planned.kind === "guard") return guardInstead(request, opened);
	const isEdited = planned.kind === "edits";
	const { kept, outcome } = await concludePlan(request, opened, {
		plan: isEdited ? planned.edits : [],
		measurement: opened.measurement,
		estimate: opened.estimate,
		rewrites: isEdited && planned.result === "rewritten",
		notes: opened.windowNotes,
	});
	return {
		...outcome,
		report: {
			...outcome.report,
			...decisionOf(request, opened, kept ? resultOf(planned) : "unchanged"),
			...(kept && isEdited && planned.summary ? { summary: planned.summary } : {}),
		},
		...(planned.kind === "request" ? { request: planned.request } : {}),
	};
}

/**
 * `hiding-then-summary` summarises only if nothing was left to hide
 * (docs/specs/compaction-strategies.md#hiding-then-summary).
 */
async function planCompaction(request: CompactRequest, opened: OpenedCompaction): Promise<PlannedCompaction> {
	const { strategy, answer, policy } = request;
	// The caller was asked for this summary in an earlier call.
	if (answer.kind === "given") return planSummarised(request, opened);
	if (strategy.kind === "external") return planExternal({ ...request, strategy }, opened);
	if (strategy.name !== "llm-summary") {
		const edits = planHiding(opened, policy);
		if (edits.length > 0) return { kind: "edits", edits, result: "hidden" };
	}
	return strategy.name === "tool-result-hiding" ? { kind: "unchanged" } : planSummarised(request, opened);
}

function resultOf(planned: Exclude<PlannedCompaction, { kind: "guard" }>): CompactionResult {
	if (planned.kind === "edits") return planned.result;
	return planned.kind === "request" ? "summary_requested" : "unchanged";
}

async function guardInstead(request: CompactRequest, opened: OpenedCompaction): Promise<CompactOutcome> {
	const { contextWindow, reserveTokens } = opened;
	if (contextWindow === undefined) {
		throw new PalimpsestError(
			"context_window_unknown",
			"Nobody can be asked for a summary, and without a context window the guard cannot take its place: give `context_window` in tokens, or name a `model`.",
		);
	}
	const outcome = await guardConversation({ ...request, contextWindow, reserveTokens });
	const { report } = outcome;
	const decision = decisionOf(request, opened, report.changed ? "guarded" : "unchanged");
	const notes = [...report.notes, ...opened.windowNotes];
	return { ...outcome, report: { ...report, notes, ...decision, context_window: contextWindow } };
}

function decisionOf(
	{ strategy }: CompactRequest,
	{ trigger, contextWindow, reserveTokens }: OpenedCompaction,
	result: CompactionResult,
): Pick<CompactReport, "strategy" | "trigger" | "result" | "context_window" | "reserve_tokens"> {
	return {
		strategy: strategy.name,
		trigger,
		result,
		...(contextWindow === undefined ? {} : { context_window: contextWindow }),
		reserve_tokens: reserveTokens,
	};
}

/** Options of the library for a compaction. */
export interface CompactionOptions {
	/** By name, or an object of your own; by default the policy's. */
	readonly strategy?: BuiltInStrategy | CompactionStrategy | undefined;
	/** Writes the summary; `createOpenAiCompatible` makes one. */
	readonly summariser?: Summariser | undefined;
	/** Ends calls of models; the conversation stays as it was. */
	readonly signal?: AbortSignal | undefined;
	/** Receives each step of a model call and each retry. */
	readonly onProgress?: ((progress: SummaryProgress) => void) | undefined;
}

type OptionsWithSummary = CompactionOptions & {
	readonly summary?: string | undefined;
	readonly summaryToken?: string | undefined;
};

/**
 * The strategy of a library call and the source of its summary.
 * @throws PalimpsestError `invalid_argument` for a summary's token without a summary, `invalid_policy` if the policy
 * names an external strategy, which a program must pass as an object.
 */
export function compactionOfOptions(
	options: OptionsWithSummary,
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

function answerOf({ summary, summaryToken: token, summariser }: OptionsWithSummary, policy: Policy): SummarySource {
	if (summary !== undefined) return { kind: "given", summary, token };
	if (token !== undefined) {
		throw new PalimpsestError("invalid_argument", "Expected a summary's token only together with the summary.");
	}
	if (summariser) return { kind: "summariser", summariser };
	const way = policy.compaction.answered_by.find((one) => one === "caller" || one === "none");
	return { kind: way === "none" ? "none" : "caller" };
}
