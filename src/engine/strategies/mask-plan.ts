import type { ReplaceEdit } from "../edit.ts";
import type { PairedResult } from "../pairing.ts";
import type { KeptReason } from "./mask-result.ts";

/** The masking of a conversation: its edits, and what was left alone and why. */
export interface MaskPlan {
	readonly edits: readonly ReplaceEdit[];
	readonly kept: Readonly<Record<KeptReason, number>>;
}

/** A masking that can be gone on from when messages follow. */
export interface MaskedSoFar extends MaskPlan {
	/** How many results were looked at. */
	readonly seen: number;
	/** Those of them in the window, to be looked at again. */
	readonly inWindow: readonly PairedResult[];
}
