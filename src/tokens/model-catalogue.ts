/** US dollars for a million tokens; those of a call that is larger than a tier's start all cost what the tier says. */
export type CataloguedPrice =
	| number
	| { readonly base: number; readonly tiers: readonly { readonly start: number; readonly price: number }[] };

/** What the bundled price catalogue says of a model. */
export interface CataloguedModel {
	/** The catalogue's id of the provider, such as `anthropic` or `x-ai`; of whoever serves the model, not its maker. */
	readonly provider: string;
	/** Tokens; `undefined` where it is listed without. */
	readonly contextWindow: number | undefined;
	/** By the catalogue's names, such as `input_mtok` and `cache_read_mtok`. */
	readonly prices: Readonly<Record<string, CataloguedPrice | undefined>>;
}

/**
 * Looks a model up in the bundled price catalogue (no network). `undefined` where it has none of that name.
 *
 * Accepts a provider before the name (`openai/gpt-4o`, `openrouter/anthropic/claude-sonnet-4.5`) and Bedrock's names
 * (`us.anthropic.claude-sonnet-4-5-20250929-v1:0`). The first call loads the catalogue (some 70 ms).
 */
export async function findInCatalogue(model: string): Promise<CataloguedModel | undefined> {
	if (model.trim() === "") return undefined;
	const { calcPrice } = await import("@pydantic/genai-prices");
	for (const { name, provider } of spellings(model.trim().toLowerCase())) {
		const options = provider === undefined ? {} : { providerId: provider };
		const found = calcPrice({ input_tokens: 1 }, name, options);
		// A model that is found decides, even without a window: another provider's may differ.
		if (found !== null) {
			const contextWindow = positiveInteger(found.model.context_window);
			return { provider: found.provider.id, contextWindow, prices: found.model_price };
		}
	}
	return undefined;
}

interface Spelling {
	name: string;
	provider?: string;
}

function* spellings(model: string): Generator<Spelling> {
	yield { name: model };
	const segments = model.split("/");
	const last = segments.at(-1) ?? model;
	const provider = segments.at(-2);
	if (provider !== undefined) {
		yield { name: last, provider };
		yield { name: last };
	}
	yield { name: last.replaceAll(".", "-") };
	// Bedrock's names hold a dot after the maker; the catalogue knows them, but takes none for Amazon's by itself.
	if (last.includes(".")) yield { name: last, provider: "aws" };
}

function positiveInteger(value: number | undefined): number | undefined {
	return value !== undefined && Number.isSafeInteger(value) && value > 0 ? value : undefined;
}

/** A model as a provider of the catalogue lists it. */
export interface ListedModel {
	/** The provider's own name of it. */
	readonly name: string;
	/** Tokens; `undefined` where it is listed without. */
	readonly contextWindow: number | undefined;
}

/** Every model that a provider of the catalogue lists; none for a provider that it does not know. */
export async function modelsOfProvider(providerId: string): Promise<readonly ListedModel[]> {
	const { findProvider } = await import("@pydantic/genai-prices");
	const models = findProvider({ providerId })?.models ?? [];
	return models.map(({ id, context_window }) => ({ name: id, contextWindow: positiveInteger(context_window) }));
}
