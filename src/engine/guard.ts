import { addEdits } from "./add-edits.ts";
import { findEarlier } from "./continuation.ts";
import { type Draft, startDraft } from "./draft.ts";
import type { Edit, Size } from "./edit.ts";
import type { GuardParameters, GuardPlan, LadderStep } from "./guard-plan.ts";
import { type EditingStep, startLadder } from "./ladder-start.ts";
import { type Measurement, measure } from "./measure.ts";
import { createPlanMemory } from "./plan-memory.ts";
import { isOpen } from "./replay/history.ts";
import { startSum, subtractSizes } from "./size.ts";
import { type DropParameters, planDrop } from "./strategies/drop.ts";
import { planLastingDrop } from "./strategies/lasting-drop.ts";
import { type MaskParameters, maskMoments, planMask, type Replaying } from "./strategies/mask.ts";
import { lazyMoments, type MomentOf, madeNow } from "./strategies/thinking.ts";
import { planGuardTruncation } from "./strategies/truncate-of-guard.ts";
import { exactScale, highTokens, scaleTokens } from "./token-scale.ts";

/**
 * Plans how to bring a conversation within its budget (seed 5, L2): the steps of the policy's ladder one after the
 * other until it fits at the upper end of the scale. With `truncate_when = "always"` large results are cut even where
 * all fits (seed 5, L1). With a `target_ratio` what is dropped is found by replaying the history, so that it stays dropped
 * and the next calls append.
 */
export function planGuard(given: GuardParameters): GuardPlan {
	// What is planned for a result is asked for by more than one step.
	const { memory = createPlanMemory() } = given;
	const parameters = { ...given, memory };
	const { transcript, policy, budget, scale = exactScale } = parameters;
	const { measurement = measure(transcript, parameters.meter) } = parameters;
	const excess = (size: Size) => Math.max(0, highTokens(size, scale) - budget);
	const isTaken = (step: LadderStep["step"], left: Size) => {
		if (step === "truncate" && policy.guard.truncate_when === "always") return true;
		// What was dropped at an earlier call stays so, though less may do by now.
		const isLasting = step === "drop" && policy.guard.target_ratio !== null;
		return excess(isLasting ? measurement.total : left) > 0;
	};
	const ladder = policy.guard.ladder;

	const { messages } = transcript;
	const start = startLadder(measurement, findEarlier(memory.ladders, messages)?.finding);
	const steps: LadderStep[] = [];
	let left = measurement.total;
	const taken: { readonly step: EditingStep; readonly edits: readonly Edit[] }[] = [];
	let dropMoments: ArrayLike<number> = [];
	let next = 0;
	for (let step = ladder[next]; step !== undefined && step !== "drop"; next += 1, step = ladder[next]) {
		if (!isTaken(step, left)) continue;
		const edits = planEditing(step, parameters);
		const { count, saved } = start.take(step, edits);
		taken.push({ step, edits });
		if (count === 0) continue;
		left = subtractSizes(measurement.total, saved);
		steps.push({ step, count, tokensAfter: scaleTokens(left, scale).tokens });
	}
	const started = start.finish();
	memory.ladders.set(messages, started);

	const draft = startDraft(measurement.messages, started.draft);
	for (const step of ladder.slice(next)) {
		if (!isTaken(step, left)) continue;
		const isEnough = (dropped: Size) => excess(subtractSizes(left, dropped)) === 0;
		let count: number;
		if (step === "drop") {
			const { edits, moments } = planDrops({ ...parameters, measurement, isEnough, draft });
			count = addDrops(draft, edits);
			dropMoments = moments;
		} else {
			const edits = planEditing(step, parameters);
			count = addEdits(draft, edits);
			taken.push({ step, edits });
		}
		if (count === 0) continue;
		left = subtractSizes(measurement.total, draft.saved());
		steps.push({ step, count, tokensAfter: scaleTokens(left, scale).tokens });
	}
	const shortfall = excess(left);
	const tokensAfter = scaleTokens(left, scale).tokens;
	const momentOf = lazyMoments(() => guardMoments({ ...parameters, measurement, taken, dropMoments }));
	return { plan: draft.plan(), steps, measurement, tokensAfter, fits: shortfall === 0, shortfall, momentOf };
}

