import type { Archiving } from "../../engine/archiving.ts";
import { budgetOf } from "../../engine/budget.ts";
import { economicsOf } from "../../engine/economics.ts";
import type { Plan } from "../../engine/edit.ts";
import { planGuard } from "../../engine/guard.ts";
import type { Measurement, TokenMeter } from "../../engine/measure.ts";
import { reportOf } from "../../engine/report.ts";
import { planMask } from "../../engine/strategies/mask.ts";
import type { MomentOf } from "../../engine/strategies/thinking.ts";
import type { TokenScale } from "../../engine/token-scale.ts";
import type { Transcript } from "../../engine/transcript.ts";
import { PalimpsestError } from "../../errors.ts";
import type { ReadConversation } from "../../formats/read-conversation.ts";
import { resolvePolicy } from "../../policy/layers.ts";
import { presetNames } from "../../policy/names.ts";
import type { Policy, PolicyLayer } from "../../policy/schema.ts";
import { type Originals, wordings } from "../../policy/wordings.ts";
import { completePlan } from "../complete-plan.ts";
import { placeholdersOf } from "../placeholders-of.ts";
import { textLibraries } from "../text-libraries.ts";
import type { PresetOutcome } from "./context-report.ts";

/** A conversation that was counted. */
export interface CountedConversation {
	readonly source: ReadConversation;
	/** As it is sent. */
	readonly transcript: Transcript;
	readonly measurement: Measurement;
	readonly meter: TokenMeter;
	readonly scale: TokenScale;
	/** Tokens; `undefined` where it is not known. */
	readonly contextWindow: number | undefined;
	readonly originals: Originals;
}

/**
 * What each preset would make of a conversation, over the configuration and with what the call itself sets. Nothing is
 * applied, verified or archived: these are plans. Takes time in proportion to the conversation.
 */
export function presetOutcomes(
	conversation: CountedConversation,
	{ layers, last }: { readonly layers: readonly PolicyLayer[]; readonly last: PolicyLayer },
): PresetOutcome[] {
	return presetNames
		.flatMap((preset): [string, PolicyLayer][] => {
			if (preset !== "balanced") return [[preset, { preset }]];
			return (["low", "medium", "high"] as const).map((thrift) => [
				thrift === "medium" ? preset : `${preset}:${thrift}`,
				{ preset, mask: { thrift } },
			]);
		})
		.map(([name, layer]) => presetOutcome(name, resolvePolicy([...layers, layer, last]), conversation));
}

/**
 * What `mask` would do, where the preset masks and that is enough; else what `guard` would, which without a known window
 * has no reason to take anything out but what is too large by itself.
 */
function presetOutcome(preset: string, policy: Policy, conversation: CountedConversation): PresetOutcome {
	const { contextWindow } = conversation;
	const budget = contextWindow === undefined ? undefined : budgetOf(contextWindow, policy.guard);
	const plans = planner(policy, conversation);
	const judge = (plan: Plan) => outcomeOf(plan, { preset, policy, budget, ...conversation });
	const masked = policy.mask.enabled ? judge(plans.mask()) : undefined;
	return masked && masked.fits !== false ? masked : judge(plans.guard(budget ?? Number.POSITIVE_INFINITY));
}

/** Any ref stands for all: each has as many characters, and but for a few that touch what stands before as many tokens. */
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
			// The policy forbids such edits, so there are none.
			if (error instanceof PalimpsestError && error.code === "thinking_bound") return [];
			throw error;
		}
	};
	return {
		mask() {
			const { mask, media, prices } = policy;
			const replaying = { meter, prices };
			const masking = { ...shared, policy: mask, media, countTokens, replaying };
			const { edits, momentOf } = planMask(masking);
			return complete(edits, momentOf);
		},
		guard(budget: number) {
			// A guard that is turned off, or that nothing of the window is left for, takes nothing out.
			if (!policy.guard.enabled || budget <= 0) return [];
			const what = { ...shared, policy, budget, meter, measurement, scale, libraries: textLibraries };
			const { plan, momentOf } = planGuard(what);
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
	// What is no longer sent is masked all the same, and frees nothing.
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
