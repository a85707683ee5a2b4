/**
 * Context windows in tokens of models that the price catalogue lists without one, as their makers document them; only of
 * models that nobody else serves, since of others whoever serves them decides.
 */
const documentedWindows: readonly { readonly model: RegExp; readonly tokens: number }[] = [
	// "Gemini 2.5 Pro" and "Gemini 3 Pro", maximum input tokens (docs.cloud.google.com/vertex-ai).
	{ model: /^gemini-(?:2\.5|3)-pro(?:-|$)/, tokens: 1_048_576 },
];

/** The window that a model's maker documents, or `undefined`. A provider may stand before the name. */
export function documentedWindow(model: string): number | undefined {
	const name = model.trim().toLowerCase().split("/").at(-1) ?? "";
	return documentedWindows.find((documented) => documented.model.test(name))?.tokens;
}
