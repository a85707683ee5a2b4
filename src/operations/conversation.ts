import type { Archive } from "../archive/archive.ts";
import { refusePlaceholders } from "../archive/store.ts";
import { applyPlan } from "../conversation/apply.ts";
import type { CountTokens, Measurement, TokenMeter } from "../conversation/measure.ts";
import type { Plan } from "../conversation/plan.ts";
import { notesOnRoles, type Report, reportOf } from "../conversation/report.ts";
import { jsonPointer } from "../conversation/transcript.ts";
import { type Violation, verify } from "../conversation/verify.ts";
import { PalimpsestError } from "../errors.ts";
import { locateMessages, type ReadConversation, readConversation } from "../formats/detect.ts";
import { linkRecogniser, planRelink } from "../formats/session-files.ts";
import {
	type AffectedThinking,
	affectedThinking,
	type MomentOf,
	madeNow,
	planStripThinking,
} from "../masking/thinking.ts";
import type { Policy } from "../policy/schema.ts";
import { wordings } from "../policy/wordings.ts";
import type { TokenEstimate } from "../tokens/estimate.ts";
import { asSent, type CountingReport, countingReport, modelOfCall, tokenMeter } from "./count.ts";
import { type EditRecord, editRecord, type Log, planEvents } from "./edit-record.ts";
import { placeholdersOf } from "./find-original.ts";
import {
	type ArchivedGroup,
	archiveOriginals,
	archivingOf,
	type KeepsOriginals,
	originalsOf,
	type SpellingsOf,
} from "./originals.ts";

/** A conversation that an operation may change. */
export interface ConversationRequest extends KeepsOriginals {
	/** A list of messages, a request body, or any object that holds `messages`. Never changed. */
	readonly conversation: unknown;
	readonly policy: Policy;
	/** Model whose window and tokenizer count. */
	readonly model?: string | undefined;
	/** Tool schemas that are sent along, where the conversation does not hold them itself. Counted, never changed. */
	readonly tools?: unknown;
	/** How values are spelled in the text that the conversation was read from, so that it can be restored to the byte. */
	readonly spellingsOf?: SpellingsOf | undefined;
	readonly log?: Log;
}

/** A conversation with a report of the changes. */
export interface Outcome<ReportType> {
	/** The conversation in the wrapping in which it came; the very input if nothing changed. */
	readonly conversation: unknown;
	/** The changes, oldest first; paths refer to the input. */
	readonly edits: readonly EditRecord[];
	readonly report: ReportType;
	/** Set if the result would have broken a promise; `conversation` is then the input and `edits` is empty. */
	readonly error?: PalimpsestError;
}

/** Report of an operation that changes a conversation. */
export interface ChangeReport extends Report, CountingReport {
	/** Present if an edit stands before reasoning blocks that are bound to their prefix. */
	readonly thinking?: ThinkingReport;
	/** The groups of messages that were dropped, and where each is archived; only with an archive. */
	readonly dropped_groups?: readonly ArchivedGroup[];
}

/** A conversation that was read, with the meter and the wordings for it. */
export type OpenedConversation = Awaited<ReturnType<typeof openConversation>>;

/**
 * Reads a conversation and prepares to count and edit it.
 *
 * @throws PalimpsestError `not_a_conversation`; `invalid_argument` for tools where the conversation holds some.
 */
export async function openConversation(request: ConversationRequest) {
	const { conversation, policy, archive } = request;
	const source = readConversation(conversation);
	const model = modelOfCall(request.model, conversation, policy);
	const { meter, estimate } = await tokenMeter(policy, model);
	return {
		source,
		model,
		meter,
		estimate,
		...asSent(source, { model, tools: request.tools }),
		isPlaceholder: placeholdersOf(policy),
		wording: wordings(policy, originalsOf(request)),
		archiving: archivingOf(archive, conversation),
	};
}

/** A plan for an opened conversation. */
export interface PlannedChange {
	readonly plan: Plan;
	/** Sizes before the plan. */
	readonly measurement: Measurement;
	readonly estimate: TokenEstimate;
	/** When each edit was first made; by default now. */
	readonly momentOf?: MomentOf | undefined;
	/** Whether whole messages may be written anew, as by a strategy of the user's own. */
	readonly rewrites?: boolean;
	/** Notes for the report, beside those on the conversation and on the counting. */
	readonly notes?: readonly string[];
}

/**
 * Completes a plan, applies and verifies it, archives the originals, and reports. `done` is the plan as it was carried
 * out: empty if a promise would have been broken or the archive failed.
 *
 * @throws PalimpsestError `thinking_bound`.
 */
