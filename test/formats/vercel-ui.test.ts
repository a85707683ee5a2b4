import { convertToModelMessages, tool as defineTool, safeValidateUIMessages, type UIMessage } from "ai";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { pairResults, toolTurns } from "../../src/engine/conversation/turns.ts";
import { locateMessages, readConversation } from "../../src/formats/detect.ts";
import { vercelUi } from "../../src/formats/vercel-ui.ts";
import { guardConversation } from "../../src/operations/guard.ts";
import { maskConversation } from "../../src/operations/mask.ts";
import { deepFreeze } from "../support/deep-freeze.ts";
import { policyOf } from "../support/policy-of.ts";
import { outputOf } from "../support/sample-text.ts";
import { thereAndBack } from "../support/there-and-back.ts";

const masking = policyOf({ mask: { window_turns: 1 } });
const dropping = policyOf({ preset: "context-guard", guard: { ladder: ["drop"], reserve_tokens: 0 } });
const start = { type: "step-start" };
const tool = (id: string, more: object = {}) => ({
	type: "tool-ls",
	toolCallId: id,
	state: "output-available",
	input: { path: "a.txt" },
	output: outputOf(id),
	...more,
});
const user = { id: "m0", role: "user", parts: [{ type: "text", text: "Go." }] };
const assistant = (...parts: object[]) => ({ id: "m1", role: "assistant", parts });
const read = (...messages: unknown[]) => readConversation(messages).transcript;
const placeholder = expect.stringMatching(/^\[Observation masquée/);

/** One answer of four calls of the model, with parts for the screen between them. */
const answer = assistant(
	start,
	{ type: "reasoning", text: "Hm." },
	tool("a"),
	tool("b"),
	{ type: "source-url", sourceId: "s", url: "https://example.org" },
	start,
	{ type: "text", text: "Next." },
	tool("c"),
	start,
	tool("d"),
	{ type: "data-progress", data: { done: 1 } },
	start,
	{ type: "text", text: "Done." },
);

describe("Vercel AI SDK UI messages: steps", () => {
	it("each step of an answer is a message with its parts, and a tool turn when it calls tools", () => {
		const transcript = read(user, answer);
		const parts = (...indexes: number[]) => indexes.map((index) => [1, "parts", index]);
		expect(transcript.messages.map(({ role, paths }) => [role, paths])).toEqual([
			["user", [[0]]],
			["assistant", parts(0, 1, 2, 3, 4)],
			["assistant", parts(5, 6, 7)],
			["assistant", parts(8, 9, 10)],
			["assistant", parts(11, 12)],
		]);
		expect(toolTurns(transcript)).toEqual([1, 2, 3]);
		expect(pairResults(transcript).map(({ message, caller, call }) => [message, caller, call?.name])).toEqual([
			[1, 1, "ls"],
			[1, 1, "ls"],
			[2, 2, "ls"],
			[3, 3, "ls"],
		]);
	});

	it("a message of one step is one message, with any display parts next to it", () => {
		const source = { type: "source-url", sourceId: "s", url: "https://example.org" };
		const { messages } = read(user, assistant(source, start, tool("a"), start, { type: "data-x", data: 1 }));
		expect(messages.map(({ paths }) => paths)).toEqual([[[0]], [[1]]]);
		expect(messages[1]?.counted.join("")).toBe('ls{"path":"a.txt"}');
	});

	it("the window counts steps", async () => {
		const { edits } = await maskConversation({ conversation: [user, answer], policy: masking });
		expect(edits.map(({ path }) => path)).toEqual(["/1/parts/2/output", "/1/parts/3/output", "/1/parts/7/output"]);
	});

	it("drops complete steps; the rest is valid and converts to calls with their results", async () => {
		const conversation = deepFreeze([user, answer, { ...user, id: "m2" }]);
		for (const contextWindow of [600, 400, 200, 100, 1]) {
			const outcome = await guardConversation({ conversation, policy: dropping, contextWindow });
			expect(outcome.error).toBeUndefined();
			const messages = outcome.conversation as UIMessage[];
			expect((await safeValidateUIMessages({ messages })).success).toBe(true);
			const converted = await convertToModelMessages(messages);
			const contents = converted.flatMap(({ content }) => (Array.isArray(content) ? (content as object[]) : []));
			const ids = (type: string) =>
				contents.flatMap((part) =>
					"type" in part && part.type === type ? [(part as { toolCallId?: string }).toolCallId] : [],
				);
			expect(ids("tool-call")).toEqual(ids("tool-result"));
			const before = readConversation(conversation).transcript.messages.length;
			expect(readConversation(messages).transcript.messages).toHaveLength(before - outcome.report.dropped_messages);
		}
	});

	it("an answer without any step left stays as an empty shell that sends nothing", async () => {
		const conversation = [user, answer, { ...user, id: "m2" }];
		const outcome = await guardConversation({ conversation, policy: dropping, contextWindow: 1 });
		const shell = { id: "m1", role: "assistant", parts: [] };
		expect(outcome.conversation).toEqual([shell, { ...user, id: "m2" }]);
		expect(read(...(outcome.conversation as unknown[])).messages).toHaveLength(1);
		expect(await convertToModelMessages([shell as UIMessage])).toEqual([]);
	});

	it("keeps reasoning that is the only content of a step", () => {
		const reasoning = { type: "reasoning", text: "Hm.", providerMetadata: { anthropic: { signature: "c2ln" } } };
		const { messages } = read(user, assistant(start, reasoning, start, reasoning, tool("a")));
		expect(messages[1]?.thinking).toMatchObject([{ bound: true, fixed: true }]);
		expect(messages[2]?.thinking).toEqual([{ path: [1, "parts", 3], text: "Hm.", bound: true }]);
	});
});

describe("Vercel AI SDK UI messages: tools", () => {
	const resultsOf = (part: object) => read(user, assistant(part)).messages[1]?.results;

	it.each(["input-streaming", "input-available", "approval-requested", "approval-responded"])(
		"%s has no result",
		(state) => {
			const part = tool("a", { state, output: undefined });
			expect(resultsOf(part)).toEqual([]);
			expect(read(user, assistant(part)).messages[1]?.calls).toEqual([{ id: "a", name: "ls" }]);
		},
	);

	it("does not count partial streaming input", () => {
		expect(read(user, assistant(tool("a", { state: "input-streaming" }))).messages[1]?.counted).toEqual([]);
	});

	it("reads the tool's name from the part's type, or from its own field", () => {
		const dynamic = { ...tool("b"), type: "dynamic-tool", toolName: "find" };
		expect(read(user, assistant(tool("a"), dynamic)).messages[1]?.calls.map(({ name }) => name)).toEqual([
			"ls",
			"find",
		]);
	});

	it("reads a failure from `errorText`, and its input from `rawInput` as fallback", () => {
		const part = tool("a", {
			state: "output-error",
			input: undefined,
			rawInput: "{",
			output: undefined,
			errorText: "No.",
		});
		const [, message] = read(user, assistant(part)).messages;
		expect(message?.results).toMatchObject([
			{ isError: true, texts: [{ path: [1, "parts", 0, "errorText"], text: "No." }] },
		]);
		expect(message?.counted).toEqual(["ls", "{"]);
	});

	it("a denied call is answered by its reason and cannot be masked", () => {
		const approval = { id: "x", approved: false, reason: "Too risky." };
		const part = tool("a", { state: "output-denied", output: undefined, approval });
		expect(resultsOf(part)).toMatchObject([{ callId: "a", texts: [], whole: undefined }]);
		expect(read(user, assistant(part)).messages[1]?.counted).toContain("Too risky.");
	});

	it("an image inside an MCP output is media", () => {
		const output = { content: [{ type: "image", data: "A".repeat(900), mimeType: "image/png" }], isError: false };
		const [result] = resultsOf(tool("a", { output })) ?? [];
		expect(result?.media).toMatchObject([{ kind: "image", path: [1, "parts", 0, "output", "content", 0] }]);
		expect(result?.texts).toEqual([]);
	});

	it("counts files by estimate", () => {
		const file = { type: "file", mediaType: "image/png", url: "data:image/png;base64,AAAA" };
		const [message] = read({ ...user, parts: [file] }).messages;
		expect(message?.mediaTokens).toBeGreaterThan(200);
		expect(message?.counted).toEqual([]);
	});
});

describe("Vercel AI SDK UI messages of v4", () => {
	const invocation = (id: string, more: object = {}) => ({
		state: "result",
		step: 0,
		toolCallId: id,
		toolName: "ls",
		args: { path: "a.txt" },
		result: outputOf(id),
		...more,
	});
	const part = (id: string) => ({ type: "tool-invocation", toolInvocation: invocation(id) });
	const last = { id: "m9", role: "assistant", content: "", parts: [start, part("last")] };

	it("calls only in `toolInvocations` are one message", async () => {
		const message = {
			id: "m1",
			role: "assistant",
			content: "Done.",
			reasoning: "Hm.",
			toolInvocations: [invocation("a"), invocation("b", { state: "call", result: undefined })],
		};
		const conversation = [{ id: "m0", role: "user", content: "Go." }, message, last];
		const { format, transcript } = readConversation(conversation);
		expect(format).toBe(vercelUi);
		expect(transcript.messages[1]).toMatchObject({
			paths: [[1]],
			counted: ["Hm.", "Done.", "ls", '{"path":"a.txt"}', "ls", '{"path":"a.txt"}'],
			calls: [{ id: "a" }, { id: "b" }],
		});
		const { edits } = await maskConversation({ conversation, policy: masking });
		expect(edits.map(({ path }) => path)).toEqual(["/1/toolInvocations/0/result"]);
	});

	it("calls in the parts are read once; their copies are masked and dropped with them", async () => {
		const message = {
			id: "m1",
			role: "assistant",
			content: "Done.",
			parts: [start, part("a"), start, part("b"), start, { type: "text", text: "Done." }],
			toolInvocations: [invocation("a"), invocation("b")],
		};
		const conversation = [{ id: "m0", role: "user", content: "Go.", parts: user.parts }, message, last];
		const { transcript } = readConversation(conversation);
		expect(transcript.messages.map(({ paths }) => paths.length)).toEqual([1, 3, 3, 2, 1]);
		expect(transcript.messages.flatMap(({ counted }) => counted).filter((text) => text === "Done.")).toHaveLength(1);
		const masked = await maskConversation({ conversation, policy: masking });
		expect(masked.conversation).toMatchObject([
			{},
			{
				parts: [
					start,
					{ toolInvocation: { result: placeholder } },
					start,
					{ toolInvocation: { result: placeholder } },
					start,
					{},
				],
				toolInvocations: [{ result: placeholder }, { result: placeholder }],
			},
			{},
		]);
		const guarded = await guardConversation({ conversation, policy: dropping, contextWindow: 500 });
		expect(guarded.error).toBeUndefined();
		expect(guarded.report.dropped_messages).toBeGreaterThan(0);
		const [kept] = (guarded.conversation as { id: string; parts: object[]; toolInvocations: object[] }[]).filter(
			({ id }) => id === "m1",
		);
		expect(kept?.toolInvocations).toHaveLength(kept?.parts.filter((one) => "toolInvocation" in one).length ?? -1);
	});

	it("reads reasoning with its details, and attachments", () => {
		const details = [{ type: "text", text: "Hm.", signature: "c2ln" }];
		const conversation = [
			{ ...user, experimental_attachments: [{ contentType: "image/png", url: "https://example.org/a.png" }, null] },
			assistant({ type: "reasoning", reasoning: "Hm.", details }, { type: "text", text: "Hi." }),
		];
		const { messages } = read(...conversation);
		expect(messages[0]?.mediaTokens).toBeGreaterThan(200);
		expect(messages[1]?.thinking).toEqual([{ path: [1, "parts", 0], text: "Hm.", bound: true }]);
	});
});

describe("Vercel AI SDK UI messages: objects that tools return", () => {
	const outputSchema = z.object({ path: z.string(), text: z.string(), rows: z.array(z.object({ line: z.string() })) });
	const ls = defineTool({
		inputSchema: z.object({ path: z.string() }),
		outputSchema,
		execute: ({ path }) => ({ path, text: "", rows: [] }),
		toModelOutput: ({ output }) => ({ type: "text", value: `${output.path}: ${output.text.trim()}` }),
	});
	const output = (id: string) => ({
		path: "a.txt",
		text: outputOf(id),
		rows: outputOf(id)
			.split("\n")
			.map((line) => ({ line: `${line}, and more of it` })),
	});
	const messages = [
		user,
		assistant(start, tool("a", { output: output("a") }), start, tool("b", { output: output("b") })),
	];

	it("keep their members when they are masked, so that the SDK accepts and sends them, and come back to the byte", async () => {
		const text = JSON.stringify(messages, null, 1);
		const { masked, restored, outcome } = await thereAndBack(text, masking);
		expect(outcome.report.masked_tool_results).toBe(1);
		expect(masked).not.toContain("a line 7");
		const valid = await safeValidateUIMessages({ messages: JSON.parse(masked), tools: { ls } as never });
		if (!valid.success) throw valid.error;
		const sent = await convertToModelMessages(valid.data, { tools: { ls } });
		expect(JSON.stringify(sent)).toMatch(/"value":"a\.txt: \[Observation masquée/);
		expect(restored).toBe(text);
	});

	const status = "a-literal-that-is-longer-than-forty-characters";
	const words = (id: string) => outputOf(id).split("\n");
	it.each<[string, z.ZodType, (id: string) => unknown]>([
		["literals", z.object({ status: z.literal(status), text: z.string() }), (id) => ({ status, text: outputOf(id) })],
		[
			"addresses",
			z.object({ url: z.url(), text: z.string() }),
			(id) => ({ url: `https://a.b/${status}`, text: outputOf(id) }),
		],
		[
			"data",
			z.object({ text: z.string(), data: z.base64().min(50) }),
			(id) => ({ text: outputOf(id), data: "iVBORw0KGgo1".repeat(8) }),
		],
		[
			"tuples",
			z.tuple([z.string(), z.string(), z.string(), z.string()]),
			(id) => [outputOf(id), "b", outputOf(id), "d"],
		],
		[
			"texts that may not be empty",
			z.object({ one: z.string(), two: z.string().min(1) }),
			(id) => ({ one: outputOf(id), two: outputOf(id) }),
		],
		[
			"short rows whose last ones are longer",
			z.array(z.object({ line: z.string() })),
			(id) => words(id).map((_, at) => ({ line: `${id} row ${at}` })),
		],
	])("keep what a schema checks: %s", async (_, schema, make) => {
		const checked = defineTool({
			inputSchema: z.object({ path: z.string() }),
			outputSchema: schema,
			execute: () => make("a"),
		});
		const text = JSON.stringify([
			user,
			assistant(start, tool("a", { output: make("a") }), start, tool("b", { output: make("b") })),
		]);
		const { masked, restored, outcome } = await thereAndBack(text, masking);
		expect(outcome.report.masked_tool_results).toBe(1);
		expect(masked).toMatch(/Observation masquée/);
		const valid = await safeValidateUIMessages({ messages: JSON.parse(masked), tools: { ls: checked } as never });
		if (!valid.success) throw valid.error;
		expect(restored).toBe(text);
	});

	it("stay as they are if no text could stand in them", async () => {
		const numbers = [user, assistant(start, tool("a", { output: { sizes: [...outputOf("a")].map((_, at) => at) } }))];
		const conversation = [...numbers, ...messages];
		const { report } = await maskConversation({ conversation, policy: masking });
		expect(report).toMatchObject({ masked_tool_results: 1, kept: { not_text: 1 } });
	});
});

describe("Vercel AI SDK UI messages: format detection", () => {
	it.each([
		[{ role: "user", parts: [{ text: "Gemini" }] }],
		[{ role: "model", parts: [{ type: "text", text: "x" }] }],
		[{ role: "user", parts: "x" }],
		[{ role: "user", content: [{ type: "text", text: "x" }] }],
		[{ role: "tool", content: "x", tool_call_id: "a" }],
		[{ role: "assistant", content: null, tool_calls: [] }],
	])("does not match %j", (message) => {
		expect(vercelUi.probe(locateMessages([user, message]))).toMatchObject({ fit: "none", message: 1 });
	});
});
