import type { PairedResult } from "./pairing.ts";
import type { ToolResult } from "./transcript.ts";

/** What was planned for results that were met before, under one policy and one counter. */
export interface PlanMemory {
	readonly masks: ResultMemory;
	readonly truncations: ResultMemory;
}

/** Remembers one kind of outcome by result, and by the name of the tool that it is shown under. */
export type ResultMemory = WeakMap<ToolResult, { readonly toolName: string | undefined; readonly outcome: unknown }>;

export function createPlanMemory(): PlanMemory {
	return { masks: new WeakMap(), truncations: new WeakMap() };
}

/** The outcome for a result: as planned before where there is such a memory, else planned now. */
export function planOnce<Outcome>(
	memory: ResultMemory | undefined,
	paired: PairedResult,
	plan: (paired: PairedResult) => Outcome,
): Outcome {
	const toolName = paired.call?.name;
	const known = memory?.get(paired.result);
	if (known && known.toolName === toolName) return known.outcome as Outcome;
	const outcome = plan(paired);
	memory?.set(paired.result, { toolName, outcome });
	return outcome;
}
