import { measure } from "../conversation/measure.ts";
import { PalimpsestError } from "../errors.ts";
import { type ReadConversation, readConversation } from "../formats/detect.ts";
import { compactConversation } from "./compact.ts";
import type {
	CallerRequest,
	CompactionResult,
	CompactOutcome,
	CompactRequest,
	SummaryReport,
} from "./compaction-request.ts";
import { composeEdits } from "./compose-edits.ts";
import { checkGivenTokens, openBudget } from "./context-window.ts";
import type { Outcome } from "./conversation.ts";
import { modelOfCall, tokenMeter } from "./count.ts";
import { type GuardReport, type GuardRequest, guardConversation, largestConsumers, longConversation } from "./guard.ts";

type GuardWithCompactionRequest = GuardRequest &
	Pick<CompactRequest, "signal" | "onProgress"> & {
		readonly compaction: () => Promise<Pick<CompactRequest, "strategy" | "answer">>;
	};

export type AutoCompaction =
	| {
			readonly strategy: string;
			readonly result: CompactionResult;
			readonly summary?: SummaryReport;
			/** With `summary_requested`: the caller compacts the original conversation with its summary and the token. */
			readonly request?: CallerRequest;
	  }
	/** The guard continued without it. */
	| { readonly result: "failed"; readonly code: string; readonly message: string };

export interface GuardWithCompactionReport extends GuardReport {
	readonly compaction?: AutoCompaction;
}

/** Compacts first if the conversation has `guard.max_messages` and the policy says `guard.auto_compact`. */
export async function guardWithCompaction(
	request: GuardWithCompactionRequest,
): Promise<Outcome<GuardWithCompactionReport>> {
	const { conversation, policy } = request;
	const { enabled, auto_compact, max_messages } = policy.guard;
	if (!enabled || !auto_compact || max_messages === null) return guardConversation(request);
	const source = readConversation(conversation);
	const long = longConversation(source.transcript, policy);
	if (!long.max_messages?.reached) return guardConversation(request);

	// Checked first, so that no model is asked for a summary of a conversation that cannot be guarded.
	checkGivenTokens(request);
	await openBudget(request);
	const goOnWithout = async (compaction: AutoCompaction) => {
		const guarded = await guardConversation(request);
		return { ...guarded, report: { ...guarded.report, compaction } };
	};
	const outcome = await compactFirst(request);
	if (outcome instanceof PalimpsestError) return goOnWithout(failure(outcome));
	const { strategy, result, summary } = outcome.report;
	const compaction = {
		strategy,
		result,
		...(summary && { summary }),
		...(outcome.request && { request: outcome.request }),
	};
	if (!outcome.report.changed) return goOnWithout(compaction);
	// The usage was reported for the conversation before it was compacted.
	const guarded = await guardConversation({ ...request, conversation: outcome.conversation, usage: undefined });
	const { report } = guarded;
	// A compacted conversation alone is no result: the guard promises that it fits.
	if (guarded.error) return goOnWithout(failure(guarded.error));
	const between = readConversation(outcome.conversation);
	const { edits, origins } = composeEdits({ source, between, first: outcome.edits, second: guarded.edits });
	const summaries = new Set(
		outcome.edits.flatMap(({ kind, reason, message }) => (kind === "replace" && reason === "summary" ? [message] : [])),
	);
	const groups = (report.dropped_groups ?? []).map(({ ref, messages }) => ({
		ref,
		messages: messages.flatMap((message) => {
			const origin = origins[message] ?? -1;
			return origin < 0 || summaries.has(origin) ? [] : [origin];
		}),
	}));
	const dropped = [...(outcome.report.dropped_groups ?? []), ...groups];
	const { messages, tool_turns, tool_results, chars, tool_chars, tokens, masked_tool_results } = outcome.report;
	return {
		...guarded,
		edits,
		report: {
			...report,
			changed: true,
			messages: { before: messages.before, after: report.messages.after },
			tool_turns,
			tool_results,
			chars: { before: chars.before, after: report.chars.after },
			tool_chars: { before: tool_chars.before, after: report.tool_chars.after },
			tokens: { before: tokens.before, after: report.tokens.after },
			masked_tool_results: masked_tool_results + report.masked_tool_results,
			largest: await largestOf(request, source),
			...(dropped.length > 0 ? { dropped_groups: dropped } : {}),
			...long,
			compaction,
		},
	};
}

async function largestOf({ policy, model, conversation }: GuardRequest, { transcript }: ReadConversation) {
	const { meter, estimate } = await tokenMeter(policy, modelOfCall(model, conversation, policy));
	return largestConsumers(transcript, { sizes: measure(transcript, meter).messages, scale: estimate.scale });
}

async function compactFirst(request: GuardWithCompactionRequest): Promise<CompactOutcome | PalimpsestError> {
	const { lastResponse: _, usage: __, compaction, ...shared } = request;
	try {
		const outcome = await compactConversation({ ...shared, ...(await compaction()), force: true });
		return outcome.error ?? outcome;
	} catch (error) {
		if (error instanceof PalimpsestError) return error;
		throw error;
	}
}

function failure({ code, message }: PalimpsestError): AutoCompaction {
	return { result: "failed", code, message };
}
