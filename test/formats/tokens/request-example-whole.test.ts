import { expect, it } from "vitest";
import { loadCounter } from "../../../src/formats/tokens/counter.ts";
import { requestOverhead } from "../../../src/formats/tokens/request.ts";

const weather = {
	name: "get_current_weather",
	description: "Get the current weather in a given location",
	parameters: {
		type: "object",
		properties: {
			location: { type: "string", description: "The city and state, e.g. San Francisco, CA" },
			unit: { type: "string", description: "The unit of temperature to return", enum: ["celsius", "fahrenheit"] },
		},
		required: ["location"],
	},
};

const tools = [{ type: "function", function: weather }];

it.each([
	["o200k_base", "gpt-4o", 101],
	["cl100k_base", "gpt-4", 105],
] as const)("matches OpenAI's own example in %s, and its API", async (encoding, model, all) => {
	const count = await loadCounter(encoding);
	const texts = ["You are a helpful assistant that can answer to questions about the weather."];
	texts.push("What's the weather like in San Francisco?", "system", "user");
	const messages = texts.reduce((sum, text) => sum + count(text), 2 * 3 + 3);
	expect(requestOverhead({ model, tools, toolTokens: 0, countTokens: count })).toBe(all - messages);
});
