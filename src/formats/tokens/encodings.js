import { chatModelParams, DEFAULT_ENCODING, modelToEncodingMap } from "gpt-tokenizer/mapping";
export const encodingNames = ["o200k_base", "cl100k_base", "o200k_harmony"];
const modelEncodings = new Map([
	// The mapping omits the models of its default encoding.
	...Object.keys(chatModelParams).map((model) => [model, DEFAULT_ENCODING]),
	// Names of Ollama (`gpt-oss:20b`) and of Azure.
	["gpt-oss", "o200k_harmony"],
	["gpt-35-turbo", "cl100k_base"],
	...Object.entries(modelToEncodingMap),
]);
/** `undefined` for models not of OpenAI. Accepts providers, fine-tunes (`ft:gpt-4o:acme::id`) and unlisted suffixes. */
export function encodingForModel(model) {
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
