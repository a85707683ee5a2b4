import { splitFrames } from "../engine/compaction/summary.js";
import { applyPlan } from "../engine/conversation/apply.js";
import { jsonPointer } from "../engine/conversation/paths.js";
import { notesOnRoles, reportOf } from "../engine/conversation/report.js";
import { verify } from "../engine/conversation/verify.js";
import { affectedThinking, madeNow, planStripThinking } from "../engine/masking/thinking.js";
import { wordings } from "../engine/policy/wordings.js";
import { PalimpsestError } from "../errors.js";
import { locateMessages, readConversation } from "../formats/detect.js";
import { bindsReasoning, modelOfCall } from "../formats/model.js";
import { linkRecogniser, withRelinks } from "../formats/session-files.js";
import { refusePlaceholders } from "../storage/archive/store.js";
import { archiveOriginals, archivingOf, originalsOf } from "../storage/restore/originals.js";
import { placeholdersOf } from "../storage/restore/recognise.js";
import { asSent, countingReport, tokenMeter } from "./count.js";
import { editRecord, planEvents } from "./edit-record.js";

function checkIdleSeconds(seconds) {
	if (seconds === undefined || (typeof seconds === "number" && seconds >= 0)) return;
	const got = String(seconds).slice(0, 20);
	const message = `Expected \`idle_seconds\` to be a number of seconds, 0 or more; got ${got}.`;
	throw new PalimpsestError("invalid_argument", message);
}
export async function openConversation(request) {
	const { conversation, policy, archive, idleSeconds } = request;
	checkIdleSeconds(idleSeconds);
	const source = readConversation(conversation, policy.mask.observations, request.formats);
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
export async function concludePlan(request, opened, planned) {
	const { conversation, policy, log, archive, spellingsOf } = request;
	const { source, transcript, meter, wording, isPlaceholder, bindsReasoning } = opened;
	const { measurement, estimate, rewrites, pinned, notes = [] } = planned;
	const { scale } = estimate;
	const { plan, thinking } = completePlan({
		source,
		policy,
		bindsReasoning,
		countTokens: meter.countTokens,
		...planned,
	});
	let { document, error } = applyAndVerify({ source, plan, meter, rewrites, pinned });
	let groups = [];
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
	const refOfGroup = new Map(groups.flatMap(({ ref, messages }) => messages.map((message) => [message, ref])));
	if (log) for (const event of planEvents(done, { unknownTool: wording.unknownTool, scale })) log(event);
	const basis = reportOf(transcript, measurement, done, scale);
	const report = {
		...basis,
		notes: [...basis.notes, ...notesOnRoles(source.document, transcript), ...notes, ...estimate.notes],
		...countingReport(estimate),
		...(thinking ? { thinking } : {}),
		...(groups.length > 0 ? { dropped_groups: groups } : {}),
	};
	const outcome = {
		conversation: document,
		edits: done.map((edit) => editRecord(edit, { document: conversation, scale, refOfGroup })),
		report,
		...(error ? { error } : {}),
	};
	return { done, kept: error === undefined, outcome };
}
export async function retryWithoutArchive(request, operation) {
	const mayRetry = request.policy.on_archive_failure === "mask_without_recall";
	let failure;
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
export function policyOfRewrite(policy) {
	return policy.thinking === null ? { ...policy, thinking: "auto" } : policy;
}
export function completePlan(what) {
	const { source, plan, policy, countTokens, momentOf } = what;
	// If edits are refused, no earlier call made one.
	const affected = affectedThinking(source.transcript, plan, policy.thinking === "refuse" ? madeNow : momentOf);
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
export function applyAndVerify(planned) {
	const { source, plan, meter, rewrites, pinned } = planned;
	const { document, transcript, format, located } = source;
	if (plan.length === 0) return { document };
	let edited;
	let violations;
	try {
		edited = applyPlan(document, plan);
		const written = locateMessages(edited);
		violations = verify(
			{ document, transcript },
			{ document: edited, transcript: format.read(written) },
			{
				plan,
				countTokens: meter.countTokens,
				...(rewrites ? { rewrite: { meter } } : {}),
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
/** `left` is `undefined` if none was to be removed; with `isAuto`, because the model is not known to bind them. */
function thinkingReport(affected, left, isAuto) {
	if (affected.length === 0) return undefined;
	const pathsOf = (blocks) => blocks.slice(0, mostShown).map(({ block }) => jsonPointer(block.path));
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
function adviceOn(left, isAuto) {
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
