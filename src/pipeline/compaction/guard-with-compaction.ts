import { largestConsumers } from "../../engine/consumers.ts";
import { measure } from "../../engine/measure.ts";
import { PalimpsestError } from "../../errors.ts";
import { type ReadConversation, readConversation } from "../../formats/read-conversation.ts";
import { type GuardRequest, guardConversation, openBudget } from "../guard-conversation.ts";
import type { GuardReport } from "../guard-report.ts";
import { longConversation } from "../long-conversation.ts";
import type { Outcome } from "../mask-conversation.ts";
import { modelOfCall } from "../model-of-call.ts";
import { tokenMeter } from "../token-meter.ts";
import { compactConversation } from "./compact-conversation.ts";
import type { CallerRequest, CompactionResult, SummaryReport } from "./compact-report.ts";
import type { CompactRequest } from "./compact-request.ts";
import { composeEdits } from "./compose-edits.ts";
import { messageOrigins } from "./message-origins.ts";
import { stepsOf, tracksOf } from "./trace-path.ts";

/** A conversation to guard, and how it is compacted first where it has too many messages and the policy allows it. */
export type GuardWithCompactionRequest = GuardRequest &
	Pick<CompactRequest, "signal" | "onProgress"> & {
		/** Made where a compaction is due. */
		readonly compaction: () => Promise<Pick<CompactRequest, "strategy" | "answer">>;
	};

/** What came of the compaction that a guarding began with. */
export type AutoCompaction =
	| {
			readonly strategy: string;
			readonly result: CompactionResult;
			readonly summary?: SummaryReport;
			/**
			 * With `summary_requested`: there is nobody to write the summary but the caller. It is put in by a compaction of the
			 * conversation as it was passed in, with the summary and its token.
			 */
			readonly request?: CallerRequest;
	  }
	/** It failed; the guard went on without. */
	| { readonly result: "failed"; readonly code: string; readonly message: string };

/** What a guarding did that may have begun with a compaction. */
export interface GuardWithCompactionReport extends GuardReport {
	/** Present where the conversation had `max_messages` or more and the policy says `auto_compact`. */
	readonly compaction?: AutoCompaction;
}

/**
 * Guards a conversation as `guardConversation` does; one that has `guard.max_messages` or more is compacted first where
 * the policy says `guard.auto_compact` (seed 4, task 3). Where that fails the guard goes on without and says so; where
 * nobody can be asked for a summary, it goes on without and the report holds the request for one.
 *
 * @throws as `guardConversation` does.
 */
export async function guardWithCompaction(
	request: GuardWithCompactionRequest,
): Promise<Outcome<GuardWithCompactionReport>> {
	const { conversation, policy } = request;
	const { enabled, auto_compact, max_messages } = policy.guard;
	if (!enabled || !auto_compact || max_messages === null) return guardConversation(request);
	const source = readConversation(conversation);
	const long = longConversation(source.transcript, policy);
	if (!long.max_messages?.reached) return guardConversation(request);

	// Nobody is asked for a summary of what cannot be guarded.
	await openBudget(request);
	const compacted = await tryToCompact(request);
	const goOnWithout = async (compaction: AutoCompaction) => {
		const guarded = await guardConversation(request);
		return { ...guarded, report: { ...guarded.report, compaction } };
	};
	if (compacted.kind === "failed") return goOnWithout(compacted.compaction);
	const { outcome } = compacted;
	const compaction = compactionOf(outcome);
	if (!outcome.report.changed) return goOnWithout(compaction);
	// The usage was reported for the conversation before it was compacted.
	const guarded = await guardConversation({ ...request, conversation: outcome.conversation, usage: undefined });
	const { report } = guarded;
	// What was compacted is no outcome by itself: the guard promises to fit.
	if (guarded.error) return goOnWithout(failure(guarded.error));
	const between = readConversation(outcome.conversation);
	const tracks = tracksOf(source.document, stepsOf(outcome.edits, source.document));
	const origins = messageOrigins(source, between, tracks);
	const replaced = new Set(
		outcome.edits.flatMap(({ kind, reason, message }) => (kind === "replace" && reason === "summary" ? [message] : [])),
	);
	/** A summary is no message of the input. */
	const before = (message: number) => (replaced.has(origins[message]) ? -1 : (origins[message] ?? -1));
	const groups = (report.dropped_groups ?? []).map(({ ref, messages }) => ({
		ref,
		messages: messages.map(before).filter((message) => message >= 0),
	}));
	const dropped = [...(outcome.report.dropped_groups ?? []), ...groups];
	return {
		...guarded,
		edits: composeEdits({ source, between, first: outcome.edits, second: guarded.edits }),
		report: {
			...report,
			changed: true,
			messages: { before: outcome.report.messages.before, after: report.messages.after },
			tool_turns: outcome.report.tool_turns,
			tool_results: outcome.report.tool_results,
			chars: { before: outcome.report.chars.before, after: report.chars.after },
			tool_chars: { before: outcome.report.tool_chars.before, after: report.tool_chars.after },
			tokens: { before: outcome.report.tokens.before, after: report.tokens.after },
			masked_tool_results: outcome.report.masked_tool_results + report.masked_tool_results,
			largest: await largestOf(request, source),
			...(dropped.length > 0 ? { dropped_groups: dropped } : {}),
			...long,
			compaction,
		},
	};
}

/** What takes the most in the conversation as it was passed in: the guard itself sees it compacted. */
async function largestOf({ policy, model, conversation }: GuardRequest, { transcript }: ReadConversation) {
	const { meter, estimate } = await tokenMeter(policy, modelOfCall(model, conversation, policy));
	const { messages: sizes } = measure(transcript, meter);
	return largestConsumers(transcript, { sizes, scale: estimate.scale });
}

type Attempt =
	| { readonly kind: "done"; readonly outcome: Awaited<ReturnType<typeof compactConversation>> }
	| { readonly kind: "failed"; readonly compaction: AutoCompaction };

async function tryToCompact(request: GuardWithCompactionRequest): Promise<Attempt> {
	const failed = (error: PalimpsestError): Attempt => ({ kind: "failed", compaction: failure(error) });
	try {
		const { lastResponse: _, usage: __, compaction, ...shared } = request;
		const outcome = await compactConversation({ ...shared, ...(await compaction()), force: true });
		return outcome.error ? failed(outcome.error) : { kind: "done", outcome };
	} catch (error) {
		if (!(error instanceof PalimpsestError)) throw error;
		return failed(error);
	}
}

function compactionOf({ report, request }: Awaited<ReturnType<typeof compactConversation>>): AutoCompaction {
	const { strategy, result, summary } = report;
	return { strategy, result, ...(summary ? { summary } : {}), ...(request ? { request } : {}) };
}

function failure({ code, message }: PalimpsestError): AutoCompaction {
	return { result: "failed", code, message };
}