/**
 * When each edit of a guard was first made: a step of the ladder takes part from the first moment on at which what the
 * steps before it left was over the budget.
 */
function guardMoments(
	parameters: GuardParameters & {
		readonly measurement: Measurement;
		readonly taken: readonly { readonly step: EditingStep; readonly edits: readonly Edit[] }[];
		readonly dropMoments: ArrayLike<number>;
	},
): MomentOf {
	const { transcript, policy, budget, measurement, taken, dropMoments, scale = exactScale } = parameters;
	const { messages } = transcript;
	const never = Number.POSITIVE_INFINITY;
	// An answer that goes on was asked for before it began.
	const acts = new Float64Array(messages.length + 2).fill(never);
	for (let moment = messages.length; moment > 0; moment -= 1) {
		acts[moment] = isOpen(messages[moment - 1]) ? (acts[moment + 1] as number) : moment;
	}
	const actOf = (moment: number) => acts[moment] ?? never;
	const ofMasking = taken.some(({ step }) => step === "mask") ? maskMoments(maskParameters(parameters)) : madeNow;
	const ofResult: MomentOf = (edit) => (edit.reason === "mask" ? ofMasking(edit) : actOf(edit.message + 1));

	const begins = new Map<EditingStep, number>();
	const lighter = new Map<number, Size[]>();
	for (const { step, edits } of taken) {
		const isAlways = step === "truncate" && policy.guard.truncate_when === "always";
		const view = startSum(measurement.total);
		for (const size of measurement.messages) view.subtract(size);
		let begin = isAlways ? 0 : never;
		for (let moment = 1; moment <= messages.length && begin === never; moment += 1) {
			view.add(measurement.messages[moment - 1] as Size);
			for (const relief of lighter.get(moment) ?? []) view.subtract(relief);
			if (acts[moment] === moment && highTokens(view.total(), scale) > budget) begin = moment;
		}
		begins.set(step, begin);
		for (const edit of edits) {
			const moment = Math.max(begin, ofResult(edit));
			if (edit.unsent || moment === never) continue;
			const relief = subtractSizes(edit.before, edit.after);
			const known = lighter.get(moment);
			if (known) known.push(relief);
			else lighter.set(moment, [relief]);
		}
	}
	return (edit) => {
		if (edit.reason === "drop") return actOf(dropMoments[edit.message] ?? never);
		if (edit.reason !== "mask" && edit.reason !== "truncate") return never;
		return Math.max(begins.get(edit.reason) ?? never, ofResult(edit));
	};
}

/** What is dropped, and when each message of it went; by default now. */
function planDrops(
	parameters: GuardParameters &
		Pick<DropParameters, "isEnough"> & { readonly measurement: Measurement; readonly draft: Draft },
): { readonly edits: readonly Edit[]; readonly moments: ArrayLike<number> } {
	const { policy, measurement, draft } = parameters;
	if (policy.guard.target_ratio !== null) {
		return planLastingDrop({ ...parameters, replaying: replayingOf(parameters) });
	}
	const sizes = { originalSizes: measurement.messages, currentSizes: draft.sizes() };
	return { edits: planDrop({ ...parameters, ...sizes, policy: policy.guard }), moments: [] };
}

/** Drops messages; answers how many. */
function addDrops(draft: Draft, edits: readonly Edit[]): number {
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

function planEditing(step: EditingStep, parameters: GuardParameters): readonly Edit[] {
	return step === "truncate" ? planGuardTruncation(parameters) : planMask(maskParameters(parameters)).edits;
}

function maskParameters(parameters: GuardParameters): MaskParameters {
	const { policy, meter } = parameters;
	const { mask, media } = policy;
	const replaying = replayingOf(parameters);
	return { ...parameters, policy: mask, media, countTokens: meter.countTokens, replaying };
}
