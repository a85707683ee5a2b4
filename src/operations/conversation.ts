import { splitFrames } from "../engine/compaction/summary.ts";
import { applyPlan } from "../engine/conversation/apply.ts";
import type { CountTokens, Measurement, TokenMeter } from "../engine/conversation/measure.ts";
import { jsonPointer } from "../engine/conversation/paths.ts";
import type { Plan } from "../engine/conversation/plan.ts";
import { notesOnContents, notesOnRoles, type Report, reportOf } from "../engine/conversation/report.ts";
import { type Swap, type Violation, verify } from "../engine/conversation/verify.ts";
import {
	type AffectedThinking,
	affectedThinking,
	type MomentOf,
	madeNow,
	planStripThinking,
} from "../engine/masking/thinking.ts";
import type { Policy } from "../engine/policy/schema.ts";
import { wordings } from "../engine/policy/wordings.ts";
import { PalimpsestError } from "../errors.ts";
import { locateMessages, type ReadConversation, readConversation } from "../formats/detect.ts";
import { bindsReasoning, modelOfCall } from "../formats/model.ts";
import { linkRecogniser, withRelinks } from "../formats/session-files.ts";
import type { TokenEstimate } from "../formats/tokens/estimate.ts";
import type { Log } from "../log.ts";
import { refusePlaceholders } from "../storage/archive/store.ts";
import {
	type ArchivedGroup,
	archiveOriginals,
	archivingOf,
	type KeepsOriginals,
	originalsOf,
	type SpellingsOf,
} from "../storage/restore/originals.ts";
import { placeholdersOf } from "../storage/restore/recognise.ts";
import { asSent, type CountingReport, countingReport, tokenMeter } from "./count.ts";
import { type EditRecord, editRecord, planEvents } from "./edit-record.ts";
import { withLostReferences } from "./lost-references.ts";

export interface ConversationRequest extends KeepsOriginals {
	readonly conversation: unknown;
	/** Names of those that it may have; by default all. */
	readonly formats?: readonly string[] | undefined;
	readonly policy: Policy;
	readonly model?: string | undefined;
	/** Only if the conversation holds none itself. Counted, never changed. */
	readonly tools?: unknown;
	/** The spellings of values in the text of the conversation, so that it can be restored to the byte. */
	readonly spellingsOf?: SpellingsOf | undefined;
	/** Seconds since the last call. After more than the cache lasts, rewriting is free. */
	readonly idleSeconds?: number | undefined;
	readonly log?: Log;
}

export interface Outcome<ReportType> {
	/** The input itself if nothing changed. */
	readonly conversation: unknown;
	/** Oldest first; paths refer to the input. */
	readonly edits: readonly EditRecord[];
	readonly report: ReportType;
	/** If set, `conversation` is the input and `edits` is empty. */
	readonly error?: PalimpsestError;
}

export interface ChangeReport extends Report, CountingReport {
	readonly thinking?: ThinkingReport;
	readonly dropped_groups?: readonly ArchivedGroup[];
}

function checkIdleSeconds(seconds: number | undefined): void {
	if (seconds === undefined || (typeof seconds === "number" && seconds >= 0)) return;
	const got = String(seconds).slice(0, 20);
	const message = `Expected \`idle_seconds\` to be a number of seconds, 0 or more; got ${got}.`;
	throw new PalimpsestError("invalid_argument", message);
}

type OpenedConversation = Awaited<ReturnType<typeof openConversation>>;

export async function openConversation(request: ConversationRequest) {
	const { conversation, policy, archive, idleSeconds } = request;
	checkIdleSeconds(idleSeconds);
	const source = readConversation(conversation, policy.mask.observations, { names: request.formats });
	const model = modelOfCall(request.model, conversation, policy);
	const { meter, estimate } = await tokenMeter(policy, model);
	return {
		source,
		model,
		bindsReasoning: bindsReasoning(request.model, source, policy),
		meter,
		estimate,
		...asSent(source, { model, tools: request.tools }),
		isPlaceholder: placeholdersOf(policy, originalsOf(request)),
		wording: wordings(policy, originalsOf(request)),
		archiving: archivingOf(archive, conversation),
	};
}

