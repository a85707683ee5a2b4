import { markWhole, pinnedWords } from "../engine/compaction/kept-words.ts";
import { planRewrite } from "../engine/compaction/rewrite-edits.ts";
import type { CompactionContext, CompactionStrategy } from "../engine/compaction/strategy.ts";
import { usersTexts } from "../engine/compaction/users-words.ts";
import { compactJson } from "../engine/conversation/json.ts";
import { measure, scaleTokens, sizeOf } from "../engine/conversation/measure.ts";
import { valueAt } from "../engine/conversation/paths.ts";
import type { Size } from "../engine/conversation/plan.ts";
import { PalimpsestError } from "../errors.ts";
import { locateMessages } from "../formats/detect.ts";
import { planProvider } from "./compact-by-provider.ts";
import { planHiding, planSummarised } from "./compact-by-summary.ts";
import {
	type CompactionResult,
	type CompactOutcome,
	type CompactRequest,
	type OpenedCompaction,
	openCompaction,
	type PlannedCompaction,
	type StrategyOfCall,
	type SummarySource,
	strategyLlm,
	unchanged,
} from "./compaction-request.ts";
import { concludePlan, policyOfRewrite, retryWithoutArchive } from "./conversation.ts";
import { guardConversation } from "./guard.ts";
import type { SummaryAnswer } from "./summariser/summariser.ts";

/**
 * The conversation comes back unchanged if anything fails; `error` says if the archive failed. Throws SummariserError;
 * PalimpsestError `not_a_conversation`, `context_window_unknown`, `invalid_argument`, `summary_refused`, `stale_edit`,
 * `thinking_bound`, `strategy_failed`.
 */
export function compactConversation(request: CompactRequest): Promise<CompactOutcome> {
	const policy = policyOfRewrite(request.policy);
	return retryWithoutArchive({ ...request, policy, answer: askOnce(request.answer) }, compactOnce);
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
	const planned = opened.trigger === "not_due" ? unchanged : await planCompaction(request, opened);
	request.signal?.throwIfAborted();
	if (planned === "guard") return guardInstead(request, opened);
	const { kept, outcome } = await concludePlan(request, opened, {
		plan: planned.edits ?? [],
		measurement: opened.measurement,
		estimate: opened.estimate,
		rewrites: planned.result === "rewritten" || planned.swap !== undefined,
		swap: planned.swap,
		pinned: planned.pinned,
		notes: [...opened.windowNotes, ...(planned.notes ?? [])],
	});
	const { result, summary, request: ofSummary }: PlannedCompaction = kept ? planned : unchanged;
	return {
		...outcome,
		report: { ...outcome.report, ...decisionOf(request, opened, result), ...(summary && { summary }) },
		...(ofSummary && { request: ofSummary }),
	};
}

/** docs/compaction.md#hiding-then-summary */
async function planCompaction(request: CompactRequest, opened: OpenedCompaction): Promise<PlannedCompaction | "guard"> {
	const { strategy, answer, policy } = request;
	if (strategy.kind === "built_in" && strategy.name === "provider") return planProvider(request, opened);
	// The caller was asked for this summary in an earlier call.
	if (answer.kind === "given") return planSummarised(request, opened);
	if (strategy.kind === "external") return planExternal({ ...request, strategy }, opened);
	if (strategy.name !== "llm-summary") {
		const edits = planHiding(opened, policy);
		if (edits.length > 0) return { edits, result: "hidden" };
	}
	return strategy.name === "tool-result-hiding" ? unchanged : planSummarised(request, opened);
}

async function guardInstead(request: CompactRequest, opened: OpenedCompaction): Promise<CompactOutcome> {
	const { contextWindow, reserveTokens } = opened;
	if (contextWindow === undefined) {
		const message =
			"No summariser is configured, and without a context window the guard cannot take its place: give `context_window` in tokens, or name a `model`.";
		throw new PalimpsestError("context_window_unknown", message);
	}
	const outcome = await guardConversation({ ...request, contextWindow, reserveTokens });
	const { report } = outcome;
	const decision = decisionOf(request, opened, report.changed ? "guarded" : "unchanged");
	const notes = [...report.notes, ...opened.windowNotes];
	return { ...outcome, report: { ...report, notes, ...decision, context_window: contextWindow } };
}