export async function concludePlan(request: ConversationRequest, opened: OpenedConversation, planned: PlannedChange) {
	const { conversation, policy, log } = request;
	const { source, transcript, meter, wording } = opened;
	const { measurement, estimate, notes = [] } = planned;
	const { scale } = estimate;
	const { plan, thinking } = completePlan({ source, policy, countTokens: meter.countTokens, ...planned });
	const settled = await carryOut({ ...opened, ...request, plan, rewrites: planned.rewrites });
	const kept = settled.kind === "kept_promises";
	const done = kept ? plan : [];
	const groups = kept ? settled.groups : [];
	const refOfGroup = new Map(groups.flatMap(({ ref, messages }) => messages.map((message) => [message, ref] as const)));
	if (log) for (const event of planEvents(done, { unknownTool: wording.unknownTool, scale })) log(event);
	const basis = reportOf(transcript, measurement, done, scale);
	const report: ChangeReport = {
		...basis,
		notes: [...basis.notes, ...notesOnRoles(source.document, transcript), ...notes, ...estimate.notes],
		...countingReport(estimate),
		...(thinking ? { thinking } : {}),
		...(groups.length > 0 ? { dropped_groups: groups } : {}),
	};
	const outcome: Outcome<ChangeReport> = {
		conversation: settled.document,
		edits: done.map((edit) => editRecord(edit, { document: conversation, scale, refOfGroup })),
		report,
		...(kept ? {} : { error: settled.error }),
	};
	return { done, kept, outcome };
}

interface MayFail {
	readonly report: { readonly notes: readonly string[] };
	readonly error?: PalimpsestError;
}

/**
 * Runs an operation; if the archive cannot be written and the policy allows it, runs it again without the archive, so that
 * its placeholders promise no recall.
 */
export async function retryWithoutArchive<
	Request extends Pick<ConversationRequest, "policy" | "archive">,
	Result extends MayFail,
>(request: Request, operation: (request: Request) => Promise<Result>): Promise<Result> {
	const mayRetry = request.policy.on_archive_failure === "mask_without_recall";
	let failure: PalimpsestError;
	try {
		const result = await operation(request);
		if (!mayRetry || result.error?.code !== "archive_unavailable") return result;
		failure = result.error;
	} catch (error) {
		// Naming an original fails like storing it if the rules of redaction cannot be loaded.
		if (!mayRetry || !(error instanceof PalimpsestError) || error.code !== "archive_unavailable") throw error;
		failure = error;
	}
	const without = await operation({ ...request, archive: undefined });
	const note = `The archive could not be written (${failure.message}), so what was taken out cannot be recalled.`;
	return { ...without, report: { ...without.report, notes: [...without.report.notes, note] } };
}

/**
 * Adds the edits that follow from a plan: reasoning blocks to take out by the policy, and new links of records whose
 * predecessor is dropped.
 *
 * @throws PalimpsestError `thinking_bound` where the policy refuses edits before bound reasoning blocks.
 */
export function completePlan(what: {
	readonly source: ReadConversation;
	readonly plan: Plan;
	readonly policy: Policy;
	readonly countTokens: CountTokens;
	readonly momentOf?: MomentOf | undefined;
}) {
	const { source, plan, policy, countTokens, momentOf } = what;
	// Where edits are refused, none was made in an earlier call.
	const affected = affectedThinking(source.transcript, plan, policy.thinking === "refuse" ? madeNow : momentOf);
	if (policy.thinking === "refuse" && affected.length > 0) {
		throw new PalimpsestError(
			"thinking_bound",
			`${affected.length} reasoning blocks stand behind what would be edited and are bound to it, and the policy says thinking = "refuse". Allow it with thinking = "keep" or "strip_after_edit".`,
		);
	}
	const { document, transcript } = source;
	const strip =
		policy.thinking === "strip_after_edit"
			? planStripThinking({ document, transcript, affected, countTokens })
			: undefined;
	const all = [...plan, ...(strip?.edits ?? [])];
	return {
		plan: [...all, ...planRelink(source.format, source.located, all)],
		thinking: thinkingReport(affected, strip?.left),
	};
}

type CarriedOut =
	| (Extract<Settled, { kind: "kept_promises" }> & { readonly groups: readonly ArchivedGroup[] })
	| Extract<Settled, { kind: "broken_promise" }>
	| { readonly kind: "not_archived"; readonly document: unknown; readonly error: PalimpsestError };

/** Applies a plan, verifies the result, and archives the originals before anybody sees the result. */
async function carryOut(
	planned: PlannedEdits & {
		readonly archive?: Archive | undefined;
		/** Recognises texts that must never be archived as originals. */
		readonly isPlaceholder: (text: string) => boolean;
		readonly spellingsOf?: SpellingsOf | undefined;
	},
): Promise<CarriedOut> {
	const { source, plan, isPlaceholder, spellingsOf } = planned;
	const settled = applyAndVerify(planned);
	if (settled.kind === "broken_promise") return settled;
	if (!planned.archive || plan.length === 0) return { ...settled, groups: [] };
	const archive = refusePlaceholders(planned.archive, isPlaceholder);
	try {
		return { ...settled, groups: await archiveOriginals({ archive, source, plan, spellingsOf }) };
	} catch (error) {
		if (!(error instanceof PalimpsestError)) throw error;
		return { kind: "not_archived", document: source.document, error };
	}
}