/** `done` is empty unless `kept`: a promise would be broken, or the archive failed. Throws `thinking_bound`. */
export async function concludePlan(
	request: ConversationRequest,
	opened: OpenedConversation,
	planned: {
		readonly plan: Plan;
		readonly measurement: Measurement;
		readonly estimate: TokenEstimate;
		readonly momentOf?: MomentOf | undefined;
		readonly rewrites?: boolean;
		readonly swap?: Swap | undefined;
		/** Texts of people that may not be missing afterwards. */
		readonly pinned?: readonly string[] | undefined;
		readonly notes?: readonly string[];
	},
) {
	const { conversation, policy, log, archive, spellingsOf } = request;
	const { source, transcript, meter, wording, isPlaceholder, bindsReasoning } = opened;
	const { measurement, estimate, rewrites, swap, pinned, notes = [] } = planned;
	const { scale } = estimate;
	const { countTokens } = meter;
	const originals = originalsOf(request);
	const lasting = rewrites
		? planned.plan
		: withLostReferences(planned.plan, { ...opened, policy, originals, countTokens });
	const { plan, thinking } = completePlan({
		source,
		policy,
		bindsReasoning,
		countTokens,
		...planned,
		plan: lasting,
	});
	let { document, error } = applyAndVerify({ source, plan, meter, rewrites, swap, pinned });
	let groups: readonly ArchivedGroup[] = [];
	if (archive && plan.length > 0 && !error) {
		try {
			const guarded = refusePlaceholders(archive, isPlaceholder);
			groups = await archiveOriginals({ archive: guarded, source, plan, spellingsOf });
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
		notes: [
			...basis.notes,
			...notesOnContents(transcript),
			...notesOnRoles(source.document, transcript),
			...notes,
			...estimate.notes,
		],
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
	const note = `The archive could not be written (${failure.message}), so the removed parts cannot be recalled.`;
	return { ...without, report: { ...without.report, notes: [...without.report.notes, note] } };
}

/** For an operation after which a session goes on from a rewritten history: `thinking` acts as `auto` unless it is set. */
export function policyOfRewrite(policy: Policy): Policy {
	return policy.thinking === null ? { ...policy, thinking: "auto" } : policy;
}

export function completePlan(what: {
	readonly source: ReadConversation;
	readonly plan: Plan;
	readonly policy: Policy;
	readonly countTokens: CountTokens;
	readonly momentOf?: MomentOf | undefined;
	/** The provider's check accepts its own block, so that no reasoning behind it becomes invalid. */
	readonly swap?: Swap | undefined;
	/** By default as the conversation and the policy name the model. */
	readonly bindsReasoning?: boolean | undefined;
}) {
	const { source, plan, policy, countTokens, momentOf } = what;
	// If edits are refused, no earlier call made one.
	const affected = what.swap
		? []
		: affectedThinking(source.transcript, plan, policy.thinking === "refuse" ? madeNow : momentOf);
	if (policy.thinking === "refuse" && affected.length > 0) {
		const message = `${affected.length} reasoning blocks come after the parts to edit and are bound to them, and the policy says thinking = "refuse". Allow it with thinking = "auto", "keep" or "strip_after_edit".`;
		throw new PalimpsestError("thinking_bound", message);
	}
	const { document, transcript } = source;
	const binds = () => what.bindsReasoning ?? bindsReasoning(undefined, source, policy);
	const isAuto = policy.thinking === "auto";
	const strips = affected.length > 0 && (isAuto ? binds() : policy.thinking === "strip_after_edit");
	const strip = strips ? planStripThinking({ document, transcript, affected, countTokens }) : undefined;
	const all = [...plan, ...(strip?.edits ?? [])];
	const { links } = source.format;
	return {
		plan: links ? withRelinks(links, source.located, all) : all,
		thinking: thinkingReport(affected, strip?.left, isAuto),
	};
}

/** Applies a plan and verifies the result. If a promise would be broken, returns the original document with an error. */
export function applyAndVerify(planned: {
	readonly source: ReadConversation;
	readonly plan: Plan;
	readonly meter: TokenMeter;
	readonly rewrites?: boolean | undefined;
	readonly swap?: Swap | undefined;
	readonly pinned?: readonly string[] | undefined;
}): { readonly document: unknown; readonly error?: PalimpsestError } {
	const { source, plan, meter, rewrites, swap, pinned } = planned;
	const { document, transcript, format, located } = source;
	if (plan.length === 0) return { document };
	let edited: unknown;
	let violations: readonly Violation[];
	try {
		edited = applyPlan(document, plan);
		const written = locateMessages(edited);
		violations = verify(
			{ document, transcript },
			{ document: edited, transcript: format.read(written) },
			{
				plan,
				countTokens: meter.countTokens,
				...(rewrites ? { rewrite: { meter, swap } } : {}),
				pinned,
				ownTextOf: (text) => splitFrames(text).own,
				base: located.base,
				...(format.links ? { isLink: linkRecogniser(format.links, located) } : {}),
				answeredCalls: format.answeredCalls?.(written) ?? [],
			},
		);
	} catch (cause) {
		const message = "The plan could not be applied, so the conversation is unchanged. Please report this.";
		return { document, error: new PalimpsestError("broken_promise", message, { cause }) };
	}
	if (violations.length === 0) return { document: edited };
	const shown = violations.slice(0, 5).map(({ promise, detail }) => `${promise} (${detail})`);
	const more = violations.length > shown.length ? ` and ${violations.length - shown.length} more` : "";
	const broken = `have broken ${shown.join(", ")}${more}, so the conversation is unchanged.`;
	const error = rewrites
		? new PalimpsestError("strategy_failed", `The result of the compaction strategy would ${broken}`)
		: new PalimpsestError("broken_promise", `The result would ${broken} Please report this.`);
	return { document, error };
}

const mostShown = 20;

interface ThinkingReport {
	readonly count: number;
	/** JSON Pointers of the first, into the input. */
	readonly paths: readonly string[];
	readonly stripped: number;
	/** JSON Pointers of the first that the policy wanted removed but that had to stay. */
	readonly left: readonly string[];
	readonly advice: string;
}

/** `left` is `undefined` if none was to be removed; with `isAuto`, because the model is not known to bind them. */
function thinkingReport(
	affected: readonly AffectedThinking[],
	left: readonly AffectedThinking[] | undefined,
	isAuto: boolean,
) {
	if (affected.length === 0) return undefined;
	const pathsOf = (blocks: readonly AffectedThinking[]) =>
		blocks.slice(0, mostShown).map(({ block }) => jsonPointer(block.path));
	return {
		count: affected.length,
		paths: pathsOf(affected),
		stripped: left ? affected.length - left.length : 0,
		left: pathsOf(left ?? []),
		advice: adviceOn(left, isAuto),
	};
}

/** Claude's API can itself leave out the blocks that no longer fit. */
const dropBlock = 'have the API leave them out (`thinking.block_binding.prefix_mismatch_behavior: "drop_block"`)';

function adviceOn(left: readonly AffectedThinking[] | undefined, isAuto: boolean): string {
	if (!left && isAuto) {
		return `They were left in, since the conversation names no model that is known to bind reasoning. If a provider refuses them with status 400, name the \`model\`, set thinking = "strip_after_edit" in the policy, or ${dropBlock}.`;
	}
	if (!left) {
		return `A provider that binds reasoning to earlier messages (Claude 5.1 and later) may refuse them with status 400: set thinking = "auto" or "strip_after_edit" in the policy, or ${dropBlock}.`;
	}
	const why = isAuto ? ", since the model of the conversation binds reasoning to earlier messages" : "";
	if (left.length === 0) return `They were taken out${why}.`;
	return `${left.length} of them stayed, because a call needs them or their message has nothing else. A provider that binds reasoning to earlier messages may refuse those with status 400: ${dropBlock}.`;
}