function decisionOf({ strategy }: CompactRequest, opened: OpenedCompaction, result: CompactionResult) {
	const { trigger, contextWindow, reserveTokens } = opened;
	return {
		strategy: strategy.name,
		trigger,
		result,
		...(contextWindow === undefined ? {} : { context_window: contextWindow }),
		reserve_tokens: reserveTokens,
	};
}

// ---- Strategies of the user ----

async function planExternal(
	request: CompactRequest & { readonly strategy: Extract<StrategyOfCall, { kind: "external" }> },
	opened: OpenedCompaction,
): Promise<PlannedCompaction> {
	const { name, strategy } = request.strategy;
	const { source, measurement } = opened;
	const { located, format, transcript } = source;
	const after = await run(strategy, name, contextOf(request, opened));
	const { links } = format;
	// A record that is rewritten under its id stays in place, because other records refer to it.
	const identityOf = (value: unknown) => {
		const id = links && valueAt(value, links.id);
		return typeof id === "string" ? id : undefined;
	};
	const rewrite = planRewrite({
		source: { transcript, base: located.base, messages: located.messages },
		after,
		sizes: measurement.messages,
		sizeOf: (value) => sizeOfValue(value, opened),
		identityOf,
	});
	if (rewrite.kind === "refused") {
		throw failed(name, `${rewrite.detail} It must return messages of the format ${format.name}, or null.`);
	}
	if (rewrite.kind === "unchanged") return unchanged;
	const keeps = request.policy.compaction.keep_user_text === true;
	const pinned = keeps ? pinnedWords(markWhole(usersTexts(source).flat())) : [];
	return { edits: rewrite.plan, result: "rewritten", pinned };
}

function contextOf(request: CompactRequest, opened: OpenedCompaction): CompactionContext {
	const { answer, policy, signal, onProgress } = request;
	const { source, measurement, scale, contextWindow, reserveTokens } = opened;
	return {
		// A deep copy, which the strategy may change.
		history: JSON.parse(compactJson(source.located.messages)),
		format: source.format.name,
		token_count: scaleTokens(measurement.total, scale).high,
		max_context_size: contextWindow ?? Number.POSITIVE_INFINITY,
		reserved_context_size: reserveTokens,
		llm: strategyLlm({ answer, policy, signal, onProgress }),
		signal,
	};
}

async function run(strategy: CompactionStrategy, name: string, context: CompactionContext): Promise<unknown> {
	context.signal?.throwIfAborted();
	try {
		return await unlessAborted(strategy.compact(context), context.signal);
	} catch (error) {
		context.signal?.throwIfAborted();
		if (error instanceof PalimpsestError) throw error;
		// Its message may quote the conversation.
		throw failed(name, `It threw ${error instanceof Error ? error.name : `a ${typeof error}`}.`, error);
	}
}

function failed(name: string, detail: string, cause?: unknown): PalimpsestError {
	const message = `The compaction strategy ${JSON.stringify(name)} failed; the conversation is unchanged. ${detail}`;
	return new PalimpsestError("strategy_failed", message, { cause });
}

function sizeOfValue(value: unknown, { source, meter }: OpenedCompaction): Size {
	const { messages } = source.format.read(locateMessages([value]));
	if (messages.length === 0) return sizeOf(compactJson(value), meter.countTokens);
	return measure({ ...source.transcript, messages, surroundings: [] }, meter).total;
}

async function unlessAborted<Value>(work: Promise<Value> | Value, signal: AbortSignal | undefined): Promise<Value> {
	if (!signal) return work;
	let stop = () => {};
	const aborted = new Promise<never>((_, reject) => {
		stop = () => reject(signal.reason);
		signal.addEventListener("abort", stop);
		if (signal.aborted) stop();
	});
	try {
		return await Promise.race([work, aborted]);
	} finally {
		signal.removeEventListener("abort", stop);
	}
}
