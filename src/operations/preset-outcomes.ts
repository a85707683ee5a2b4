import type { Measurement, TokenMeter, TokenScale } from "../conversation/measure.ts";
import type { Plan } from "../conversation/plan.ts";
import { type Archiving, economicsOf, reportOf } from "../conversation/report.ts";
import type { Transcript } from "../conversation/transcript.ts";
import { PalimpsestError } from "../errors.ts";
import type { ReadConversation } from "../formats/detect.ts";
import { budgetOf } from "../guarding/budget.ts";
import { planGuard } from "../guarding/guard.ts";
import { planMask } from "../masking/mask.ts";
import type { MomentOf } from "../masking/thinking.ts";
import { resolvePolicy } from "../policy/layers.ts";
import { presetNames } from "../policy/names.ts";
import type { Policy, PolicyLayer } from "../policy/schema.ts";
import { type Originals, wordings } from "../policy/wordings.ts";
import { completePlan } from "./conversation.ts";
import { placeholdersOf } from "./find-original.ts";
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
}

export function presetOutcomes(
	conversation: CountedConversation,
	{ layers, last }: { readonly layers: readonly PolicyLayer[]; readonly last: PolicyLayer },
): PresetOutcome[] {
	const named = presetNames.flatMap((preset): [string, PolicyLayer][] => {
		if (preset !== "balanced") return [[preset, { preset }]];
		return (["low", "medium", "high"] as const).map((thrift) => [
			thrift === "medium" ? preset : `${preset}:${thrift}`,
			{ preset, mask: { thrift } },
		]);
	});
	return named.map(([name, layer]) => presetOutcome(name, resolvePolicy([...layers, layer, last]), conversation));
}

/** The effect of `mask` if the preset masks and the result fits; otherwise of `guard`. */
function presetOutcome(preset: string, policy: Policy, conversation: CountedConversation): PresetOutcome {
	const { contextWindow } = conversation;
	const budget = contextWindow === undefined ? undefined : budgetOf(contextWindow, policy.guard);
	const plans = planner(policy, conversation);
	const judge = (plan: Plan) => outcomeOf(plan, { preset, policy, budget, ...conversation });
	const masked = policy.mask.enabled ? judge(plans.mask()) : undefined;
	return masked && masked.fits !== false ? masked : judge(plans.guard(budget ?? Number.POSITIVE_INFINITY));
}

/** All references have the same length. */
const anyOriginal: Archiving = { refOf: () => "ku193re960gi257do532", jsonAt: () => "" };

function planner(policy: Policy, { source, transcript, measurement, meter, scale, originals }: CountedConversation) {
	const { countTokens } = meter;
	const shared = {
		transcript,
		wording: wordings(policy, originals),
		isPlaceholder: placeholdersOf(policy),
		archiving: originals === "not_archived" ? undefined : anyOriginal,
	};
	const complete = (plan: Plan, momentOf: MomentOf): Plan => {
		try {
			return completePlan({ source, plan, policy, countTokens, momentOf }).plan;
		} catch (error) {
			// The policy forbids such edits.
			if (error instanceof PalimpsestError && error.code === "thinking_bound") return [];
			throw error;
		}
	};
	return {
		mask() {
			const { mask, media, prices } = policy;
			const { edits, momentOf } = planMask({
				...shared,
				policy: mask,
				media,
				countTokens,
				replaying: { meter, prices },
			});
			return complete(edits, momentOf);
		},
		guard(budget: number) {
			// A guard that is turned off, or has no budget, changes nothing.
			if (!policy.guard.enabled || budget <= 0) return [];
			const counted = { policy, budget, meter, measurement, scale };
			const { plan, momentOf } = planGuard({ ...shared, ...counted, libraries: textLibraries });
			return complete(plan, momentOf);
		},
	};
}

function outcomeOf(
	plan: Plan,
	what: CountedConversation & {
		readonly preset: string;
		readonly policy: Policy;
		readonly budget: number | undefined;
	},
): PresetOutcome {
	const { preset, policy, budget, transcript, measurement, scale } = what;
	// Results that are no longer sent are masked too, but free nothing.
	const sent = plan.filter((edit) => !edit.unsent);
	const report = reportOf(transcript, measurement, sent, scale);
	const economics = economicsOf(plan, { measurement, prices: policy.prices, scale });
	return {
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
}
