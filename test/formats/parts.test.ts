import { describe, expect, it } from "vitest";
import { readConversation } from "../../src/formats/detect.ts";
import { maskConversation } from "../../src/operations/mask.ts";
import { policyOf } from "../support/policy-of.ts";
import { outputOf } from "../support/sample-text.ts";

const masking = policyOf({ mask: { window_turns: 1 } });

const placeholder = expect.stringMatching(/^\[Observation masquée/);

const mcp = (text: string, more: object = {}) => ({ content: [{ type: "text", text }], isError: false, ...more });

/** A conversation of two tool turns in each API that takes any JSON for a result; `at` finds the first one's. */
const apis = [
	{
		title: "Gemini",
		turn: (response: unknown) => [
			{ role: "model", parts: [{ functionCall: { name: "ls", args: {} } }] },
			{ role: "user", parts: [{ functionResponse: { name: "ls", response } }] },
		],
		at: (list: unknown) =>
			(list as { parts: { functionResponse: { response: unknown } }[] }[])[1]?.parts[0]?.functionResponse.response,
	},
	{
		title: "Bedrock Converse",
		turn: (json: unknown) => [
			{ role: "assistant", content: [{ toolUse: { toolUseId: "a", name: "ls", input: {} } }] },
			{ role: "user", content: [{ toolResult: { toolUseId: "a", content: [{ json }] } }] },
		],
		at: (list: unknown) =>
			Object.values(
				(list as { content: { toolResult: { content: object[] } }[] }[])[1]?.content[0]?.toolResult.content[0] ?? {},
			)[0],
	},
	{
		title: "Vercel AI SDK",
		turn: (value: unknown) => [
			{ role: "assistant", content: [{ type: "tool-call", toolCallId: "a", toolName: "ls", input: {} }] },
			{
				role: "tool",
				content: [{ type: "tool-result", toolCallId: "a", toolName: "ls", output: { type: "json", value } }],
			},
		],
		at: (list: unknown) => (list as { content: { output: { value: unknown } }[] }[])[1]?.content[0]?.output.value,
	},
] as const;

describe.each(apis)("$title: results of an MCP server", ({ turn, at }) => {
	const mask = async (result: unknown) => {
		const outcome = await maskConversation({ conversation: [...turn(result), ...turn("ok")], policy: masking });
		expect(outcome.error).toBeUndefined();
		return at(outcome.conversation);
	};
	const resultOf = (value: unknown) => readConversation(turn(value)).transcript.messages[1]?.results[0];

	it("is masked in its own shape, with content around the text kept", async () => {
		const two = {
			...mcp(outputOf("one")),
			content: [...mcp(outputOf("one")).content, ...mcp(outputOf("two")).content],
		};
		expect(await mask(mcp(outputOf("one"), { _meta: { a: 1 } }))).toEqual(mcp(placeholder, { _meta: { a: 1 } }));
		expect(await mask(two)).toEqual(mcp(placeholder));
	});

	it.each([
		["an output given twice", { structuredContent: { text: outputOf("one") } }],
		["an object that only looks alike", { total: 3 }],
	])("masks %s as a whole, like any object", async (_, more) => {
		expect(JSON.stringify(await mask(mcp(outputOf("one"), more)))).toMatch(
			/^(?:\{"\w+":)?"\[Observation masquée[^"]*"\}?$/,
		);
	});

	it("keeps one with an image, and counts the image by estimate", async () => {
		const image = { type: "image", data: Buffer.from(outputOf("image")).toString("base64"), mimeType: "image/png" };
		const result = { content: [...mcp(outputOf("one")).content, image] };
		expect(await mask(result)).toEqual(result);
		expect(resultOf(result)?.media).toHaveLength(1);
		expect(JSON.stringify(readConversation(turn(result)).transcript)).not.toContain(image.data);
	});
});

describe("failures returned by an MCP server", () => {
	it.each(apis.filter(({ title }) => title !== "Bedrock Converse"))("$title: are flagged", ({ turn }) => {
		const flags = [true, false].map(
			(isError) => readConversation(turn(mcp("No.", { isError }))).transcript.messages[1]?.results[0]?.isError,
		);
		expect(flags).toEqual([true, undefined]);
	});
});

describe("objects around one text", () => {
	it("null next to the text is ignored, as Python clients write it", async () => {
		const { turn, at } = apis[0];
		const conversation = [...turn({ result: outputOf("one"), error: null }), ...turn({ result: "ok" })];
		const outcome = await maskConversation({ conversation, policy: masking });
		expect(at(outcome.conversation)).toEqual({ result: placeholder, error: null });
		const nested = [...turn({ result: mcp(outputOf("one")) }), ...turn({ result: "ok" })];
		const { conversation: after } = await maskConversation({ conversation: nested, policy: masking });
		expect(at(after)).toEqual({ result: mcp(placeholder) });
	});
});
