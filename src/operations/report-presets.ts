import { isDeepStrictEqual } from "node:util";
import type { Measurement, TokenMeter, TokenScale } from "../engine/conversation/measure.ts";
import type { Plan } from "../engine/conversation/plan.ts";
import { type Archiving, economicsOf, reportOf } from "../engine/conversation/report.ts";
import type { Transcript } from "../engine/conversation/transcript.ts";
import { planGuard } from "../engine/guarding/guard.ts";
import { pricesNow } from "../engine/masking/history.ts";
import { planMask } from "../engine/masking/mask.ts";
import { withStepsIn } from "../engine/masking/price-steps.ts";
import type { MomentOf } from "../engine/masking/thinking.ts";
import { resolvePolicy } from "../engine/policy/layers.ts";
import { presetNames } from "../engine/policy/names.ts";
import type { Policy, PolicyLayer } from "../engine/policy/schema.ts";
import { type Originals, wordings } from "../engine/policy/wordings.ts";
import { PalimpsestError } from "../errors.ts";
import type { ReadConversation } from "../formats/detect.ts";
import { sha256Of } from "../formats/json-text/value.ts";
import { refOfHash } from "../storage/archive/reference.ts";
import { placeholdersOf } from "../storage/restore/recognise.ts";
import { budgetOf } from "./context-window.ts";
import { completePlan } from "./conversation.ts";
import { textLibraries } from "./text-libraries.ts";

export interface PresetOutcome {
	readonly preset: string;
	readonly tokens_after: number;
	/** In this call and each later one; below 0 if the conversation grows. */
	readonly freed_tokens: number;
	readonly masked: number;
	readonly truncated: number;
	readonly dropped: number;
	/** Within the preset's budget; `null` if no window is known. */
	readonly fits: boolean | null;
	/** From the first change on, which the provider would write to its cache again. */
	readonly rewritten_tokens: number;
	/** 0 if it costs nothing, `null` if never or if nothing changes. */
	readonly calls_to_break_even: number | null;
}

export interface CountedConversation {
	readonly source: ReadConversation;
	readonly transcript: Transcript;
	readonly measurement: Measurement;
	readonly meter: TokenMeter;
	readonly scale: TokenScale;
	readonly contextWindow: number | undefined;
	readonly originals: Originals;
	readonly bindsReasoning: boolean;
}

/** The outcome of each preset, laid over the settings of the user, and what masking by these settings alone frees. */
export function presetOutcomes(
	conversation: CountedConversation,
	{ layers, last }: { readonly layers: readonly PolicyLayer[]; readonly last: PolicyLayer },
): { readonly presets: readonly PresetOutcome[]; readonly masking: MaskedPlan | undefined } {
	const named = presetNames.flatMap((preset): [string, PolicyLayer][] => {
		if (preset !== "balanced") return [[preset, { preset }]];
		return (["low", "medium", "high"] as const).map((thrift) => [
			thrift === "medium" ? preset : `${preset}:${thrift}`,
			{ preset, mask: { thrift } },
		]);
	});
	const own = resolvePolicy([...layers, last]);
	let masking: MaskedPlan | undefined;
	const presets = named.map(([name, layer]) => {
		const policy = resolvePolicy([...layers, layer, last]);
		const masked = planOfMasks(name, policy, conversation);
		// Most users have the settings of a preset.
		if (isDeepStrictEqual(policy, own)) masking = masked;
		return masked && masked.outcome.fits !== false ? masked.outcome : guardOutcome(name, policy, conversation);
	});
	return { presets, masking: masking ?? planOfMasks("", own, conversation) };
}

/** A plan that only masks, and its outcome. */
interface MaskedPlan {
	readonly plan: Plan;
	readonly outcome: PresetOutcome;
}

/** `undefined` if the policy turns masking off. */
function planOfMasks(preset: string, policy: Policy, conversation: CountedConversation): MaskedPlan | undefined {
	const { mask, media, prices } = policy;
	if (!mask.enabled) return undefined;
	const { meter, scale } = conversation;
	const replaying = { meter, prices: withStepsIn(prices, 1 / scale.factor) };
	const how = { ...sharedBy(policy, conversation), policy: mask, media, countTokens: meter.countTokens, replaying };
	const { edits, momentOf } = planMask(how);
	return outcomeOf(edits, { preset, policy, conversation, momentOf });
}

/** The guard's outcome, where masking is off or not enough. */
function guardOutcome(preset: string, policy: Policy, conversation: CountedConversation): PresetOutcome {
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
const expectedRefs: Archiving = { refOf: (text) => refOfHash(sha256Of(text)), jsonAt: () => "" };

function sharedBy(policy: Policy, { transcript, originals, bindsReasoning }: CountedConversation) {
	return {
		transcript,
		wording: wordings(policy, originals),
		isPlaceholder: placeholdersOf(policy),
		archiving: originals === "not_archived" ? undefined : expectedRefs,
		bindsReasoning,
	};
}

function outcomeOf(
	planned: Plan,
	how: {
		readonly preset: string;
		readonly policy: Policy;
		readonly conversation: CountedConversation;
		readonly momentOf?: MomentOf | undefined;
	},
): MaskedPlan {
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

function completeIfAllowed(what: Parameters<typeof completePlan>[0]): Plan {
	try {
		return completePlan(what).plan;
	} catch (error) {
		if (error instanceof PalimpsestError && error.code === "thinking_bound") return [];
		throw error;
	}
}
