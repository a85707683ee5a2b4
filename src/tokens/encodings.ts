import { chatModelParams, DEFAULT_ENCODING, modelToEncodingMap } from "gpt-tokenizer/mapping";

/** The encodings of OpenAI's chat models since GPT-3.5. */
export const encodingNames = ["o200k_base", "cl100k_base", "o200k_harmony"] as const;

export type EncodingName = (typeof encodingNames)[number];

const modelEncodings = new Map<string, string>([
	// The mapping omits the models of its default encoding.
	...Object.keys(chatModelParams).map((model): [string, string] => [model, DEFAULT_ENCODING]),
	// Names of Ollama (`gpt-oss:20b`) and of Azure.
	["gpt-oss", "o200k_harmony"],
	["gpt-35-turbo", "cl100k_base"],
	...Object.entries(modelToEncodingMap),
]);

/**
 * The encoding of an OpenAI model; `undefined` for any other model. Accepts providers (`openai/gpt-4o`,
 * `openai.gpt-oss-120b-1:0`), fine-tunes (`ft:gpt-4o:acme::id`) and unlisted suffixes (`gpt-4o-2025-01-01`): the longest
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
