import { budgetOf } from "../engine/budget.ts";
import { largestConsumers } from "../engine/consumers.ts";
import { economicsOf } from "../engine/economics.ts";
import { planGuard } from "../engine/guard.ts";
import { notesOnRoles, reportOf } from "../engine/report.ts";
import { scaleTokens } from "../engine/token-scale.ts";
import { readConversation } from "../formats/read-conversation.ts";
import type { Policy } from "../policy/schema.ts";
import { wordings } from "../policy/wordings.ts";
import { inputTokensOf } from "../tokens/input-tokens.ts";
import type { SpellingsOf } from "./archive-originals.ts";
import { archivingOf } from "./archiving-of.ts";
import { type CarriedOut, carryOut } from "./carry-out.ts";
import { completePlan } from "./complete-plan.ts";
import { guardedWindow, requiredBudget } from "./context-window-of-call.ts";
import { countForGuard } from "./count-for-guard.ts";
import { countingReport } from "./counting-report.ts";
import { despiteArchive } from "./despite-archive.ts";
import { editRecord, refsOfGroups } from "./edit-record.ts";
import { followUpOf } from "./follow-up.ts";
import type { GuardReport } from "./guard-report.ts";
import type { Log } from "./log-event.ts";
import { longConversation } from "./long-conversation.ts";
import type { Outcome } from "./mask-conversation.ts";
import { modelOfCall } from "./model-of-call.ts";
import { type KeepsOriginals, originalsOf } from "./originals-of.ts";
import { placeholdersOf } from "./placeholders-of.ts";
import { planEvents } from "./plan-events.ts";
import { asSent } from "./request-parts.ts";
import { requireTokens } from "./require-tokens.ts";
import { textLibraries } from "./text-libraries.ts";
import { tokenMeter } from "./token-meter.ts";

/** A conversation to bring within its model's context window. */
export interface GuardRequest extends KeepsOriginals {
	/** A list of messages, a request body, or any object that holds `messages`. Never changed. */
	readonly conversation: unknown;
	readonly policy: Policy;
	/** Model whose window and tokenizer count. */
	readonly model?: string | undefined;
	/** Tool schemas that are sent along, where the conversation does not hold them itself. Counted, never changed. */
	readonly tools?: unknown;
	/** The usage that the provider reported with the last answer of the conversation, to calibrate the counts by. */
	readonly usage?: unknown;
	/** What the provider answered to the conversation's last call. Where it was cut off, a shorter answer is asked for. */
	readonly lastResponse?: unknown;
	/** Context window in tokens. */
	readonly contextWindow?: number | undefined;
	/** Tokens left free for the answer. */
	readonly reserveTokens?: number | undefined;
	/** How values are spelled in the text that the conversation was read from, so that it can be restored to the byte. */
	readonly spellingsOf?: SpellingsOf | undefined;
	/** Characters from which a conversation may be answered without being counted. */
	readonly largeFrom?: number;
	readonly log?: Log;
}

/**
 * Brings a conversation within its model's context window, and says whether it fits. With `guard.enabled = false`, and
 * where no window is known and `guard.unknown_window` says so, it changes nothing and only reports.
 *
 * With an archive, what is taken out is kept there first; where that fails, the conversation comes back as it was, with the
 * error `archive_unavailable`, unless the policy says otherwise.
 *
 * @throws PalimpsestError `not_a_conversation`; `context_window_unknown`; `no_budget`; `invalid_argument` for a window, reserve or
 * usage that is no whole number of tokens, and for tools where the conversation holds some.
 */
export function guardConversation(request: GuardRequest): Promise<Outcome<GuardReport>> {
	return despiteArchive(request, guardOnce);
}

