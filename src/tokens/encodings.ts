import { chatModelParams, DEFAULT_ENCODING, modelToEncodingMap } from "gpt-tokenizer/mapping";

/** The encodings counted here: those of OpenAI's chat models since GPT-3.5. */
export const encodingNames = ["o200k_base", "cl100k_base", "o200k_harmony"] as const;

export type EncodingName = (typeof encodingNames)[number];

const modelEncodings = new Map<string, string>([
	// The mapping leaves out the models of its default encoding; the list of chat models has them.
	...Object.keys(chatModelParams).map((model): [string, string] => [model, DEFAULT_ENCODING]),
	// Names of Ollama (`gpt-oss:20b`) and of Azure.
	["gpt-oss", "o200k_harmony"],
	["gpt-35-turbo", "cl100k_base"],
	...Object.entries(modelToEncodingMap),
]);

/**
 * The encoding of an OpenAI model, or `undefined` for every other model (and for those of an older encoding).
 *
 * Accepts a provider before the name (`openai/gpt-4o`, Bedrock's `openai.gpt-oss-120b-1:0`), a fine-tune
 * (`ft:gpt-4o:acme::id`) and a suffix that is not listed, such as a later snapshot (`gpt-4o-2025-01-01`): the longest
 * listed name before a `-` or `:` decides.
 */
export function encodingForModel(model: string): EncodingName | undefined {
	const name = model
		.slice(model.lastIndexOf("/") + 1)
		.trim()
		.toLowerCase()
		.replace(/^(?:ft:|(?:[a-z-]+\.)?openai\.)/, "");
	for (let end = name.length; end > 0; end = Math.max(name.lastIndexOf("-", end - 1), name.lastIndexOf(":", end - 1))) {
		const encoding = modelEncodings.get(name.slice(0, end));
		if (encoding !== undefined) return encodingNames.find((one) => one === encoding);
	}
	return undefined;
}
