import type { Archive } from "../archive/archive.ts";
import { refusePlaceholders } from "../archive/store.ts";
import { applyPlan } from "../conversation/apply.ts";
import type { CountTokens, TokenMeter } from "../conversation/measure.ts";
import type { Plan } from "../conversation/plan.ts";
import { jsonPointer } from "../conversation/transcript.ts";
import { type Violation, verify } from "../conversation/verify.ts";
import { PalimpsestError } from "../errors.ts";
import { locateMessages, type ReadConversation } from "../formats/detect.ts";
import { linkRecogniser, planRelink } from "../formats/session-files.ts";
import {
	type AffectedThinking,
	affectedThinking,
	type MomentOf,
	madeNow,
	planStripThinking,
} from "../masking/thinking.ts";
import type { Policy } from "../policy/schema.ts";
import { type ArchivedGroup, archiveOriginals, type SpellingsOf } from "./originals.ts";

/** A plan carried out, or the conversation as it was with the reason why. */
export type CarriedOut =
	| (Extract<Settled, { kind: "kept_promises" }> & { readonly groups: readonly ArchivedGroup[] })
	| Extract<Settled, { kind: "broken_promise" }>
	| { readonly kind: "not_archived"; readonly document: unknown; readonly error: PalimpsestError };

/**
 * Applies a plan, verifies what was written, and archives what it takes out before anybody sees the result, so that no
 * placeholder ever points at nothing.
 */
export async function carryOut(what: {
	readonly source: ReadConversation;
	readonly plan: Plan;
	readonly countTokens: CountTokens;
	readonly archive?: Archive | undefined;
	/** Recognises what must never be archived as an original. */
	readonly isPlaceholder: (text: string) => boolean;
	readonly spellingsOf?: SpellingsOf | undefined;
	/** Set where whole messages may be written anew, as by a strategy of the user's own: the meter by which nothing grows. */
	readonly rewrite?: { readonly meter: TokenMeter };
}): Promise<CarriedOut> {
	const { source, plan, countTokens, isPlaceholder, spellingsOf, rewrite } = what;
	const settled = settle({ source, plan, countTokens, rewrite });
	if (settled.kind === "broken_promise") return settled;
	if (!what.archive || plan.length === 0) return { ...settled, groups: [] };
	const archive = refusePlaceholders(what.archive, isPlaceholder);
	try {
		return { ...settled, groups: await archiveOriginals({ archive, source, plan, spellingsOf }) };
	} catch (error) {
		if (!(error instanceof PalimpsestError)) throw error;
		return { kind: "not_archived", document: source.document, error };
	}
}

/** A plan with all that follows from it. */
export interface CompletedPlan {
	readonly plan: Plan;
	/** `undefined` where no such block is concerned. */
	readonly thinking: ThinkingReport | undefined;
}

/**
 * Adds to a plan what follows from it: reasoning blocks that the policy has taken out, and ties of records whose
 * predecessor is dropped.
 *
 * @throws PalimpsestError `thinking_bound` where the policy refuses edits before bound reasoning blocks.
 */
export function completePlan(what: {
	readonly source: ReadConversation;
	readonly plan: Plan;
	readonly policy: Policy;
	readonly countTokens: CountTokens;
	/** When each edit was first made; by default now. */
	readonly momentOf?: MomentOf | undefined;
}): CompletedPlan {
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

interface ArchivingRequest {
	readonly policy: Policy;
	readonly archive?: Archive | undefined;
}

interface MayFail {
	readonly report: { readonly notes: readonly string[] };
	readonly error?: PalimpsestError;
}

/**
 * Does something that archives, and where the archive cannot be written and the policy allows it, does it again without:
 * its placeholders then promise nothing.
 */
export async function despiteArchive<Request extends ArchivingRequest, Result extends MayFail>(
	request: Request,
	once: (request: Request) => Promise<Result>,
): Promise<Result> {
	const goesOn = request.policy.on_archive_failure === "mask_without_recall";
	let lost: PalimpsestError;
	try {
		const result = await once(request);
		if (!goesOn || result.error?.code !== "archive_unavailable") return result;
		lost = result.error;
	} catch (error) {
		// Naming an original fails as storing it does, where what must not be stored cannot be looked for.
		if (!goesOn || !(error instanceof PalimpsestError) || error.code !== "archive_unavailable") throw error;
		lost = error;
	}
	const without = await once({ ...request, archive: undefined });
	const note = `The archive could not be written (${lost.message}), so what was taken out cannot be recalled.`;
	return { ...without, report: { ...without.report, notes: [...without.report.notes, note] } };
}

/** A conversation after a plan: edited and verified, or as it was with the reason why. */
export type Settled =
	| { readonly kind: "kept_promises"; readonly document: unknown }
	| { readonly kind: "broken_promise"; readonly document: unknown; readonly error: PalimpsestError };

/** A plan to carry out. */
interface PlannedEdits {
	readonly source: ReadConversation;
	readonly plan: Plan;
	readonly countTokens: CountTokens;
	/** Set where whole messages may be written anew: the meter by which the conversation may not grow. */
	readonly rewrite?: { readonly meter: TokenMeter } | undefined;
}

/**
 * Applies a plan, reads the written document as a whole and verifies it. Where a promise would be broken, the document
 * that came in comes back with a `broken_promise` error that names the promises and the places.
 */
export function settle(planned: PlannedEdits): Settled {
	const { source, plan, rewrite } = planned;
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
	const error = rewrite
		? new PalimpsestError("strategy_failed", `What the compaction strategy returned would ${broken}`)
		: new PalimpsestError("broken_promise", `The result would ${broken} Please report this.`);
	return { kind: "broken_promise", document, error };
}

function check({ source, ...parameters }: PlannedEdits, edited: unknown): readonly Violation[] {
	const { document, transcript, format, located } = source;
	const written = locateMessages(edited);
	return verify(
		{ document, transcript },
		{ document: edited, transcript: format.read(written) },
		{
			...parameters,
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

/** Reports on the blocks behind an edit; `left` are those that could not be taken out, `undefined` where none was to be. */
export function thinkingReport(
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
