import { jsonPointer } from "../conversation/paths.ts";
import { type Plan, type ReplaceEdit, takesMessageOut } from "../conversation/plan.ts";
import { editablePaths } from "../conversation/transcript.ts";
import { type PairedResult, pairResults } from "../conversation/turns.ts";
import { type GuardParameters, type GuardPlan, planGuard } from "./guard.ts";

/** A result without the lines that earlier ones show. */
export interface RepeatedResult {
	/** In the order of `pairResults`. */
	readonly place: number;
	readonly edits: readonly ReplaceEdit[];
	/** Places of the results that show the lines. */
	readonly sources: readonly number[];
}

/** Plans in which a repeat came to point to nothing, before all repeats stay whole. */
const mostRounds = 3;

/**
 * Plans as `planGuard`, and first leaves out lines that are in view, which loses nothing. Where a later step takes out or changes the
 * result that shows them, a result stays whole.
 */
export function planGuardWithRepeats(
	parameters: Omit<GuardParameters, "repeats">,
	repeated: readonly RepeatedResult[],
): GuardPlan {
	const paired = repeated.length > 0 ? pairResults(parameters.transcript) : [];
	let left = repeated;
	for (let round = 0; round < mostRounds && left.length > 0; round += 1) {
		const guard = planGuard({ ...parameters, repeats: left.flatMap(({ edits }) => edits) });
		const standing = standingRepeats(left, guard.plan, paired);
		if (standing.length === left.length) {
			if (guard.fits) return guard;
			break;
		}
		left = standing;
	}
	return planGuard(parameters);
}

/** The repeats whose sources a plan leaves as the repeats point to them. */
function standingRepeats(repeated: readonly RepeatedResult[], plan: Plan, paired: readonly PairedResult[]) {
	const planned = new Set<unknown>(plan);
	const gone = new Set(plan.filter(takesMessageOut).map(({ message }) => message));
	const own = new Map(repeated.map((one) => [one.place, one]));
	const ofRepeats = new Set<unknown>(repeated.flatMap(({ edits }) => edits));
	const changed = new Set(plan.filter((edit) => !ofRepeats.has(edit)).map(({ path }) => jsonPointer(path)));
	const isAsPlanned = (place: number) => {
		const { message, result } = paired[place] as PairedResult;
		if (gone.has(message) || editablePaths(result).some((path) => changed.has(jsonPointer(path)))) return false;
		return own.get(place)?.edits.every((edit) => planned.has(edit)) ?? true;
	};
	return repeated.filter(
		({ edits, sources }) => !edits.some((edit) => planned.has(edit)) || sources.every(isAsPlanned),
	);
}
