import { addEdits } from "./add-edits.ts";
import { type Draft, startDraft } from "./draft.ts";
import type { Edit, Size } from "./edit.ts";
import type { GuardParameters, GuardPlan, LadderStep } from "./guard-plan.ts";
import { type Measurement, measure } from "./measure.ts";
import { subtractSizes } from "./size.ts";
import { type DropParameters, planDrop } from "./strategies/drop.ts";
import { planLastingDrop } from "./strategies/lasting-drop.ts";
import { planMask, type Replaying } from "./strategies/mask.ts";
import { planGuardTruncation } from "./strategies/truncate-of-guard.ts";
import { exactScale, highTokens, scaleTokens } from "./token-scale.ts";

/**
 * Plans how to bring a conversation within its budget (seed 5, L2): the steps of the policy's ladder one after the
 * other until it fits at the upper end of the scale. With `truncate_when = "always"` large results are cut even where
 * all fits (seed 5, L1). With a `target_ratio` what is dropped is found by replaying the history, so that it stays dropped
 * and the next calls append.
 */
export function planGuard(parameters: GuardParameters): GuardPlan {
	const { transcript, policy, budget, scale = exactScale } = parameters;
	const { measurement = measure(transcript, parameters.meter) } = parameters;
	const excess = (size: Size) => Math.max(0, highTokens(size, scale) - budget);
	const isTaken = (step: LadderStep["step"], left: Size) => {
		if (step === "truncate" && policy.guard.truncate_when === "always") return true;
		// What was dropped at an earlier call stays so, though less may do by now.
		const isLasting = step === "drop" && policy.guard.target_ratio !== null;
		return excess(isLasting ? measurement.total : left) > 0;
	};
	const draft = startDraft(measurement.messages);
	const steps: LadderStep[] = [];
	let left = measurement.total;
	for (const step of policy.guard.ladder) {
		if (!isTaken(step, left)) continue;
		const isEnough = (dropped: Size) => excess(subtractSizes(left, dropped)) === 0;
		const count =
			step === "drop"
				? addDrops(draft, { ...parameters, measurement, isEnough })
				: addEdits(draft, planEditing(step, parameters));
		if (count === 0) continue;
		left = subtractSizes(measurement.total, draft.saved());
		steps.push({ step, count, tokensAfter: scaleTokens(left, scale).tokens });
	}
	const shortfall = excess(left);
	const tokensAfter = scaleTokens(left, scale).tokens;
	return { plan: draft.plan(), steps, measurement, tokensAfter, fits: shortfall === 0, shortfall };
}

/** Drops messages; answers how many. */
function addDrops(
	draft: Draft,
	parameters: GuardParameters & Pick<DropParameters, "isEnough"> & { readonly measurement: Measurement },
): number {
	const { policy, measurement } = parameters;
	const edits =
		policy.guard.target_ratio === null
			? planDrop({
					...parameters,
					policy: policy.guard,
					originalSizes: measurement.messages,
					currentSizes: draft.sizes(),
				})
			: planLastingDrop({ ...parameters, replaying: replayingOf(parameters) });
	let count = 0;
	let last = -1;
	for (const edit of edits) {
		if (!draft.add(edit)) continue;
		// The values of one message stand side by side.
		if (edit.message !== last) count += 1;
		last = edit.message;
	}
	return count;
}

/** The replay behind masking, with the budget in tokens of the meter. */
function replayingOf({ policy, meter, budget, scale = exactScale }: GuardParameters): Replaying {
	const tokens = budget / scale.high;
	const slack = tokens * (1 - (policy.guard.target_ratio ?? 1));
	return { meter, prices: policy.prices, budget: tokens, slack };
}

function planEditing(step: "truncate" | "mask", parameters: GuardParameters): readonly Edit[] {
	if (step === "truncate") return planGuardTruncation(parameters);
	const { policy, meter } = parameters;
	const replaying = replayingOf(parameters);
	const { mask, media } = policy;
	return planMask({ ...parameters, policy: mask, media, countTokens: meter.countTokens, replaying }).edits;
}
