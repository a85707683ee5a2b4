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
	/** Tool schemas that are sent along, if the conversation does not hold them. Counted, never changed. */
	readonly tools?: unknown;
	/** The spelling of values in the text of the conversation, so that it can be restored to the byte. */
	readonly spellingsOf?: SpellingsOf | undefined;
	readonly log?: Log;
}

/** A conversation with a report of the changes. */
export interface Outcome<ReportType> {
	/** In the wrapping in which it came; the very input if nothing changed. */
	readonly conversation: unknown;
	/** The changes, oldest first; paths refer to the input. */
	readonly edits: readonly EditRecord[];
	readonly report: ReportType;
	/** Set if the operation failed; `conversation` is then the input and `edits` is empty. */
	readonly error?: PalimpsestError;
}

/** Report of an operation that changes a conversation. */
export interface ChangeReport extends Report, CountingReport {
	/** Present if an edit precedes reasoning blocks that are bound to their prefix. */
	readonly thinking?: ThinkingReport;
	/** The dropped groups of messages with their references; only with an archive. */
	readonly dropped_groups?: readonly ArchivedGroup[];
}

/** A conversation that was read, with the meter and the wordings for it. */
export type OpenedConversation = Awaited<ReturnType<typeof openConversation>>;

/**
 * Reads a conversation and prepares to count and edit it.
 *
 * @throws PalimpsestError `not_a_conversation`; `invalid_argument` for tools if the conversation has its own.
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

/**
 * Completes a plan, applies and verifies it, archives the originals, and reports. `done` is the plan that was carried out:
 * empty if `kept` is false, because a promise would have been broken or the archive failed.
 *
 * @throws PalimpsestError `thinking_bound`.
 */
export async function concludePlan(
	request: ConversationRequest,
	opened: OpenedConversation,
	planned: {
		readonly plan: Plan;
		/** Sizes before the plan. */
		readonly measurement: Measurement;
		readonly estimate: TokenEstimate;
		/** When each edit was first made; by default now. */
		readonly momentOf?: MomentOf | undefined;
		/** Whether whole messages may be rewritten, as by an external strategy. */
		readonly rewrites?: boolean;
		/** Additional notes for the report. */
		readonly notes?: readonly string[];
	},
) {
	const { conversation, policy, log, archive, spellingsOf } = request;
	const { source, transcript, meter, wording, isPlaceholder } = opened;
	const { measurement, estimate, rewrites, notes = [] } = planned;
	const { scale } = estimate;
	const { plan, thinking } = completePlan({ source, policy, countTokens: meter.countTokens, ...planned });
	let { document, error } = applyAndVerify({ source, plan, meter, rewrites });
	let groups: readonly ArchivedGroup[] = [];
	if (archive && plan.length > 0 && !error) {
		try {
			groups = await archiveOriginals({
				archive: refusePlaceholders(archive, isPlaceholder),
				source,
				plan,
				spellingsOf,
			});
		} catch (failure) {
			if (!(failure instanceof PalimpsestError)) throw failure;
			({ document } = source);
			error = failure;
		}
	}
	const done = error ? [] : plan;
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
		conversation: document,
		edits: done.map((edit) => editRecord(edit, { document: conversation, scale, refOfGroup })),
		report,
		...(error ? { error } : {}),
	};
	return { done, kept: error === undefined, outcome };
}

/**
 * Runs an operation; if the archive cannot be written and the policy allows it, runs it again without the archive, so that
 * its placeholders promise no recall.
 */
export async function retryWithoutArchive<
	Request extends Pick<ConversationRequest, "policy" | "archive">,
	Result extends { readonly report: { readonly notes: readonly string[] }; readonly error?: PalimpsestError },
>(request: Request, operation: (request: Request) => Promise<Result>): Promise<Result> {
	const mayRetry = request.policy.on_archive_failure === "mask_without_recall";
	let failure: PalimpsestError;
	try {
		const result = await operation(request);
		if (!mayRetry || result.error?.code !== "archive_unavailable") return result;
		failure = result.error;
	} catch (error) {
		// A reference depends on the redacted text, so it too fails if the rules of redaction cannot be loaded.
		if (!mayRetry || !(error instanceof PalimpsestError) || error.code !== "archive_unavailable") throw error;
		failure = error;
	}
	const without = await operation({ ...request, archive: undefined });
	const note = `The archive could not be written (${failure.message}), so what was taken out cannot be recalled.`;
	return { ...without, report: { ...without.report, notes: [...without.report.notes, note] } };
}

