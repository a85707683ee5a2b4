import { describe, expect, it } from "vitest";
import { loadCounter } from "../../src/formats/tokens/counter.ts";
import { guardConversation } from "../../src/operations/guard.ts";
import { policyOf } from "../support/policy-of.ts";

const countTokens = await loadCounter("o200k_base");

const policy = policyOf({ guard: { reserve_tokens: 0 } });

const messages = [
	{ role: "system", content: "You are a helpful assistant that can answer to questions about the weather." },
	{ role: "user", content: "What's the weather like in San Francisco?" },
];

const properties = {
	location: { type: "string", description: "The city and state, e.g. San Francisco, CA" },
	unit: { type: "string", description: "The unit of temperature to return", enum: ["celsius", "fahrenheit"] },
};

const weather = {
	name: "get_current_weather",
	description: "Get the current weather in a given location",
	parameters: { type: "object", properties, required: ["location"] },
};

const tools = [{ type: "function", function: weather }];

const tokensOf = async (conversation: unknown, options: object = {}) => {
	const { report } = await guardConversation({ conversation, policy, contextWindow: 100_000, ...options });
	return report.tokens.after;
};

describe("tools sent with a request", () => {
	it("are counted as JSON without a model", async () => {
		const more = countTokens(JSON.stringify(tools));
		expect(await tokensOf(messages, { tools })).toBe((await tokensOf(messages)) + more);
	});

	it("count the same as an option and in the body", async () => {
		for (const model of ["gpt-4o", "claude-opus-4-8", undefined]) {
			const inBody = await tokensOf({ messages, tools }, { model });
			expect(await tokensOf(messages, { tools, model })).toBe(inBody);
			expect(inBody).toBeGreaterThan(await tokensOf(messages, { model }));
		}
	});

	it("give OpenAI's own example its API count, minus the 3 tokens that prime the reply", async () => {
		expect(await tokensOf(messages, { tools, model: "gpt-4o" })).toBe(101 - 3);
		expect(await tokensOf({ model: "gpt-4", messages, tools })).toBe(105 - 3);
	});

	it("add the prompt that Anthropic adds, unscaled", async () => {
		const model = "claude-sonnet-4-5";
		const texts = (await tokensOf(messages, { tools })) - 2 * policy.tokens.message_overhead;
		expect(await tokensOf(messages, { tools, model })).toBe(Math.round(texts * 1.2) + 8 + 497);
	});

	it("are never returned or edited", async () => {
		const { conversation, edits } = await guardConversation({
			conversation: messages,
			policy,
			tools,
			contextWindow: 1,
		});
		expect(JSON.stringify([conversation, edits])).not.toContain("get_current_weather");
	});

	it("are refused when the conversation contains tools itself", async () => {
		const both = guardConversation({ conversation: { messages, tools: [] }, policy, tools, contextWindow: 9 });
		await expect(both).rejects.toMatchObject({ code: "invalid_argument", message: expect.stringContaining("`tools`") });
	});
});
