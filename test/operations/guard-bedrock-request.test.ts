import { describe, expect, it } from "vitest";
import { guardConversation } from "../../src/operations/guard.ts";
import { policyOf } from "../support/policy-of.ts";

const modelId = "us.anthropic.claude-sonnet-4-5-20250929-v1:0";

const messages = [{ role: "user", content: [{ text: "What is the weather?" }] }];

const tools = [{ toolSpec: { name: "weather", inputSchema: { json: { type: "object" } } } }];

const policy = policyOf();

describe("a request of Bedrock's Converse", () => {
	it("names its model, which gives the window and the tokenizer", async () => {
		const { report } = await guardConversation({ conversation: { modelId, messages }, policy });
		expect(report).toMatchObject({ context_window: 200_000, method: "estimated", factor: 1.2 });
	});

	it("counts the system prompt that Anthropic adds for tools, like the Messages API", async () => {
		const sizeOf = async (conversation: unknown, model?: string) =>
			(await guardConversation({ conversation, policy, model, contextWindow: 200_000 })).report.tokens.before;
		const unknown = await sizeOf({ messages, toolConfig: { tools } });
		const known = await sizeOf({ modelId, messages, toolConfig: { tools } });
		const withoutTools = [await sizeOf({ messages }), await sizeOf({ modelId, messages })] as const;
		const texts = unknown - withoutTools[0];
		expect(Math.abs(known - withoutTools[1] - 497 - texts * 1.2)).toBeLessThanOrEqual(1);
		expect(await sizeOf({ modelId, messages, toolConfig: { tools: [] } })).toBeLessThan(withoutTools[1] + 20);
	});

	it("rejects separate tools, which would count twice", async () => {
		const conversation = { modelId, messages, toolConfig: { tools } };
		await expect(guardConversation({ conversation, policy, tools })).rejects.toMatchObject({
			code: "invalid_argument",
		});
	});
});