/**
 * Adds the edits that follow from a plan: removals of reasoning blocks by the policy, and new links of records whose
 * predecessor is dropped.
 *
 * @throws PalimpsestError `thinking_bound` if the policy refuses edits before bound reasoning blocks.
 */
export function completePlan(what: {
	readonly source: ReadConversation;
	readonly plan: Plan;
	readonly policy: Policy;
	readonly countTokens: CountTokens;
	readonly momentOf?: MomentOf | undefined;
}) {
	const { source, plan, policy, countTokens, momentOf } = what;
	// If edits are refused, no earlier call made one.
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
	const { links } = source.format;
	return {
		plan: links ? [...all, ...planRelink(links, source.located, all)] : all,
		thinking: thinkingReport(affected, strip?.left),
	};
}

interface PlannedEdits {
	readonly source: ReadConversation;
	readonly plan: Plan;
	readonly meter: TokenMeter;
	/** Whether whole messages may be rewritten; the conversation may then not grow by this meter. */
	readonly rewrites?: boolean | undefined;
}

/**
 * Applies a plan, reads the result again and verifies it. If a promise would be broken, returns the original document with
 * an error that names the promises and the paths.
 */
export function applyAndVerify(planned: PlannedEdits): {
	readonly document: unknown;
	readonly error?: PalimpsestError;
} {
	const { source, plan, rewrites } = planned;
	const { document } = source;
	if (plan.length === 0) return { document };
	let edited: unknown;
	let violations: readonly Violation[];
	try {
		edited = applyPlan(document, plan);
		violations = check(planned, edited);
	} catch (cause) {
		const message = "The plan could not be applied, so the conversation was left as it was. Please report this.";
		return { document, error: new PalimpsestError("broken_promise", message, { cause }) };
	}
	if (violations.length === 0) return { document: edited };
	const shown = violations.slice(0, 5).map(({ promise, detail }) => `${promise} (${detail})`);
	const more = violations.length > shown.length ? ` and ${violations.length - shown.length} more` : "";
	const broken = `have broken ${shown.join(", ")}${more}, so the conversation was left as it was.`;
	const error = rewrites
		? new PalimpsestError("strategy_failed", `What the compaction strategy returned would ${broken}`)
		: new PalimpsestError("broken_promise", `The result would ${broken} Please report this.`);
	return { document, error };
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
			...(format.links ? { isLink: linkRecogniser(format.links, located) } : {}),
			answeredCalls: format.answeredCalls?.(written) ?? [],
		},
	);
}

/** Longest list of reasoning blocks in a report. */
const mostShown = 20;

/** Reasoning blocks after an edit that are bound to the messages before them. */
interface ThinkingReport {
	readonly count: number;
	/** JSON Pointers of the first of them, into the input. */
	readonly paths: readonly string[];
	/** How many of them were removed. */
	readonly stripped: number;
	/** JSON Pointers of the first that the policy wanted removed but that had to stay. */
	readonly left: readonly string[];
	/** The result, or the possible remedy. */
	readonly advice: string;
}

/** `left` are the blocks that could not be removed; `undefined` if none was to be removed. */
function thinkingReport(
	affected: readonly AffectedThinking[],
	left: readonly AffectedThinking[] | undefined,
): ThinkingReport | undefined {
	if (affected.length === 0) return undefined;
	const pathsOf = (blocks: readonly AffectedThinking[]) =>
		blocks.slice(0, mostShown).map(({ block }) => jsonPointer(block.path));
	return {
		count: affected.length,
		paths: pathsOf(affected),
		stripped: left ? affected.length - left.length : 0,
		left: pathsOf(left ?? []),
		advice: adviceOn(left),
	};
}

/** Claude's API can itself leave out the blocks that no longer fit. */
const dropBlock = 'have the API leave them out (`thinking.block_binding.prefix_mismatch_behavior: "drop_block"`)';

function adviceOn(left: readonly AffectedThinking[] | undefined): string {
	if (!left) {
		return `A provider that binds reasoning to what stands before it (Claude 5.1 and later) may refuse them with status 400: set thinking = "strip_after_edit" in the policy, or ${dropBlock}.`;
	}
	if (left.length === 0) return "They were taken out.";
	return `${left.length} of them stayed, since a call needs them or nothing else stands in their message. A provider that binds reasoning to what stands before it may refuse those with status 400: ${dropBlock}.`;
}
