import { findInCatalogue } from "./model-catalogue.ts";

/**
 * The context window of a model in tokens, as the bundled price catalogue has it (no network), or `undefined` where it
 * has none: an unknown model, or one listed without a window.
 */
export async function contextWindowOfModel(model: string): Promise<number | undefined> {
	return (await findInCatalogue(model))?.contextWindow;
}
