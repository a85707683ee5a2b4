import { exactScale, type TokenScale } from "../../engine/conversation/measure.ts";
import { type EncodingName, encodingForModel } from "./encodings.ts";
import { familyOfModel, modelFamilies } from "./models.ts";

/** `exact` also without a model; `estimated` by the nearest public encoding, `calibrated` by the provider's count. */
export type CountMethod = "exact" | "estimated" | "calibrated";

export interface TokenEstimate {
	readonly encoding: EncodingName;
	readonly method: CountMethod;
	readonly scale: TokenScale;
	readonly notes: readonly string[];
}

/** Counts in `encoding`, else the model's own, else the nearest one, scaled. An unknown model gets the widest band. */
export async function estimateTokens(
	model: string | undefined,
	encoding: EncodingName | undefined,
): Promise<TokenEstimate> {
	const counted = encoding ?? (model === undefined ? "o200k_base" : encodingForModel(model));
	if (counted !== undefined) return { encoding: counted, method: "exact", scale: exactScale, notes: [] };
	const family = await familyOfModel(model as string);
	const note = "The tokenizer of this model is unknown, so its tokens are estimated within a wide band.";
	return { ...modelFamilies[family], method: "estimated", notes: family === "unknown" ? [note] : [] };
}
