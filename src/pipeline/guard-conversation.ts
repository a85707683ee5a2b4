import { budgetOf } from "../engine/budget.ts";
import { type Consumer, largestConsumers } from "../engine/consumers.ts";
import { type LadderStep, planGuard } from "../engine/guard.ts";
import { type Report, reportOf } from "../engine/report.ts";
import { PalimpsestError } from "../errors.ts";
import type { ConversationMemory } from "../formats/conversation-memory.ts";
import { readConversation } from "../formats/read-conversation.ts";
import type { Policy } from "../policy/schema.ts";
import { wordings } from "../policy/wordings.ts";
import { completePlan } from "./complete-plan.ts";
import { contextWindowOfCall } from "./context-window-of-call.ts";
import { editRecord } from "./edit-record.ts";
import type { Log } from "./log-event.ts";
import type { Outcome } from "./mask-conversation.ts";
import { modelOfCall } from "./model-of-call.ts";
import { placeholdersOf } from "./placeholders-of.ts";
import { planEvents } from "./plan-events.ts";
import { planMemoryOf } from "./plan-memory-of.ts";
import { seenConversations } from "./seen-conversations.ts";
import { settle } from "./settle.ts";
import type { ThinkingReport } from "./thinking-report.ts";
import { tokenMeter } from "./token-meter.ts";

/** What a guarding did. All numbers of tokens are in `encoding`. */
export interface GuardReport extends Report {
	readonly encoding: string;
	/** Whether the conversation is now within the budget. */
	readonly fits: boolean;
	readonly context_window: number;
	readonly reserve_tokens: number;
	/** Tokens that the conversation may take; negative where the reserve is larger than the window. */
	readonly budget_tokens: number;
	/** Tokens over the budget; 0 where it fits. */
	readonly shortfall_tokens: number;
	/** The ladder's steps that changed something, in order. */
	readonly steps: readonly {
		readonly step: LadderStep["step"];
		readonly count: number;
		readonly tokens_after: number;
	}[];
	/** The messages of the input that take the most tokens. */
	readonly largest: readonly Consumer[];
	/** Present where an edit stands before reasoning blocks that are bound to their prefix. */
	readonly thinking?: ThinkingReport;
}

/** A conversation to bring within its model's context window. */
export interface GuardRequest {
	/** A list of messages, a request body, or any object that holds `messages`. Never changed. */
	readonly conversation: unknown;
	readonly policy: Policy;
	/** Model whose window and encoding count. */
	readonly model?: string | undefined;
	/** Context window in tokens. */
	readonly contextWindow?: number | undefined;
	/** Tokens left free for the answer. */
	readonly reserveTokens?: number | undefined;
	/** Conversations seen before; by default those that this process has seen last. */
	readonly memory?: ConversationMemory;
	readonly log?: Log;
}

/**
 * Brings a conversation within its model's context window, and says whether it fits.
 *
 * @throws PalimpsestError `not_a_conversation`; `context_window_unknown`; `invalid_argument` for a window or reserve
 * that is no whole number of tokens.
 */
export async function guardConversation(request: GuardRequest): Promise<Outcome<GuardReport>> {
	const { conversation, log } = request;
	requireTokens("context_window", request.contextWindow, 1);
	requireTokens("reserve_tokens", request.reserveTokens, 0);
	const source = readConversation(conversation, request.memory ?? seenConversations);
	const { transcript } = source;
	const reserveTokens = request.reserveTokens ?? request.policy.guard.reserve_tokens;
	const policy = { ...request.policy, guard: { ...request.policy.guard, reserve_tokens: reserveTokens } };
	const model = modelOfCall(request.model, conversation, policy);
	const contextWindow = await contextWindowOfCall(request.contextWindow, policy, model);
	const budget = budgetOf(contextWindow, policy.guard);
	const meter = await tokenMeter(policy, model);
	const wording = wordings(policy);

	const guard = planGuard({
		transcript,
		policy,
		budget,
		meter,
		wording,
		isPlaceholder: placeholdersOf(policy),
		memory: planMemoryOf(policy, meter.encoding),
	});
	const { plan, thinking } = completePlan({ source, plan: guard.plan, policy, countTokens: meter.countTokens });
	const settled = settle(source, plan, meter.countTokens);
	const kept = settled.kind === "kept_promises";
	const done = kept ? plan : [];
	for (const event of planEvents(done, wording.unknownTool)) log?.(event);
	const report = reportOf(transcript, guard.measurement, done);
	const shortfall = Math.max(0, report.tokens.after - budget);
	return {
		conversation: settled.document,
		edits: done.map((edit) => editRecord(edit, conversation)),
		report: {
			...report,
			notes:
				budget > 0
					? report.notes
					: [...report.notes, "The reserve leaves nothing of the context window, so nothing can fit."],
			encoding: meter.encoding,
			fits: shortfall === 0,
			context_window: contextWindow,
			reserve_tokens: reserveTokens,
			budget_tokens: budget,
			shortfall_tokens: shortfall,
			steps: kept
				? guard.steps.map(({ step, count, tokensAfter }) => ({ step, count, tokens_after: tokensAfter }))
				: [],
			largest: largestConsumers(transcript, guard.measurement.messages),
			...(thinking ? { thinking } : {}),
		},
		...(settled.kind === "broken_promise" ? { error: settled.error } : {}),
	};
}

function requireTokens(name: string, value: number | undefined, least: number): void {
	if (value === undefined || (Number.isSafeInteger(value) && value >= least)) return;
	throw new PalimpsestError(
		"invalid_argument",
		`Expected \`${name}\` to be a whole number of tokens, ${least} or more; got ${value}.`,
	);
}
