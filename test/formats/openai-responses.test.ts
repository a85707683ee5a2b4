import { describe, expect, it } from "vitest";
import { pairResults, toolTurns } from "../../src/engine/conversation/turns.ts";
import { readConversation } from "../../src/formats/detect.ts";
import { guard, mask } from "../../src/library.ts";
import { guardConversation } from "../../src/operations/guard.ts";
import { maskConversation } from "../../src/operations/mask.ts";
import { policyOf } from "../support/policy-of.ts";
import { outputOf } from "../support/sample-text.ts";

const placeholder = expect.stringMatching(/^\[Observation masquée/);
const masking = policyOf({ mask: { window_turns: 1 } });

const read = (...items: unknown[]) => readConversation(items).transcript;
const user = (text: string) => ({ role: "user", content: text });
const call = (id: string, name = "ls") => ({ type: "function_call", call_id: id, name, arguments: "{}" });
const output = (id: string, text: unknown = outputOf(id)) => ({
	type: "function_call_output",
	call_id: id,
	output: text,
});
const reasoning = (id: string) => ({
	type: "reasoning",
	id,
	summary: [{ type: "summary_text", text: `Thoughts of ${id}.` }],
	encrypted_content: "gAAAA".repeat(1_000),
});

/** Masks the first of two turns. */
async function maskFirst(...items: unknown[]) {
	const conversation = [user("Go."), ...items, user("More."), call("last"), output("last", "ok")];
	const outcome = await maskConversation({ conversation, policy: masking });
	expect(outcome.error).toBeUndefined();
	return (outcome.conversation as unknown[]).slice(1, 1 + items.length);
}

describe("OpenAI Responses: answers", () => {
	const said = { type: "message", role: "assistant", content: [{ type: "output_text", text: "Let me look." }] };

	it("consecutive reasoning, text and calls are one message; each output is its own message", () => {
		const transcript = read(user("Go."), reasoning("r"), said, call("a"), call("b"), output("b"), output("a"));
		expect(transcript.messages.map(({ role, paths }) => [role, paths.flat()])).toEqual([
			["user", [0]],
			["assistant", [1, 2, 3, 4]],
			["tool", [5]],
			["tool", [6]],
		]);
		expect(toolTurns(transcript)).toEqual([1]);
	});

	it("an output and a user message end an answer", () => {
		const transcript = read(call("a"), output("a"), reasoning("r"), call("b"), user("Stop."), said);
		expect(transcript.messages.map(({ paths }) => paths.flat())).toEqual([[0], [1], [2, 3], [4], [5]]);
	});

	it("a late output of an earlier call does not end an answer, since it may be dropped", async () => {
		const items = [call("a"), user("Quick!"), said, output("a"), call("b"), output("b"), user("More."), call("c")];
		expect(read(...items).messages.map(({ paths }) => paths.flat())).toEqual([[0], [1], [2, 4], [3], [5], [6], [7]]);
		const policy = policyOf({
			preset: "context-guard",
			guard: { reserve_tokens: 0, ladder: ["drop"], keep_last_messages: 3 },
		});
		const conversation = [user("Go."), ...items];
		const outcome = await guardConversation({ conversation, policy, contextWindow: 1 });
		expect(outcome.error).toBeUndefined();
	});

	it("a second output of an early call does not change how the items between are read", () => {
		const items = [call("a"), output("a"), call("b"), output("b"), call("b"), output("b")];
		const before = read(...items).messages;
		expect(before.map(({ paths }) => paths.flat())).toEqual([[0], [1], [2], [3], [4], [5]]);
		expect(read(...items, output("a")).messages.slice(0, -1)).toEqual(before);
	});

	it("estimates encrypted reasoning, and never separates reasoning from its call", () => {
		const [message] = read(reasoning("r"), call("a")).messages;
		expect(message?.counted).toContain("Thoughts of r.");
		expect(JSON.stringify(message?.counted)).not.toContain("gAAAA");
		expect(message?.mediaTokens).toBe(Math.ceil((3_750 - 650) / 4));
		expect(message?.thinking).toEqual([{ path: [0], text: "Thoughts of r.", bound: false, fixed: true }]);
	});

	it("drops reasoning with the calls it led to", async () => {
		const turns = ["a", "b", "c"].flatMap((id) => [reasoning(`r-${id}`), call(id), output(id)]);
		const policy = policyOf({ preset: "context-guard", guard: { reserve_tokens: 0, ladder: ["drop"] } });
		const conversation = [...turns, user("Well?")];
		const outcome = await guardConversation({ conversation, policy, contextWindow: 1_900 });
		expect(outcome.error).toBeUndefined();
		expect(outcome.report.dropped_messages).toBeGreaterThan(0);
		expect(outcome.conversation).toEqual(conversation.slice(-4));
	});

	it("an output with only a reference to its call is paired with the answer that contains the reference", async () => {
		const references = (id: string) => [{ type: "item_reference", id: `rs_${id}` }, { id: `fc_${id}` }];
		const conversation = [
			user("Go."),
			...["a", "b"].flatMap((id) => [...references(id), output(id)]),
			{ type: "message", role: "assistant", content: "Done." },
		];
		expect(pairResults(readConversation(conversation).transcript).map(({ caller }) => caller)).toEqual([1, 3]);
		const outcome = await maskConversation({ conversation, policy: masking });
		expect(outcome.edits.map(({ path }) => path)).toEqual(["/3/output"]);
	});

	it("an output without any call or reference is an orphan", () => {
		expect(pairResults(read(output("a"), user("Go."))).map(({ caller }) => caller)).toEqual([undefined]);
	});

	it("a compaction replaces earlier items, and is kept like a system message", () => {
		const [message] = read({ type: "compaction", encrypted_content: "gAAAA".repeat(1_000) }, user("Go.")).messages;
		expect(message).toMatchObject({ role: "system", counted: [] });
		expect(message?.mediaTokens).toBeGreaterThan(100);
	});
});

describe("OpenAI Responses: kinds of calls", () => {
	const pairs = (...items: unknown[]) =>
		pairResults(read(...items)).map(({ result, call }) => [call?.name, result.texts[0]?.text, result.isError]);

	it("custom calls, patches, programs and unknown ones are paired by `call_id`", () => {
		expect(
			pairs(
				{ type: "custom_tool_call", call_id: "a", name: "run", input: "print(1)" },
				{ type: "custom_tool_call_output", call_id: "a", output: "1" },
				{ type: "apply_patch_call", call_id: "b", operation: { type: "delete_file", path: "x" }, status: "completed" },
				{ type: "apply_patch_call_output", call_id: "b", status: "failed", output: "No such file." },
				{ type: "program", id: "p", call_id: "c", code: "tools.ls()", fingerprint: "x" },
				{ type: "program_output", id: "o", call_id: "c", result: "a.txt", status: "completed" },
				{ type: "future_call", call_id: "d", stuff: 1 },
				{ type: "future_call_output", call_id: "d", output: "2" },
			),
		).toEqual([
			["run", "1", undefined],
			["apply_patch", "No such file.", true],
			["program", "a.txt", undefined],
			["future", "2", undefined],
		]);
	});

	it("outputs of the local shell name the call or its item", () => {
		const shell = (id: string) => ({
			type: "local_shell_call",
			id: `lsh_${id}`,
			call_id: id,
			action: { command: ["ls"] },
		});
		expect(
			pairs(shell("a"), { type: "local_shell_call_output", id: "lsh_a", output: "1" }, shell("b"), {
				type: "local_shell_call_output",
				id: "x",
				call_id: "b",
				output: "2",
			}),
		).toEqual([
			["local_shell", "1", undefined],
			["local_shell", "2", undefined],
		]);
	});

	it("one text replaces all streams of a shell call; each command keeps its outcome", async () => {
		const chunks = ["one", "two"].map((name, index) => ({
			stdout: outputOf(name),
			stderr: index === 0 ? "" : "warning",
			outcome: { type: "exit", exit_code: 0 },
		}));
		const items = [
			{ type: "shell_call", call_id: "a", action: { commands: ["one", "two"] } },
			{ type: "shell_call_output", call_id: "a", output: chunks },
		];
		const [, masked] = await maskFirst(...items);
		expect(masked).toEqual({
			...items[1],
			output: [
				{ ...chunks[0], stdout: placeholder },
				{ ...chunks[1], stdout: "", stderr: "" },
			],
		});
		const failed = [{ stdout: "x", stderr: "", outcome: { type: "exit", exit_code: 1 } }];
		expect(pairs(items[0], { ...items[1], output: failed })).toEqual([["shell", "x", true]]);
		expect(pairs(items[0], items[1])).toMatchObject([["shell", chunks[0]?.stdout, false]]);
	});

	it("calls of the provider's own tools contain their output", async () => {
		const items = [
			{ type: "mcp_call", id: "m", server_label: "s", name: "search", arguments: "{}", output: outputOf("mcp") },
			{ type: "code_interpreter_call", id: "c", code: "print(1)", outputs: [{ type: "logs", logs: outputOf("logs") }] },
			{ type: "file_search_call", id: "f", queries: ["x"], results: [{ file_id: "1", text: outputOf("found") }] },
			{ type: "web_search_call", id: "w", status: "completed", action: { type: "search", query: "x" } },
		];
		const masked = (await maskFirst(...items)) as typeof items;
		expect(masked).toEqual([
			{ ...items[0], output: placeholder },
			{ ...items[1], outputs: [{ type: "logs", logs: placeholder }] },
			{ ...items[2], results: [{ text: placeholder }] },
			items[3],
		]);
		expect(pairs({ ...items[0], output: null, error: "Refused." })).toEqual([["search", "Refused.", true]]);
		expect(toolTurns(read(items[3], user("Go."), call("a")))).toEqual([2]);
	});

	it("a screenshot is kept, since such a call accepts no text as its output", async () => {
		const items = [
			{ type: "computer_call", call_id: "a", action: { type: "screenshot" } },
			{
				type: "computer_call_output",
				call_id: "a",
				output: { type: "computer_screenshot", image_url: "data:image/png;base64,AAAA" },
			},
		];
		expect(await maskFirst(...items)).toEqual(items);
		const [, message] = read(...items).messages;
		expect(message?.mediaTokens).toBeGreaterThan(500);
		expect(JSON.stringify(message?.counted)).not.toContain("AAAA");
	});

	it("a search of tools by the provider is part of the answer, one by the client has its output", () => {
		const search = (execution: string, id: string | null) => [
			{ type: "tool_search_call", execution, call_id: id, arguments: { query: "x" } },
			{ type: "tool_search_output", execution, call_id: id, tools: [{ type: "function", name: "ls" }] },
		];
		const byProvider = read(...search("server", null), call("a")).messages;
		expect(byProvider.map(({ calls, results }) => [calls.length, results.length])).toEqual([[1, 0]]);
		const byClient = read(...search("client", "s"), call("a"));
		expect(pairResults(byClient)).toMatchObject([{ caller: 0, call: { name: "tool_search" } }]);
		expect(byClient.messages[1]?.counted.join()).toContain('"name":"ls"');
	});

	it("an approval response stays with its request", () => {
		const transcript = read(
			{ type: "mcp_approval_request", id: "r", server_label: "s", name: "rm", arguments: "{}" },
			{ type: "mcp_approval_response", approval_request_id: "r", approve: true },
		);
		expect(pairResults(transcript)).toMatchObject([{ message: 1, caller: 0, call: { id: "r", name: "rm" } }]);
	});
});

describe("OpenAI Responses: format detection", () => {
	it("texts only under `input` match this format, but not in a bare list", () => {
		expect(readConversation({ input: [user("Hello")] }).format.name).toBe("openai-responses");
		expect(readConversation([user("Hello")]).format.name).toBe("openai-chat");
	});

	it("reads items without `type`, with null contents, files and refusals", () => {
		const { messages } = read(
			{ role: "developer", content: "Rules." },
			{
				role: "user",
				content: [{ type: "input_file", filename: "a.pdf", file_data: "data:application/pdf;base64,AAAA" }],
			},
			{ role: "assistant", content: [{ type: "refusal", refusal: "No." }] },
			{ role: "user", content: null },
		);
		expect(messages.map(({ role }) => role)).toEqual(["system", "user", "assistant", "user"]);
		expect(messages[1]?.mediaTokens).toBeGreaterThan(500);
		expect(messages.map(({ counted }) => counted.join(""))).toEqual(["Rules.", "", "No.", ""]);
	});

	it.each([
		[{ type: "response_item", payload: {} }],
		[{ type: "reasoning", text: "Hm." }],
		[{ role: "tool", tool_call_id: "a", content: "x" }],
		[{ role: "assistant", content: null, tool_calls: [] }],
		[{ role: "user", content: [{ type: "tool_result", tool_use_id: "a" }] }],
		[{ role: "user", parts: [{ text: "x" }] }],
	])("does not match %j", (item) => {
		expect(() => read(call("a"), item)).toThrow(/OpenAI Responses items .*: message 1 \(counted from 0\) does not fit/);
	});
});

const turn = (id: string) => [
	{
		object: "response",
		id: `r-${id}`,
		model: "gpt-5",
		output: [
			{ type: "reasoning", id: `rs-${id}`, summary: [] },
			{ type: "function_call", call_id: id, name: "bash", arguments: '{"command":"ls"}' },
			{ type: "function_call", call_id: `${id}-2`, name: "bash", arguments: '{"command":"pwd"}' },
		],
		usage: { input_tokens: 900, input_tokens_details: { cached_tokens: 400 }, output_tokens: 20 },
		extra: { timestamp: 1_760_000_000 },
	},
	{ type: "function_call_output", call_id: id, output: outputOf(id) },
	{ type: "function_call_output", call_id: `${id}-2`, output: outputOf(`${id}-2`) },
];
const messages = [
	{ role: "user", content: "Go." },
	...["a", "b", "c"].flatMap(turn),
	{ role: "exit", content: "Done." },
];

describe("whole answers of OpenAI Responses among the items, as mini-swe-agent keeps them", () => {
	it("are one message each, with time and usage", () => {
		const { format, transcript } = readConversation({ trajectory_format: "mini-swe-agent-1.1", messages });
		expect(format.name).toBe("openai-responses");
		expect(transcript.messages[1]).toMatchObject({
			role: "assistant",
			paths: [["messages", 1]],
			calls: [{ id: "a" }, { id: "a-2" }],
			time: 1_760_000_000_000,
			usage: { inputTokens: 900, cachedTokens: 400, model: "gpt-5" },
		});
	});

	it("are masked, and dropped with their outputs", async () => {
		const masked = await mask({ messages }, { policy: { mask: { window_turns: 1 } } });
		expect(masked.report.masked_tool_results).toBe(4);
		const policy = { guard: { ladder: ["drop" as const], reserve_tokens: 0 } };
		const { conversation, error } = await guard({ messages }, { contextWindow: 900, policy });
		expect(error).toBeUndefined();
		const left = JSON.stringify(conversation);
		for (const id of ["a", "b", "c"]) {
			expect(left.includes(`"call_id":"${id}","name"`)).toBe(left.includes(`"call_id":"${id}","output"`));
		}
		expect(left).not.toContain('"r-a"');
	});

	it("are refused with items of other kinds", () => {
		expect(() => readConversation([{ object: "response", output: [{ type: "else" }] }])).toThrow(/fits? no format/);
	});
});
