import { measure } from "../conversation/measure.ts";
import { type Economics, economicsOf, notesOnRoles, type Report, reportOf } from "../conversation/report.ts";
import type { PalimpsestError } from "../errors.ts";
import { readConversation } from "../formats/detect.ts";
import { type MaskParameters, planMask } from "../masking/mask.ts";
import type { KeptReason } from "../masking/mask-result.ts";
import type { Policy } from "../policy/schema.ts";
import { wordings } from "../policy/wordings.ts";
import { carryOut, completePlan, despiteArchive, type ThinkingReport } from "./carry-out.ts";
import { asSent, type CountingReport, countingReport, modelOfCall, tokenMeter } from "./count.ts";
import { type EditRecord, editRecord, type Log, planEvents, refsOfGroups } from "./edit-record.ts";
import { placeholdersOf } from "./find-original.ts";
import { archivingOf, type KeepsOriginals, originalsOf, type SpellingsOf } from "./originals.ts";

/** What a masking did. */
export interface MaskReport extends Report, CountingReport {
	/** Results outside the window that were left as they are, by reason. */
	readonly kept: Readonly<Record<KeptReason, number>>;
	/** What the edits cost and save where the provider caches prompts. */
	readonly economics: Economics;
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
export interface MaskRequest extends KeepsOriginals {
	/** A list of messages, a request body, or any object that holds `messages`. Never changed. */
	readonly conversation: unknown;
	readonly policy: Policy;
	/** How values are spelled in the text that the conversation was read from, so that it can be restored to the byte. */
	readonly spellingsOf?: SpellingsOf | undefined;
	readonly log?: Log;
}

/**
 * Masks the old tool results of a conversation.
 *
 * With an archive, what is taken out is kept there first; where that fails, the conversation comes back as it was, with the
 * error `archive_unavailable`, unless the policy says otherwise.
 *
 * @throws PalimpsestError `not_a_conversation`, `thinking_bound`.
 */
export function maskConversation(request: MaskRequest): Promise<Outcome<MaskReport>> {
	return despiteArchive(request, maskOnce);
}

async function maskOnce(request: MaskRequest): Promise<Outcome<MaskReport>> {
	const { conversation, policy, archive, spellingsOf, log } = request;
	const source = readConversation(conversation);
	const model = modelOfCall(undefined, conversation, policy);
	const { meter, estimate } = await tokenMeter(policy, model);
	const { scale } = estimate;
	const { transcript, requestOverhead } = asSent(source, { model });
	const isPlaceholder = placeholdersOf(policy);
	const originals = originalsOf(request);
	const wording = wordings(policy, originals);
	const masking: MaskParameters = {
		transcript,
		policy: policy.mask,
		media: policy.media,
		wording,
		isPlaceholder,
		countTokens: meter.countTokens,
		archiving: archivingOf(archive, conversation),
		replaying: { meter, prices: policy.prices },
	};
	const { edits, kept, momentOf } = planMask(masking);
	const { plan, thinking } = completePlan({
		source,
		plan: edits,
		policy,
		countTokens: meter.countTokens,
		momentOf,
	});
	const measurement = measure(transcript, meter, requestOverhead(meter.countTokens));
	const settled = await carryOut({
		source,
		plan,
		countTokens: meter.countTokens,
		archive,
		isPlaceholder,
		spellingsOf,
	});
	const done = settled.kind === "kept_promises" ? plan : [];
	const inCommon = { document: conversation, scale, refOfGroup: refsOfGroups(settled) };
	const events = log ? planEvents(done, { unknownTool: wording.unknownTool, scale }) : [];
	for (const event of events) log?.(event);
	const report = reportOf(transcript, measurement, done, scale);
	return {
		conversation: settled.document,
		edits: done.map((edit) => editRecord(edit, inCommon)),
		report: {
			...report,
			notes: [...report.notes, ...notesOnRoles(source.document, transcript), ...estimate.notes],
			...countingReport(estimate),
			kept: { ...kept },
			economics: economicsOf(done, { measurement, prices: policy.prices, scale }),
			...(thinking ? { thinking } : {}),
		},
		...(settled.kind === "kept_promises" ? {} : { error: settled.error }),
	};
}
