import { documentedWindow } from "./documented-windows.ts";
import { findInCatalogue } from "./model-catalogue.ts";

/**
 * The context window of a model in tokens, as the bundled price catalogue has it (no network) or else its maker documents
 * it; `undefined` for an unknown model, and for one whose window is up to whoever serves it.
 */
export async function contextWindowOfModel(model: string): Promise<number | undefined> {
	const listed = await findInCatalogue(model);
	return listed && (listed.contextWindow ?? documentedWindow(model));
}
