import type { Findings } from "./continuation.ts";
import type { ReplaceEdit } from "./edit.ts";
import type { LadderStart } from "./ladder-start.ts";
import type { PairedResult } from "./pairing.ts";
import type { MaskedSoFar } from "./strategies/mask-plan.ts";
import type { ToolResult } from "./transcript.ts";

/** What was planned for results that were met before, under one policy and one counter. */
export interface PlanMemory {
	readonly masks: ResultMemory;
	readonly truncations: ResultMemory;
	/** What came of whole conversations, to go on from. */
	readonly truncated: Findings<readonly ReplaceEdit[]>;
	readonly masked: Findings<MaskedSoFar>;
	readonly ladders: Findings<LadderStart>;
}

/**
 * Remembers one kind of outcome by result, by the message that it stands in, by the name of the tool that it is shown under,
 * and by what else it depends on of the messages before it.
 */
export type ResultMemory = WeakMap<ToolResult, RememberedOutcome>;

interface RememberedOutcome {
	/** The same value of a session is another message once a record before it became one, or is none any longer. */
	readonly message: number;
	readonly toolName: string | undefined;
	readonly context: string | undefined;
	readonly outcome: unknown;
}

export function createPlanMemory(): PlanMemory {
	return {
		masks: new WeakMap(),
		truncations: new WeakMap(),
		truncated: new WeakMap(),
		masked: new WeakMap(),
		ladders: new WeakMap(),
	};
}

/** The outcome for a result: as planned before where there is such a memory, else planned now. */
export function planOnce<Outcome>(
	memory: ResultMemory | undefined,
	paired: PairedResult,
	plan: (paired: PairedResult) => Outcome,
	context?: string,
): Outcome {
	const { message } = paired;
	const toolName = paired.call?.name;
	const known = memory?.get(paired.result);
	const isSame = known?.message === message && known.toolName === toolName && known.context === context;
	if (isSame) return known.outcome as Outcome;
	const outcome = plan(paired);
	memory?.set(paired.result, { message, toolName, context, outcome });
	return outcome;
}
