import Anthropic from "@anthropic-ai/sdk";
import { generateText, jsonSchema, tool } from "ai";
import { MockLanguageModelV3 } from "ai/test";
import { describe, expect, it } from "vitest";
import { readLastResponse } from "../../src/formats/detect.ts";

const encoder = new TextEncoder();

/** What Anthropic's SDK puts together from a stream whose last call was cut. */
async function streamedByAnthropic() {
	const usage = { input_tokens: 9, output_tokens: 9 };
	const use = { type: "tool_use", id: "a", name: "ls", input: {} };
	const pieces = ['{"path":"src","dep', 'th":'];
	const message = { id: "m", type: "message", role: "assistant", model: "m", content: [], stop_reason: null, usage };
	const events = [
		{ type: "message_start", message },
		{ type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
		{ type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "I look." } },
		{ type: "content_block_stop", index: 0 },
		{ type: "content_block_start", index: 1, content_block: use },
		...pieces.map((partial_json) => ({
			type: "content_block_delta",
			index: 1,
			delta: { type: "input_json_delta", partial_json },
		})),
		{ type: "content_block_stop", index: 1 },
		{ type: "message_delta", delta: { stop_reason: "max_tokens", stop_sequence: null }, usage },
		{ type: "message_stop" },
	];
	const body = events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join("");
	const client = new Anthropic({
		apiKey: "none",
		baseURL: "http://localhost",
		fetch: async () => new Response(encoder.encode(body), { headers: { "content-type": "text/event-stream" } }),
	});
	const stream = client.messages.stream({ model: "m", max_tokens: 9, messages: [{ role: "user", content: "Go." }] });
	return stream.finalMessage();
}

/** What the AI SDK makes of a model's answer. */
function generatedBy(input: string, unified: "length" | "tool-calls") {
	const none = undefined;
	const model = new MockLanguageModelV3({
		doGenerate: async () => ({
			content: [
				{ type: "reasoning", text: "Let me see." },
				{ type: "text", text: "I look." },
				{ type: "tool-call", toolCallId: "a", toolName: "ls", input },
			],
			finishReason: { unified, raw: none },
			usage: {
				inputTokens: { total: 9, noCache: none, cacheRead: none, cacheWrite: none },
				outputTokens: { total: 9, text: none, reasoning: none },
			},
			warnings: [],
		}),
	});
	const inputSchema = jsonSchema<{ path?: string }>({ type: "object", properties: { path: { type: "string" } } });
	return generateText({ model, prompt: "Go.", tools: { ls: tool({ inputSchema }) } });
}

describe("answers of SDKs", () => {
	it("reads an Anthropic stream with a truncated input that is an object", async () => {
		const message = await streamedByAnthropic();
		expect(message.content[1]).toMatchObject({ type: "tool_use", input: { path: "src" } });
		expect(readLastResponse(message)).toEqual({
			finishReason: "length",
			text: "I look.",
			calls: [{ id: "a", name: "ls", isUsable: false }],
		});
	});

	it.each(['{"path":"sr', "{}", '{"path":"src"}'])("reads the Vercel AI SDK: %s, truncated", async (input) => {
		const result = await generatedBy(input, "length");
		for (const given of [result, JSON.parse(JSON.stringify(result)), result.steps[0]]) {
			expect(readLastResponse(given)).toEqual({
				finishReason: "length",
				text: "I look.",
				calls: [{ id: "a", name: "ls", isUsable: false }],
			});
		}
	});

	it("reads the Vercel AI SDK, complete", async () => {
		const result = await generatedBy("{}", "tool-calls");
		for (const given of [result, JSON.parse(JSON.stringify(result)), result.steps[0]]) {
			expect(readLastResponse(given)).toMatchObject({ finishReason: "tool_calls", calls: [{ isUsable: true }] });
		}
	});
});
