import { versionOfClaude } from "./claude-version.ts";
import { findInCatalogue } from "./model-catalogue.ts";
import type { FamilyName } from "./model-families.ts";

/** Parts of model names, each with the family that it stands for; the first that matches decides. */
const parts: readonly (readonly [RegExp, FamilyName])[] = [
	[/claude/, "claude"],
	[/gemini|gemma|learnlm|palm-|bison/, "gemini"],
	[/llama-?3|llama3/, "llama-3"],
	[/llama/, "unmeasured"],
	[/mi[sx]tral|ministral|codestral|devstral|magistral|pixtral|voxtral/, "mistral"],
	[/qwen|qwq/, "qwen"],
	[/deepseek|r1-1776/, "deepseek"],
	[/command|cohere|aya-/, "command"],
	[/grok|kimi|moonshot|glm|nova|minimax|gpt-|\bo\d|codex/, "unmeasured"],
];

/** What the makers that the catalogue knows call their models, where the name itself does not tell. */
const providers: Readonly<Record<string, FamilyName>> = {
	anthropic: "claude",
	google: "gemini",
	mistral: "mistral",
	deepseek: "deepseek",
	cohere: "command",
	"x-ai": "unmeasured",
	moonshotai: "unmeasured",
	openai: "unmeasured",
};

/**
 * The family of a model whose tokens are not counted here, by its name, else by the provider under which the bundled
 * catalogue lists it. Never fails: a name that nobody knows is `unknown`.
 */
export async function familyOfModel(model: string): Promise<FamilyName> {
	const name = model.trim().toLowerCase();
	// A distilled model has the tokenizer of the model that it was distilled into.
	const own = name.slice(name.indexOf("distill") + 1);
	const named = parts.find(([part]) => part.test(own))?.[1];
	const provider = named === undefined ? (await findInCatalogue(model))?.provider : undefined;
	const family =
		named ?? (provider !== undefined && Object.hasOwn(providers, provider) ? providers[provider] : undefined);
	if (family === undefined) return "unknown";
	return family === "claude" && !isEarlyClaude(name) ? "claude-4.7" : family;
}

/** Whether a name says a version of Claude before 4.7. */
function isEarlyClaude(name: string): boolean {
	const version = versionOfClaude(name);
	return /claude-instant/.test(name) || (version !== undefined && version < 4.7);
}