async function guardOnce(request: GuardRequest): Promise<Outcome<GuardReport>> {
	const { conversation, archive, spellingsOf, log } = request;
	const inputTokens = request.usage === undefined ? undefined : inputTokensOf(request.usage);
	const source = readConversation(conversation);
	const { policy, model, window, budget } = await openBudget(request);
	const { transcript, requestOverhead } = asSent(source, { model, tools: request.tools });
	const counter = await tokenMeter(policy, model);
	const followUp = followUpOf(request.lastResponse, { source, policy, meter: counter.meter });
	// What is appended takes its place within the budget first.
	const room = budget - scaleTokens(followUp.size, counter.estimate.scale).high;
	const { meter, estimate, measurement, early } = countForGuard({
		...counter,
		transcript,
		policy,
		budget: room,
		inputTokens,
		largeFrom: request.largeFrom,
		requestOverhead,
	});
	const { scale } = estimate;
	const isPlaceholder = placeholdersOf(policy);
	const originals = originalsOf(request);
	const wording = wordings(policy, originals);

	const guard = early
		? { plan: [], steps: [], momentOf: undefined }
		: planGuard({
				transcript,
				policy,
				budget: room,
				meter,
				measurement,
				scale,
				wording,
				isPlaceholder,
				libraries: textLibraries,
				archiving: archivingOf(archive, conversation),
			});
	const { plan, thinking } = completePlan({
		source,
		plan: [...guard.plan, ...followUp.edits],
		policy,
		countTokens: meter.countTokens,
		momentOf: guard.momentOf,
	});
	const settled = await carryOut({
		source,
		plan,
		countTokens: meter.countTokens,
		archive,
		isPlaceholder,
		spellingsOf,
	});
	const kept = settled.kind === "kept_promises";
	const done = kept ? plan : [];
	const inCommon = { document: conversation, scale, refOfGroup: refsOfGroups(settled) };
	const events = log ? planEvents(done, { unknownTool: wording.unknownTool, scale }) : [];
	for (const event of events) log?.(event);
	for (const note of window.notes) {
		log?.({ level: "warning", message: `Context guard: ${note}`, data: { event: "window_unknown" } });
	}
	const report = reportOf(transcript, measurement, done, scale);
	const band = early && followUp.edits.length === 0 ? early.band : report.band;
	const shortfall = Math.max(0, band.high - budget);
	return {
		conversation: settled.document,
		edits: done.map((edit) => editRecord(edit, inCommon)),
		report: {
			...report,
			band,
			notes: [...report.notes, ...notesOnRoles(source.document, transcript), ...window.notes, ...estimate.notes],
			...countingReport(estimate),
			fits: window.tokens === undefined ? null : shortfall === 0,
			context_window: window.tokens ?? null,
			reserve_tokens: policy.guard.reserve_tokens,
			budget_tokens: window.tokens === undefined ? null : budget,
			shortfall_tokens: shortfall,
			steps: kept
				? guard.steps.map(({ step, count, tokensAfter }) => ({ step, count, tokens_after: tokensAfter }))
				: [],
			largest: largestConsumers(transcript, { sizes: measurement.messages, scale }),
			...longConversation(transcript, policy),
			...(followUp.report ? { follow_up: followUp.report } : {}),
			economics: economicsOf(done, { measurement, prices: policy.prices, scale }),
			...(thinking ? { thinking } : {}),
			...droppedGroupsReport(settled),
		},
		...(settled.kind === "kept_promises" ? {} : { error: settled.error }),
	};
}

/**
 * What a guard has to bring a conversation within: the window and the budget, infinite where no window is known and all is
 * left as it is; and the policy with what the call itself says, without a ladder where nothing may be changed.
 *
 * @throws PalimpsestError `context_window_unknown`, `no_budget`, `invalid_argument`.
 */
export async function openBudget(request: GuardRequest) {
	requireTokens("context_window", request.contextWindow, 1);
	requireTokens("reserve_tokens", request.reserveTokens, 0);
	const { conversation, policy, reserveTokens } = request;
	const model = modelOfCall(request.model, conversation, policy);
	const window = await guardedWindow(request.contextWindow, policy, model);
	const guard = { ...policy.guard, reserve_tokens: reserveTokens ?? policy.guard.reserve_tokens };
	if (guard.enabled && window.tokens !== undefined) {
		return { policy: { ...policy, guard }, model, window, budget: requiredBudget(window.tokens, guard) };
	}
	const budget = window.tokens === undefined ? Number.POSITIVE_INFINITY : budgetOf(window.tokens, guard);
	return { policy: { ...policy, guard: { ...guard, ladder: [] } }, model, window, budget };
}

function droppedGroupsReport(settled: CarriedOut): Pick<GuardReport, "dropped_groups"> {
	return settled.kind === "kept_promises" && settled.groups.length > 0 ? { dropped_groups: settled.groups } : {};
}
