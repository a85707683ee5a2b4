import { isDeepStrictEqual } from "node:util";
import { economicsOf, reportOf } from "../engine/conversation/report.js";
import { planGuard } from "../engine/guarding/guard.js";
import { pricesNow } from "../engine/masking/history.js";
import { planMask } from "../engine/masking/mask.js";
import { withStepsIn } from "../engine/masking/price-steps.js";
import { resolvePolicy } from "../engine/policy/layers.js";
import { presetNames } from "../engine/policy/names.js";
import { wordings } from "../engine/policy/wordings.js";
import { PalimpsestError } from "../errors.js";
import { sha256Of } from "../formats/json-text/value.js";
import { refOfHash } from "../storage/archive/reference.js";
import { placeholdersOf } from "../storage/restore/recognise.js";
import { budgetOf } from "./context-window.js";
import { completePlan } from "./conversation.js";
import { textLibraries } from "./text-libraries.js";
/** The outcome of each preset, laid over the settings of the user, and what masking by these settings alone frees. */
export function presetOutcomes(conversation, { layers, last }) {
	const named = presetNames.flatMap((preset) => {
		if (preset !== "balanced") return [[preset, { preset }]];
		return ["low", "medium", "high"].map((thrift) => [
			thrift === "medium" ? preset : `${preset}:${thrift}`,
			{ preset, mask: { thrift } },
		]);
	});
	const own = resolvePolicy([...layers, last]);
	let masking;
	const presets = named.map(([name, layer]) => {
		const policy = resolvePolicy([...layers, layer, last]);
		const masked = planOfMasks(name, policy, conversation);
		// Most users have the settings of a preset.
		if (isDeepStrictEqual(policy, own)) masking = masked;
		return masked && masked.outcome.fits !== false ? masked.outcome : guardOutcome(name, policy, conversation);
	});
	return { presets, masking: masking ?? planOfMasks("", own, conversation) };
}
/** `undefined` if the policy turns masking off. */
function planOfMasks(preset, policy, conversation) {
	const { mask, media, prices } = policy;
	if (!mask.enabled) return undefined;
	const { meter, scale } = conversation;
	const replaying = { meter, prices: withStepsIn(prices, 1 / scale.factor) };
	const how = { ...sharedBy(policy, conversation), policy: mask, media, countTokens: meter.countTokens, replaying };
	const { edits, momentOf } = planMask(how);
	return outcomeOf(edits, { preset, policy, conversation, momentOf });
}
/** The guard's outcome, where masking is off or not enough. */
function guardOutcome(preset, policy, conversation) {
	const { meter, measurement, scale, contextWindow } = conversation;
	const { guard } = policy;
	const most = contextWindow === undefined ? Number.POSITIVE_INFINITY : budgetOf(contextWindow, guard);
	// A guard that is turned off, or has no budget, changes nothing.
	if (!guard.enabled || most <= 0) return outcomeOf([], { preset, policy, conversation }).outcome;
	const counted = { policy, budget: most, meter, measurement, scale };
	const shared = sharedBy(policy, conversation);
	const { plan, momentOf } = planGuard({ ...shared, ...counted, libraries: textLibraries });
	return outcomeOf(plan, { preset, policy, conversation, momentOf }).outcome;
}
/** The references that an archive would give without redaction. */
const expectedRefs = { refOf: (text) => refOfHash(sha256Of(text)), jsonAt: () => "" };
function sharedBy(policy, { transcript, originals, bindsReasoning }) {
	return {
		transcript,
		wording: wordings(policy, originals),
		isPlaceholder: placeholdersOf(policy),
		archiving: originals === "not_archived" ? undefined : expectedRefs,
		bindsReasoning,
	};
}
function outcomeOf(planned, how) {
	const { preset, policy, conversation, momentOf } = how;
	const { source, transcript, measurement, meter, scale, contextWindow, bindsReasoning } = conversation;
	const { countTokens } = meter;
	const budget = contextWindow === undefined ? undefined : budgetOf(contextWindow, policy.guard);
	const plan = completeIfAllowed({ source, plan: planned, policy, countTokens, momentOf, bindsReasoning });
	// Results that are no longer sent are masked too, but free nothing.
	const sent = plan.filter((edit) => !edit.unsent);
	const report = reportOf(transcript, measurement, sent, scale);
	const prices = pricesNow(transcript, policy.prices, undefined);
	const economics = economicsOf(plan, { measurement, prices, scale });
	const outcome = {
		preset,
		tokens_after: report.tokens.after,
		freed_tokens: report.tokens.before - report.tokens.after,
		masked: report.masked_tool_results,
		truncated: report.truncated_tool_results,
		dropped: report.dropped_messages,
		fits: budget === undefined ? null : report.band.high <= budget,
		rewritten_tokens: economics.rewritten_tokens,
		calls_to_break_even: economics.calls_to_break_even,
	};
	return { plan: sent, outcome };
}
function completeIfAllowed(what) {
	try {
		return completePlan(what).plan;
	} catch (error) {
		if (error instanceof PalimpsestError && error.code === "thinking_bound") return [];
		throw error;
	}
}