type Settled =
	| { readonly kind: "kept_promises"; readonly document: unknown }
	| { readonly kind: "broken_promise"; readonly document: unknown; readonly error: PalimpsestError };

interface PlannedEdits {
	readonly source: ReadConversation;
	readonly plan: Plan;
	readonly meter: TokenMeter;
	/** Whether whole messages may be written anew; the conversation may then not grow by this meter. */
	readonly rewrites?: boolean | undefined;
}

/**
 * Applies a plan, reads the written document as a whole and verifies it. If a promise would be broken, returns the document
 * that came in, with a `broken_promise` error that names the promises and the places.
 */
export function applyAndVerify(planned: PlannedEdits): Settled {
	const { source, plan, rewrites } = planned;
	const { document } = source;
	if (plan.length === 0) return { kind: "kept_promises", document };
	let edited: unknown;
	let violations: readonly Violation[];
	try {
		edited = applyPlan(document, plan);
		violations = check(planned, edited);
	} catch (cause) {
		const message = "The plan could not be applied, so the conversation was left as it was. Please report this.";
		return { kind: "broken_promise", document, error: new PalimpsestError("broken_promise", message, { cause }) };
	}
	if (violations.length === 0) return { kind: "kept_promises", document: edited };
	const shown = violations.slice(0, 5).map(({ promise, detail }) => `${promise} (${detail})`);
	const more = violations.length > shown.length ? ` and ${violations.length - shown.length} more` : "";
	const broken = `have broken ${shown.join(", ")}${more}, so the conversation was left as it was.`;
	const error = rewrites
		? new PalimpsestError("strategy_failed", `What the compaction strategy returned would ${broken}`)
		: new PalimpsestError("broken_promise", `The result would ${broken} Please report this.`);
	return { kind: "broken_promise", document, error };
}

function check({ source, plan, meter, rewrites }: PlannedEdits, edited: unknown): readonly Violation[] {
	const { document, transcript, format, located } = source;
	const written = locateMessages(edited);
	return verify(
		{ document, transcript },
		{ document: edited, transcript: format.read(written) },
		{
			plan,
			countTokens: meter.countTokens,
			...(rewrites ? { rewrite: { meter } } : {}),
			base: located.base,
			isLink: linkRecogniser(format, located),
			answeredCalls: format.answeredCalls?.(written) ?? [],
		},
	);
}

/** Longest list of reasoning blocks in a report. */
const shownBlocks = 20;

/** Reasoning blocks that stand behind an edit and are bound to what stands before them. */
export interface ThinkingReport {
	readonly count: number;
	/** JSON Pointers of the first of them, into the input. */
	readonly paths: readonly string[];
	/** How many of them were taken out. */
	readonly stripped: number;
	/** JSON Pointers of the first that the policy wanted out but that had to stay. */
	readonly left: readonly string[];
	/** What was done with them, or what can be done. */
	readonly advice: string;
}

/** Claude's own way out, for what stays: the API then leaves out what no longer fits. */
const dropBlock = 'have the API leave them out (`thinking.block_binding.prefix_mismatch_behavior: "drop_block"`)';

/** Reports on the blocks behind an edit; `left` are those that could not be taken out, `undefined` if none was to be. */
function thinkingReport(
	affected: readonly AffectedThinking[],
	left: readonly AffectedThinking[] | undefined,
): ThinkingReport | undefined {
	if (affected.length === 0) return undefined;
	const pathsOf = (blocks: readonly AffectedThinking[]) =>
		blocks.slice(0, shownBlocks).map(({ block }) => jsonPointer(block.path));
	return {
		count: affected.length,
		paths: pathsOf(affected),
		stripped: left ? affected.length - left.length : 0,
		left: pathsOf(left ?? []),
		advice: adviceOn(left),
	};
}

function adviceOn(left: readonly AffectedThinking[] | undefined): string {
	if (!left) {
		return `A provider that binds reasoning to what stands before it (Claude 5.1 and later) may refuse them with status 400: set thinking = "strip_after_edit" in the policy, or ${dropBlock}.`;
	}
	if (left.length === 0) return "They were taken out.";
	return `${left.length} of them stayed, since a call needs them or nothing else stands in their message. A provider that binds reasoning to what stands before it may refuse those with status 400: ${dropBlock}.`;
}
