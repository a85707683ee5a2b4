import type { Policy } from "../policy/schema.ts";
import { startDraft } from "./draft.ts";
import type { Edit, Plan } from "./edit.ts";
import { type Measurement, measure, type TokenMeter } from "./measure.ts";
import type { PlanMemory } from "./plan-memory.ts";
import { type DropParameters, planDrop } from "./strategies/drop.ts";
import { planMask } from "./strategies/mask.ts";
import type { MaskResultParameters } from "./strategies/mask-result.ts";
import { planTruncate } from "./strategies/truncate.ts";
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
	readonly wording: MaskResultParameters["wording"] & { readonly guardMarker: string };
	readonly isPlaceholder: (text: string) => boolean;
	readonly memory?: PlanMemory | undefined;
}

/**
 * Plans how to bring a conversation within its budget (seed 5, L2): the steps of the policy's ladder one after the
 * other until it fits. With `truncate_when = "always"` large results are cut even where all fits (seed 5, L1).
 */
export function planGuard(parameters: GuardParameters): GuardPlan {
	const { transcript, policy, budget } = parameters;
	const measurement = measure(transcript, parameters.meter);
	const draft = startDraft(measurement.messages);
	const steps: LadderStep[] = [];
	let tokens = measurement.total.tokens;

	for (const step of policy.guard.ladder) {
		const isCap = step === "truncate" && policy.guard.truncate_when === "always";
		if (tokens <= budget && !isCap) continue;
		const edits = planStep(step, {
			...parameters,
			originalSizes: measurement.messages,
			currentSizes: step === "drop" ? draft.sizes() : measurement.messages,
			excessTokens: tokens - budget,
		});
		const added = edits.filter(draft.add);
		if (added.length === 0) continue;
		tokens = measurement.total.tokens - draft.savedTokens();
		const count = new Set(added.map((edit) => (step === "drop" ? edit.message : edit.result))).size;
		steps.push({ step, count, tokensAfter: tokens });
	}
	const shortfall = Math.max(0, tokens - budget);
	return { plan: draft.plan(), steps, measurement, tokensAfter: tokens, fits: shortfall === 0, shortfall };
}

function planStep(
	step: LadderStep["step"],
	parameters: GuardParameters & Pick<DropParameters, "originalSizes" | "currentSizes" | "excessTokens">,
): readonly Edit[] {
	const { transcript, policy, wording, isPlaceholder, meter, memory } = parameters;
	const { countTokens } = meter;
	switch (step) {
		case "truncate": {
			const limits = {
				maxChars: policy.guard.max_tool_result_chars,
				headChars: policy.guard.truncate_head_chars,
				tailChars: policy.guard.truncate_tail_chars,
				marker: wording.guardMarker,
			};
			return planTruncate({ transcript, limits, countTokens, memory });
		}
		case "mask":
			return planMask({ ...parameters, policy: policy.mask, media: policy.media, wording, isPlaceholder, countTokens })
				.edits;
		case "drop":
			return planDrop({ ...parameters, policy: policy.guard });
	}
}
