import type { Policy } from "../policy/schema.ts";
import type { Archiving } from "./archiving.ts";
import { startDraft } from "./draft.ts";
import type { Edit, Plan, Size } from "./edit.ts";
import { type Measurement, measure, type TokenMeter } from "./measure.ts";
import type { PlanMemory } from "./plan-memory.ts";
import { subtractSizes } from "./size.ts";
import { type DropParameters, planDrop } from "./strategies/drop.ts";
import { planMask } from "./strategies/mask.ts";
import type { MaskResultParameters } from "./strategies/mask-result.ts";
import { planTruncate } from "./strategies/truncate.ts";
import { exactScale, scaleTokens, type TokenScale } from "./token-scale.ts";
import type { Transcript } from "./transcript.ts";

/** A step of the guard's ladder that was taken. */
export interface LadderStep {
	readonly step: "truncate" | "mask" | "drop";
	/** Results truncated or masked, or messages dropped, by this step. */
	readonly count: number;
	/** Tokens of the whole conversation after it. */
	readonly tokensAfter: number;
}

/** What the guard would do, and whether the outcome fits. */
export interface GuardPlan {
	readonly plan: Plan;
	readonly steps: readonly LadderStep[];
	readonly measurement: Measurement;
	readonly tokensAfter: number;
	readonly fits: boolean;
	/** Tokens over the budget when even the smallest view is over it; otherwise 0. */
	readonly shortfall: number;
}

/** What the guard needs to know. */
export interface GuardParameters {
	readonly transcript: Transcript;
	readonly policy: Policy;
	/** Tokens that the conversation may take. */
	readonly budget: number;
	readonly meter: TokenMeter;
	/** The conversation measured by that meter, where that was done before. */
	readonly measurement?: Measurement;
	/** What the model makes of a token; by default, that it is one. */
	readonly scale?: TokenScale;
	readonly wording: MaskResultParameters["wording"] & { readonly guardMarker: string };
	readonly isPlaceholder: (text: string) => boolean;
	readonly archiving?: Archiving | undefined;
	readonly memory?: PlanMemory | undefined;
}

/**
 * Plans how to bring a conversation within its budget (seed 5, L2): the steps of the policy's ladder one after the
 * other until it fits at the upper end of the scale. With `truncate_when = "always"` large results are cut even where
 * all fits (seed 5, L1).
 */
export function planGuard(parameters: GuardParameters): GuardPlan {
	const { transcript, policy, budget, scale = exactScale } = parameters;
	const { measurement = measure(transcript, parameters.meter) } = parameters;
	const draft = startDraft(measurement.messages);
	const steps: LadderStep[] = [];
	let left = measurement.total;
	const excess = (size: Size) => Math.max(0, scaleTokens(size, scale).high - budget);

	for (const step of policy.guard.ladder) {
		const isCap = step === "truncate" && policy.guard.truncate_when === "always";
		if (excess(left) === 0 && !isCap) continue;
		const edits = planStep(step, {
			...parameters,
			originalSizes: measurement.messages,
			currentSizes: step === "drop" ? draft.sizes() : measurement.messages,
			isEnough: (dropped) => excess(subtractSizes(left, dropped)) === 0,
		});
		let count = 0;
		let last: unknown;
		for (const edit of edits) {
			if (!draft.add(edit)) continue;
			// The edits of one result, or of one message, stand side by side.
			const edited = step === "drop" ? edit.message : edit.result;
			if (edited !== last) count += 1;
			last = edited;
		}
		if (count === 0) continue;
		left = subtractSizes(measurement.total, draft.saved());
		steps.push({ step, count, tokensAfter: scaleTokens(left, scale).tokens });
	}
	const shortfall = excess(left);
	const tokensAfter = scaleTokens(left, scale).tokens;
	return { plan: draft.plan(), steps, measurement, tokensAfter, fits: shortfall === 0, shortfall };
}

function planStep(
	step: LadderStep["step"],
	parameters: GuardParameters & Pick<DropParameters, "originalSizes" | "currentSizes" | "isEnough">,
): readonly Edit[] {
	const { transcript, policy, wording, isPlaceholder, meter, memory, archiving } = parameters;
	const { countTokens } = meter;
	switch (step) {
		case "truncate": {
			const limits = {
				maxChars: policy.guard.max_tool_result_chars,
				headChars: policy.guard.truncate_head_chars,
				tailChars: policy.guard.truncate_tail_chars,
				marker: wording.guardMarker,
			};
			return planTruncate({ transcript, limits, countTokens, isPlaceholder, memory, archiving });
		}
		case "mask":
			return planMask({ ...parameters, policy: policy.mask, media: policy.media, wording, isPlaceholder, countTokens })
				.edits;
		case "drop":
			return planDrop({ ...parameters, policy: policy.guard });
	}
}
