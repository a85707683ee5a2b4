import { describe, expect, it } from "vitest";
import { readConversation } from "../../src/formats/detect.ts";
import { spellingsOf, writeEdits } from "../../src/formats/json-text/edit.ts";
import { readTextDocument } from "../../src/formats/json-text/read.ts";
import { readJsonTexts } from "../../src/formats/parts.ts";
import { guardConversation } from "../../src/operations/guard.ts";
import { maskConversation } from "../../src/operations/mask.ts";
import type { Archive } from "../../src/storage/archive/archive.ts";
import { openArchive } from "../../src/storage/archive/open.ts";
import { restoreConversation, restoreText } from "../../src/storage/restore/restore.ts";
import { policyOf } from "../support/policy-of.ts";
import { resultContents } from "../support/raw-conversation.ts";
import { outputOf } from "../support/sample-text.ts";
import { toolTurn, writeMessages } from "../support/script.ts";

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

/** A signature of a block of 150 tokens. */
const sealed = "A".repeat(1_028);

const question = { role: "user", content: "Go." };
const use = { type: "tool_use", id: "c1", name: "look", input: {} };
const omitted = { type: "thinking", thinking: "", signature: sealed };
const shown = { type: "thinking", thinking: "I look.", signature: sealed };
const redacted = { type: "redacted_thinking", data: sealed };

const record = (uuid: string, parentUuid: string | null, message: { readonly role: string }) => {
	return { type: message.role, uuid, parentUuid, isSidechain: false, sessionId: "s", version: "2.1.0", message };
};
const piMessage = (id: string, message: { readonly role: string }) => {
	return { type: "message", id, parentId: null, timestamp: "2026-01-01T00:00:00.000Z", message };
};

const thinkingIn = (conversation: unknown) =>
	readConversation(conversation).transcript.messages.flatMap(({ thinking }) => thinking);

describe("tokens of hidden reasoning", () => {
	it.each<[string, unknown]>([
		["Anthropic Messages", [question, { role: "assistant", content: [omitted, use] }]],
		["Anthropic Messages, encrypted", [question, { role: "assistant", content: [redacted, use] }]],
		[
			"Claude Code, a record for each block",
			[
				record("u1", null, question),
				record("u2", "u1", { role: "assistant", id: "m1", content: [omitted] } as { role: string }),
				record("u3", "u2", { role: "assistant", id: "m1", content: [use] } as { role: string }),
			],
		],
		[
			"Bedrock",
			[
				{ role: "user", content: [{ text: "Go." }] },
				{
					role: "assistant",
					content: [
						{ reasoningContent: { reasoningText: { text: "", signature: sealed } } },
						{ toolUse: { toolUseId: "c1", name: "look", input: {} } },
					],
				},
			],
		],
		[
			"pi",
			[
				{ type: "session", id: "s", version: 3, timestamp: "2026-01-01T00:00:00.000Z", cwd: "/" },
				piMessage("a", { role: "user", content: [{ type: "text", text: "Go." }] } as { role: string }),
				piMessage("b", {
					role: "assistant",
					content: [
						{ type: "thinking", thinking: "", thinkingSignature: sealed },
						{ type: "toolCall", id: "c1", name: "look", arguments: {} },
					],
				} as { role: string }),
			],
		],
		[
			"Vercel AI SDK",
			[
				question,
				{
					role: "assistant",
					content: [
						{ type: "reasoning", text: "", providerOptions: { anthropic: { signature: sealed } } },
						{ type: "tool-call", toolCallId: "c1", toolName: "look", input: {} },
					],
				},
			],
		],
	])("are estimated in %s", (_, conversation) => {
		expect(thinkingIn(conversation)).toMatchObject([{ bound: true, hiddenTokens: 150 }]);
	});

	it("are added up where a record has nothing else", () => {
		const content = [omitted, omitted];
		const answer = { role: "assistant", id: "m1", content };
		expect(thinkingIn([record("u1", null, question), record("u2", "u1", answer)])).toMatchObject([
			{ bound: true, hiddenTokens: 300 },
		]);
	});

	it("are none where the text is shown or nothing is signed", () => {
		const plain = { type: "thinking", thinking: "" };
		const blocks = thinkingIn([question, { role: "assistant", content: [shown, plain, use] }]);
		expect(blocks.map(({ hiddenTokens }) => hiddenTokens)).toEqual([undefined, undefined]);
	});
});

const cutting = policyOf({
	guard: { max_tool_result_chars: 400, truncate_head_chars: 100, truncate_tail_chars: 100, reserve_tokens: 0 },
});

describe("results that contain a program's return value", () => {
	it.each(["openai-chat", "anthropic-messages"] as const)("in %s the guard cuts long texts inside", async (format) => {
		const content = [{ query: "a.txt", result: outputOf("one"), success: true }];
		const conversation = writeMessages(format, toolTurn("a", content));
		const outcome = await guardConversation({ conversation, policy: cutting, contextWindow: 200 });
		expect(outcome.report).toMatchObject({ truncated_tool_results: 1, dropped_messages: 0, fits: true });
		const [after] = resultContents(outcome.conversation, format);
		expect(after).toEqual([{ query: "a.txt", result: expect.stringMatching(/^one line 0/), success: true }]);
	});

	it("restores a long text inside that was cut to a short one", async () => {
		const archive = (await openArchive({ where: "memory" })) as Archive;
		const content = [{ query: "a.txt", result: outputOf("one"), success: true }];
		const conversation = writeMessages("openai-chat", toolTurn("a", content));
		const cut = await guardConversation({ conversation, policy: cutting, contextWindow: 200, archive });
		expect(JSON.stringify(cut.conversation).length).toBeLessThan(600);
		const { conversation: restored } = await restoreConversation({ ...cut, policy: cutting, archive });
		expect(restored).toEqual(conversation);
	});

	it("keeps base64 data complete, since a part of it is useless", () => {
		const data = Buffer.from(outputOf("data")).toString("base64");
		const value = { data, url: `data:image/png;base64,${data}`, text: outputOf("text") };
		const { texts, counted } = readJsonTexts(value, [], () => undefined);
		expect(texts).toEqual([{ path: ["text"], text: outputOf("text") }]);
		expect(counted.join("")).toContain(data);
	});
});

