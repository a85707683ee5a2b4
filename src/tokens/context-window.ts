import { findInCatalogue } from "./model-catalogue.ts";
import { nearestRelative } from "./nearest-relative.ts";

/** The context window of a model. */
export interface ModelWindow {
	readonly tokens: number;
	/** What a reader of the number should know, in English sentences: empty unless the window is assumed. */
	readonly notes: readonly string[];
}

/**
 * The context window of a model. The first of these sources that knows it decides:
 *
 * 1. the name itself: Claude Code writes `[1m]` behind a model that is used with a window of a million tokens;
 * 2. the bundled price catalogue (no network);
 * 3. the maker's documentation, for models that the catalogue lists without a window and that nobody else serves;
 * 4. the nearest model of the same family, with a note that says so.
 *
 * `undefined` for a name of no known family. A fine-tune of OpenAI's (`ft:gpt-4o:acme::id`) has the window of the model
 * that was tuned.
 * The first call loads the catalogue (some 70 ms).
 */
export async function contextWindowOfModel(model: string): Promise<ModelWindow | undefined> {
	if (/[^/\s]\[1m\]\s*$/i.test(model)) return { tokens: 1_000_000, notes: [] };
	const name = /(?:^|\/)ft:([^:/]+)/i.exec(model.trim())?.[1] ?? model;
	const known = (await findInCatalogue(name))?.contextWindow ?? documentedWindow(name);
	if (known !== undefined) return { tokens: known, notes: [] };
	const relative = await nearestRelative(name, documentedWindow);
	if (relative === undefined) return undefined;
	const note = `No context window is known for ${JSON.stringify(model.slice(0, 80))}, so that of ${relative.name} is assumed: ${relative.tokens} tokens. Where that is wrong, give the right one, or set guard.context_window_override in the policy.`;
	return { tokens: relative.tokens, notes: [note] };
}

/** Makers' documentation, for models that the catalogue lists without a window and that nobody else serves. */
const documentedWindows: readonly { readonly model: RegExp; readonly tokens: number }[] = [
	// "Gemini 2.5 Pro" and "Gemini 3 Pro", maximum input tokens (docs.cloud.google.com/vertex-ai).
	{ model: /^gemini-(?:2\.5|3)-pro(?:-|$)/, tokens: 1_048_576 },
];

function documentedWindow(model: string): number | undefined {
	const name = model.trim().toLowerCase().split("/").at(-1) ?? "";
	return documentedWindows.find((documented) => documented.model.test(name))?.tokens;
}
