import { exactScale, type TokenScale } from "../conversation/measure.ts";
import { type EncodingName, encodingForModel } from "./encodings.ts";
import { familyOfModel, modelFamilies } from "./models.ts";

/**
 * How numbers of tokens come about. `exact`: counted in the encoding, which is the model's own where one is named.
 * `estimated`: counted in the nearest public encoding and scaled. `calibrated`: scaled by what the provider counted of
 * the same conversation. `bounded`: not counted, since the most that it can be decides already.
 */
export type CountMethod = "exact" | "estimated" | "calibrated" | "bounded";

/** How the tokens of a call are counted. */
export interface TokenEstimate {
	readonly encoding: EncodingName;
	readonly method: CountMethod;
	readonly scale: TokenScale;
	/** Caveats of the numbers, in English sentences. */
	readonly notes: readonly string[];
}

/**
 * How to count for a model: `encoding` where the caller names one, else the model's own, else the nearest one scaled for
 * the model's family. Without a model the numbers are exact in o200k_base. An unknown model gets the widest band
 * and a note, never an error.
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
