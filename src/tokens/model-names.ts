/** Whose models are offered to those who type a name; any other name is taken as well. */
const makers = ["anthropic", "openai", "google", "x-ai", "mistral", "deepseek", "moonshotai"] as const;

/** Names of models in the bundled catalogue that begin as typed, sorted. The first call loads the catalogue. */
export async function modelNames(typed: string): Promise<string[]> {
	const { findProvider } = await import("@pydantic/genai-prices");
	const begin = typed.trim().toLowerCase();
	const names = makers.flatMap((providerId) => findProvider({ providerId })?.models.map(({ id }) => id) ?? []);
	return [...new Set(names)].filter((name) => name.toLowerCase().startsWith(begin)).sort();
}
