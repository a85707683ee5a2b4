import { addEdits } from "./add-edits.ts";
import { type Draft, startDraft } from "./draft.ts";
import type { Edit, Size } from "./edit.ts";
import type { Measurement } from "./measure.ts";
import { addSizes, subtractSizes } from "./size.ts";

/** A step of the ladder that edits results. */
export type EditingStep = "truncate" | "mask";

/** A step that was taken. */
export interface TakenStep {
	readonly step: EditingStep;
	readonly edits: readonly Edit[];
	/** Results that it changed. */
	readonly count: number;
	/** What it and the steps before it save. */
	readonly saved: Size;
}

/** The steps of a ladder before messages are dropped, and the draft that they made. */
export interface LadderStart {
	readonly steps: readonly TakenStep[];
	readonly measurement: Measurement;
	readonly draft: Draft;
}

/** Takes steps one by one. */
export interface Ladder {
	readonly take: (step: EditingStep, edits: readonly Edit[]) => TakenStep;
	/** All steps that were taken. */
	readonly finish: () => LadderStart;
}

/**
 * Starts a ladder on a conversation; where it goes on from an earlier one, from the steps that were taken then. As long
 * as the same steps are taken with more edits, only these are added to the draft: edits of one message have nothing to
 * do with those of another, so the draft is the same as if all had been added in turn.
 */
export function startLadder(measurement: Measurement, earlier?: LadderStart): Ladder {
	let begun = earlier && startsWith(measurement.messages, earlier.measurement.messages) ? earlier : undefined;
	let draft = startDraft(measurement.messages, begun?.draft);
	const steps: TakenStep[] = [];

	function startAnew(): void {
		begun = undefined;
		draft = startDraft(measurement.messages);
		for (const { edits } of steps) addEdits(draft, edits);
	}

	return {
		take(step, edits) {
			if (begun && !goesOn(begun, steps.length, { step, edits })) startAnew();
			const was = begun?.steps[steps.length];
			const count = (was?.count ?? 0) + addEdits(draft, edits, was?.edits.length);
			// The draft began with what all earlier steps save, those after this one too.
			const added = begun ? subtractSizes(draft.saved(), begun.draft.saved()) : draft.saved();
			const taken = { step, edits, count, saved: was ? addSizes(was.saved, added) : added };
			steps.push(taken);
			return taken;
		},
		finish() {
			if (begun && steps.length < begun.steps.length) startAnew();
			return { steps, measurement, draft };
		},
	};
}

/** Whether a step is the earlier one with more edits, and none that a later step of then would have come before. */
function goesOn(
	earlier: LadderStart,
	position: number,
	{ step, edits }: { readonly step: EditingStep; readonly edits: readonly Edit[] },
): boolean {
	const was = earlier.steps[position];
	if (was?.step !== step || !startsWith(edits, was.edits)) return false;
	if (position === earlier.steps.length - 1) return true;
	const known = earlier.measurement.messages.length;
	for (let index = was.edits.length; index < edits.length; index += 1) {
		if ((edits[index] as Edit).message < known) return false;
	}
	return true;
}

function startsWith(list: readonly unknown[], beginning: readonly unknown[]): boolean {
	if (list === beginning) return true;
	if (list.length < beginning.length) return false;
	for (let index = 0; index < beginning.length; index += 1) if (list[index] !== beginning[index]) return false;
	return true;
}
