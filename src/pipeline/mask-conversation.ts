import { measure } from "../engine/measure.ts";
import { type Report, reportOf } from "../engine/report.ts";
import { planMask } from "../engine/strategies/mask.ts";
import type { KeptReason } from "../engine/strategies/mask-result.ts";
import type { PalimpsestError } from "../errors.ts";
import type { ConversationMemory } from "../formats/conversation-memory.ts";
import { readConversation } from "../formats/read-conversation.ts";
import type { Policy } from "../policy/schema.ts";
import { wordings } from "../policy/wordings.ts";
import { completePlan } from "./complete-plan.ts";
import { type EditRecord, editRecord } from "./edit-record.ts";
import type { Log } from "./log-event.ts";
import { modelOfCall } from "./model-of-call.ts";
import { placeholdersOf } from "./placeholders-of.ts";
import { planEvents } from "./plan-events.ts";
import { planMemoryOf } from "./plan-memory-of.ts";
import { seenConversations } from "./seen-conversations.ts";
import { settle } from "./settle.ts";
import type { ThinkingReport } from "./thinking-report.ts";
import { tokenMeter } from "./token-meter.ts";

/** What a masking did. */
export interface MaskReport extends Report {
	/** Token encoding that the counts are in. */
	readonly encoding: string;
	/** Results outside the window that were left as they are, by reason. */
	readonly kept: Readonly<Record<KeptReason, number>>;
	/** Present where an edit stands before reasoning blocks that are bound to their prefix. */
	readonly thinking?: ThinkingReport;
}

/** A conversation with a report of what was done to it. */
export interface Outcome<ReportType> {
	/** The conversation in the wrapping in which it came; the very input where nothing changed. */
	readonly conversation: unknown;
	/** What was changed, oldest first; paths refer to the input. */
	readonly edits: readonly EditRecord[];
	readonly report: ReportType;
	/** Set where the result would have broken a promise; `conversation` is then the input and `edits` is empty. */
	readonly error?: PalimpsestError;
}

/** A conversation to mask. */
export interface MaskRequest {
	/** A list of messages, a request body, or any object that holds `messages`. Never changed. */
	readonly conversation: unknown;
	readonly policy: Policy;
	/** Conversations seen before; by default those that this process has seen last. */
	readonly memory?: ConversationMemory;
	readonly log?: Log;
}

/**
 * Masks the old tool results of a conversation.
 *
 * @throws PalimpsestError `not_a_conversation`, `thinking_bound`.
 */
export async function maskConversation(request: MaskRequest): Promise<Outcome<MaskReport>> {
	const { conversation, policy, log } = request;
	const source = readConversation(conversation, request.memory ?? seenConversations);
	const { transcript } = source;
	const meter = await tokenMeter(policy, modelOfCall(undefined, conversation, policy));
	const wording = wordings(policy);
	const { edits, kept } = planMask({
		transcript,
		policy: policy.mask,
		media: policy.media,
		wording,
		isPlaceholder: placeholdersOf(policy),
		countTokens: meter.countTokens,
		memory: planMemoryOf(policy, meter.encoding),
	});
	const { plan, thinking } = completePlan({ source, plan: edits, policy, countTokens: meter.countTokens });
	const measurement = measure(transcript, meter);
	const settled = settle(source, plan, meter.countTokens);
	const done = settled.kind === "kept_promises" ? plan : [];
	for (const event of planEvents(done, wording.unknownTool)) log?.(event);
	return {
		conversation: settled.document,
		edits: done.map((edit) => editRecord(edit, conversation)),
		report: {
			...reportOf(transcript, measurement, done),
			encoding: meter.encoding,
			kept,
			...(thinking ? { thinking } : {}),
		},
		...(settled.kind === "broken_promise" ? { error: settled.error } : {}),
	};
}