/** Results that are JSON, and no text. */
const jsonResults = {
	"a long text beside an exit code": { stdout: outputOf("one"), exit_code: 0 },
	"many short members": { rows: Array.from({ length: 80 }, (_, row) => ({ row, name: `name ${row}` })), next: 1.5 },
	"an object inside an object": { output: { stdout: outputOf("two"), truncated: false } },
	"a list of records": [
		{ title: "a", snippet: outputOf("three") },
		{ title: "b", snippet: "short" },
	],
};

type Turns = readonly (readonly [id: string, result: unknown])[];

/** How formats whose results are any JSON write tool turns, and how they write a text in place of all of a result. */
const jsonFormats = {
	gemini: {
		write: (turns: Turns) => ({
			contents: turns.flatMap(([id, response]) => [
				{ role: "user", parts: [{ text: `Step ${id}` }] },
				{ role: "model", parts: [{ functionCall: { id, name: "run", args: {} } }] },
				{ role: "user", parts: [{ functionResponse: { id, name: "run", response } }] },
			]),
		}),
		inPlace: (text: unknown) => ({ output: text }),
	},
	"vercel-model": {
		write: (turns: Turns) =>
			turns.flatMap(([toolCallId, value]) => [
				{ role: "assistant", content: [{ type: "tool-call", toolCallId, toolName: "run", input: {} }] },
				{
					role: "tool",
					content: [{ type: "tool-result", toolCallId, toolName: "run", output: { type: "json", value } }],
				},
			]),
		inPlace: (text: unknown) => ({ type: "json", value: text }),
	},
	"bedrock-converse": {
		write: (turns: Turns) =>
			turns.flatMap(([toolUseId, json]) => [
				{ role: "user", content: [{ text: `Step ${toolUseId}` }] },
				{ role: "assistant", content: [{ toolUse: { toolUseId, name: "run", input: {} } }] },
				{ role: "user", content: [{ toolResult: { toolUseId, content: [{ json }], status: "success" } }] },
			]),
		inPlace: (text: unknown) => ({ content: [{ text }], status: "success" }),
	},
	"otel-genai": {
		write: (turns: Turns) =>
			turns.flatMap(([id, response]) => [
				{ role: "assistant", parts: [{ type: "tool_call", id, name: "run", arguments: {} }] },
				{ role: "tool", parts: [{ type: "tool_call_response", id, response }] },
			]),
		inPlace: (response: unknown) => ({ response }),
	},
	"pydantic-ai": {
		write: (turns: Turns) =>
			turns.flatMap(([tool_call_id, content]) => [
				{
					kind: "response",
					parts: [{ part_kind: "tool-call", tool_name: "run", args: "{}", tool_call_id }],
				},
				{ kind: "request", parts: [{ part_kind: "tool-return", tool_name: "run", content, tool_call_id }] },
			]),
		inPlace: (content: unknown) => ({ content }),
	},
};

describe.each(Object.entries(jsonFormats))("a result that is JSON in %s", (format, { write, inPlace }) => {
	const policy = policyOf({ mask: { window_turns: 1 } });

	// Bedrock takes only objects.
	const taken = Object.entries(jsonResults).filter(
		([, value]) => format !== "bedrock-converse" || !Array.isArray(value),
	);

	it.each(taken)("is masked as a whole, and comes back to the byte: %s", async (_, value) => {
		const archive = (await openArchive({ where: "memory" })) as Archive;
		const conversation = write([
			["call_a", value],
			["call_b", { ok: true }],
		]);
		const text = JSON.stringify(conversation, null, 1).replaceAll("1.5", "1.50");
		const document = readTextDocument(text, "the text");
		const masked = await maskConversation({
			conversation: document.value,
			policy,
			archive,
			spellingsOf: (paths) => spellingsOf(document, paths),
		});
		expect(masked.report).toMatchObject({ format, masked_tool_results: 1 });
		const placeholder = /"(\[[^"]*réf=\w+[^"]*\])"/.exec(JSON.stringify(masked.conversation))?.[1];
		expect(placeholder).toBeDefined();
		for (const [key, member] of Object.entries(inPlace(placeholder))) {
			expect(JSON.stringify(masked.conversation)).toContain(`${JSON.stringify(key)}:${JSON.stringify(member)}`);
		}
		const again = await maskConversation({ conversation: masked.conversation, policy, archive });
		expect(again.report).toMatchObject({ masked_tool_results: 0, kept: { already_masked: 1 } });
		const written = writeEdits(document, masked.edits).text;
		const { text: back, report } = await restoreText({ text: written, archive, policy, name: "the text" });
		expect(back).toBe(text);
		expect(report).toMatchObject({ restored: 1, missing: [], ambiguous: [] });
	});
});

it("a failed result of Gemini is still one after its JSON was masked", async () => {
	const failed = { error: outputOf("one"), code: 7 };
	const turns = [
		["call_a", failed],
		["call_b", { ok: true }],
	] as const;
	const conversation = jsonFormats.gemini.write(turns);
	const policy = policyOf({ mask: { window_turns: 1, keep_errors: false } });
	const masked = await maskConversation({ conversation, policy });
	expect(JSON.stringify(masked.conversation)).toMatch(/"response":\{"error":"\[/);
});
