import { exactScale, type TokenScale } from "../conversation/measure.ts";
import { type EncodingName, encodingForModel } from "./encodings.ts";
import { familyOfModel, modelFamilies } from "./models.ts";

/**
 * `exact`: counted in the model's own encoding, or without a model. `estimated`: counted in the nearest public encoding and
 * scaled. `calibrated`: scaled by the provider's count of the same conversation.
 */
export type CountMethod = "exact" | "estimated" | "calibrated";

export interface TokenEstimate {
	readonly encoding: EncodingName;
	readonly method: CountMethod;
	readonly scale: TokenScale;
	/** Caveats, in English sentences. */
	readonly notes: readonly string[];
}

/**
 * How to count for a model: in `encoding`, else in the model's own, else in the nearest one, scaled for its family. Without
 * a model, exactly in o200k_base. An unknown model gets the widest band and a note.
 */
export async function estimateTokens(
	model: string | undefined,
	encoding: EncodingName | undefined,
): Promise<TokenEstimate> {
	const counted = encoding ?? (model === undefined ? "o200k_base" : encodingForModel(model));
	if (counted !== undefined) return { encoding: counted, method: "exact", scale: exactScale, notes: [] };
	const family = await familyOfModel(model ?? "");
	const note = "Nothing is known of this model's tokenizer, so its tokens are estimated within a wide band.";
	return { ...modelFamilies[family], method: "estimated", notes: family === "unknown" ? [note] : [] };
}
