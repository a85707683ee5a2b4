import { exactScale } from "../../engine/conversation/measure.js";
import { encodingForModel } from "./encodings.js";
import { familyOfModel, modelFamilies } from "./models.js";
/** Counts in `encoding`, else the model's own, else the nearest one, scaled. An unknown model gets the widest band. */
export async function estimateTokens(model, encoding) {
	const counted = encoding ?? (model === undefined ? "o200k_base" : encodingForModel(model));
	if (counted !== undefined) return { encoding: counted, method: "exact", scale: exactScale, notes: [] };
	const family = await familyOfModel(model);
	const note = "The tokenizer of this model is unknown, so its tokens are estimated within a wide band.";
	return { ...modelFamilies[family], method: "estimated", notes: family === "unknown" ? [note] : [] };
}
