import { documentedWindow } from "./documented-windows.ts";
import { findInCatalogue } from "./model-catalogue.ts";

/**
 * The context window of a model in tokens, as the bundled price catalogue has it (no network) or else its maker documents
 * it; `undefined` for an unknown model, and for one whose window is up to whoever serves it. A fine-tune of OpenAI's
 * (`ft:gpt-4o:acme::id`) has that of the model that was tuned.
 */
export async function contextWindowOfModel(model: string): Promise<number | undefined> {
	const listed = await findInCatalogue(/(?:^|\/)ft:([^:/]+)/i.exec(model.trim())?.[1] ?? model);
	return listed && (listed.contextWindow ?? documentedWindow(model));
}
