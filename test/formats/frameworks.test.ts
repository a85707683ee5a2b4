import { describe, expect, it } from "vitest";
import { pairResults } from "../../src/engine/conversation/turns.ts";
import { readConversation } from "../../src/formats/detect.ts";
import { langchain, openaiAgents, pydanticAi } from "../../src/formats/frameworks.ts";
import { guardConversation } from "../../src/operations/guard.ts";
import { maskConversation } from "../../src/operations/mask.ts";
import { policyOf } from "../support/policy-of.ts";
import { outputOf } from "../support/sample-text.ts";

const masking = policyOf({ mask: { window_turns: 1 } });
const human = { type: "human", content: "Look." };
const ai = (id: string) => ({
	type: "ai",
	content: "",
	tool_calls: [{ name: "look", args: {}, id, type: "tool_call" }],
});
const tool = (id: string) => ({ type: "tool", content: outputOf(id), tool_call_id: id, status: "success" });
const plain = [human, ai("a"), tool("a"), ai("b"), tool("b")];
const classes: Record<string, string> = { human: "HumanMessage", ai: "AIMessageChunk", tool: "ToolMessage" };
const constructed = plain.map((kwargs) => ({
	lc: 1,
	type: "constructor",
	id: ["langchain", "schema", "messages", classes[kwargs.type]],
	kwargs,
}));
const read = (document: unknown) => readConversation(document).transcript.messages;

describe("LangChain messages", () => {
	it.each([
		["plain", plain],
		["as serialised constructors", constructed],
		["as `{type, data}`", plain.map((data) => ({ type: data.type, data }))],
		["as chunks", plain.map((message) => (message.type === "ai" ? { ...message, type: "AIMessageChunk" } : message))],
		["of a thread state", { values: { messages: plain, title: "x" }, next: [], metadata: { step: 3 } }],
		["of a checkpoint", { checkpoint: { v: 1, channel_values: { messages: plain, todos: [] } }, metadata: {} }],
		["of a traced run", { inputs: { messages: [constructed] }, outputs: { generations: [] } }],
		["of the only thread in a list", [{ thread_id: "t", values: { messages: plain } }]],
	])("reads and masks messages %s", async (_, document) => {
		expect(readConversation(document).format).toBe(langchain);
		expect(read(document).map(({ role }) => role)).toEqual(["user", "assistant", "tool", "assistant", "tool"]);
		const { conversation, report, error } = await maskConversation({ conversation: document, policy: masking });
		expect(error).toBeUndefined();
		expect(report.masked_tool_results).toBe(1);
		expect(JSON.stringify(conversation)).not.toContain(JSON.stringify(outputOf("a")));
		expect(JSON.stringify(conversation)).toContain(JSON.stringify(outputOf("b")));
	});

	it("writes a message in the form of the one that it replaces", () => {
		const write = (instead: unknown) => langchain.write.message({ role: "assistant", text: "In short.", instead });
		expect(write({ ...human, id: "m1" })).toEqual({ id: "m1", type: "ai", content: "In short." });
		expect(write({ type: "human", data: human })).toEqual({ type: "ai", data: { type: "ai", content: "In short." } });
		expect(write(constructed[0])).toEqual({
			lc: 1,
			type: "constructor",
			id: ["langchain", "schema", "messages", "AIMessage"],
			kwargs: { content: "In short." },
		});
	});

	it("reads each call once, whether it is in `tool_calls`, in the parts or as the API gave it", () => {
		const use = { type: "tool_use", id: "a", name: "look", input: {} };
		const ofApi = { tool_calls: [{ id: "a", type: "function", function: { name: "look", arguments: "{}" } }] };
		for (const message of [
			{ ...ai("a"), content: [use] },
			{ type: "ai", content: [use] },
			{ type: "ai", content: "", additional_kwargs: ofApi },
			{ ...ai("a"), additional_kwargs: ofApi },
		]) {
			const [, answer] = read([human, message]);
			expect(answer?.calls).toEqual([{ id: "a", name: "look" }]);
			expect(answer?.counted.filter((text) => text !== "")).toEqual(["look", "{}"]);
		}
	});

	it("reads calls that failed to parse, failed tools, and a message's role", () => {
		const invalid = {
			type: "ai",
			content: "",
			tool_calls: [],
			invalid_tool_calls: [{ name: "look", args: "{", id: "a" }],
		};
		const messages = read([
			human,
			invalid,
			{ ...tool("a"), status: "error" },
			{ type: "chat", role: "assistant", content: "x" },
		]);
		expect(messages[1]?.calls).toEqual([{ id: "a", name: "look" }]);
		expect(messages[2]?.results).toMatchObject([{ isError: true }]);
		expect(messages[3]?.role).toBe("assistant");
	});

	it("reads signed reasoning as bound, and the usage of a call", () => {
		const thinking = { type: "thinking", thinking: "Hm.", signature: "c2ln" };
		const usage_metadata = { input_tokens: 90, output_tokens: 1, input_token_details: { cache_read: 60 } };
		const [, answer] = read([
			human,
			{ type: "ai", content: [thinking, { type: "text", text: "Yes." }], usage_metadata },
		]);
		expect(answer?.thinking).toEqual([{ path: [1, "content", 0], text: "Hm.", bound: true }]);
		expect(answer?.usage).toEqual({ inputTokens: 90, cachedTokens: 60 });
	});

	it("leaves calls without an answer, and masks the answered ones of many", async () => {
		const many = {
			...ai("x"),
			tool_calls: Array.from({ length: 16 }, (_, n) => ({ name: "look", args: {}, id: `c${n}` })),
		};
		const answers = Array.from({ length: 6 }, (_, n) => tool(`c${n}`));
		const conversation = [human, many, ...answers, human, ai("y"), human, ai("b"), tool("b"), ai("z")];
		const { report, error } = await maskConversation({ conversation, policy: masking });
		expect(error).toBeUndefined();
		expect(report.masked_tool_results).toBe(7);
		expect(pairResults(readConversation(conversation).transcript).every(({ caller }) => caller !== undefined)).toBe(
			true,
		);
	});

	it("skips notices that a message is deleted", () => {
		expect(read([human, { type: "remove", id: "m1", content: "" }, ai("a")])).toHaveLength(2);
	});
});

describe("openai agents", () => {
	const masking = policyOf({ mask: { window_turns: 1 } });
	const call = (callId: string) => ({
		type: "function_call",
		callId,
		name: "look",
		arguments: "{}",
		status: "completed",
	});
	const result = (callId: string, output: unknown) => ({
		type: "function_call_result",
		callId,
		name: "look",
		output,
		status: "completed",
	});
	const text = (id: string) => ({ type: "text", text: outputOf(id) });
	const says = {
		type: "message",
		role: "assistant",
		content: [{ type: "output_text", text: "Done." }],
		status: "completed",
	};
	const items = [
		{ type: "message", role: "user", content: "Look." },
		call("a"),
		call("b"),
		result("a", text("a")),
		result("b", outputOf("b")),
		call("c"),
		result("c", text("c")),
		says,
		call("open"),
	];
	const wrapped = items.slice(1).map((rawItem) => ({
		type: `${rawItem.type?.replace("function", "tool").replace("result", "output")}_item`,
		rawItem,
		...("output" in rawItem ? { output: (rawItem.output as { text?: string }).text ?? rawItem.output } : {}),
		agent: { name: "x" },
	}));

	describe("OpenAI Agents SDK", () => {
		it.each([
			["the items of its JavaScript edition", items],
			["run items", wrapped],
			["a run state", { $schemaVersion: "1.0", originalInput: "Look.", generatedItems: wrapped, currentTurn: 3 }],
			[
				"a run state of its Python edition",
				{
					$schemaVersion: "1.13",
					original_input: [{ role: "user", content: "Look." }],
					generated_items: wrapped.map(({ rawItem, ...item }) => ({ ...item, raw_item: rawItem })),
					last_processed_response: { new_items: [] },
				},
			],
		])("masks outputs in %s, with their copies", async (_, document) => {
			const { format, transcript } = readConversation(document);
			expect(format).toBe(openaiAgents);
			const turns = transcript.messages.filter(({ calls }) => calls.length > 0);
			expect(turns.map(({ calls }) => calls.map(({ id }) => id))).toEqual([["a", "b"], ["c"], ["open"]]);
			const policy = policyOf({ mask: { window_turns: 2 } });
			const { conversation, report, error } = await maskConversation({ conversation: document, policy });
			expect(error).toBeUndefined();
			expect(report.masked_tool_results).toBe(2);
			for (const id of ["a", "b"]) expect(JSON.stringify(conversation)).not.toContain(JSON.stringify(outputOf(id)));
		});

		it("drops nothing from a run state, whose positions its SDK checks, and drops from run items", async () => {
			const state = { $schemaVersion: "1.22", originalInput: "Look.", generatedItems: wrapped, currentTurn: 3 };
			const policy = policyOf({ preset: "context-guard", guard: { ladder: ["drop"], reserve_tokens: 0 } });
			const dropped = async (conversation: unknown) => {
				const { report } = await guardConversation({ conversation, policy, contextWindow: 60 });
				return report.dropped_messages;
			};
			expect(await dropped(state)).toBe(0);
			expect(await dropped(wrapped)).toBeGreaterThan(0);
		});

		it("leaves the items of the Responses API to that format", async () => {
			const { report } = await maskConversation({
				conversation: [{ type: "function_call", call_id: "a", name: "x", arguments: "{}" }],
				policy: masking,
			});
			expect(report.format).toBe("openai-responses");
		});

		it("writes a message in the form of the item that it replaces", () => {
			const write = (instead: unknown) => openaiAgents.write.message({ role: "assistant", text: "In short.", instead });
			expect(write(call("a"))).toMatchObject({ type: "message", role: "assistant" });
			expect(write({ type: "tool_call_item", raw_item: {} })).toMatchObject({
				type: "message_output_item",
				raw_item: { role: "assistant" },
			});
		});
	});
});

describe("pydantic ai", () => {
	const masking = policyOf({ mask: { window_turns: 1 } });
	const part = (part_kind: string, content: unknown, more: object = {}) => ({ part_kind, content, ...more });
	const call = (id: string) => ({ part_kind: "tool-call", tool_name: "look", args: { path: "a" }, tool_call_id: id });
	const request = (...parts: readonly object[]) => ({ kind: "request", parts, instructions: null });
	const response = (...parts: readonly object[]) => ({ kind: "response", parts });
	const returned = (id: string) => part("tool-return", outputOf(id), { tool_name: "look", tool_call_id: id });
	const read = (...messages: readonly unknown[]) => readConversation(messages).transcript;

	describe("PydanticAI messages", () => {
		const opening = request(part("system-prompt", "Act."), part("user-prompt", "Look."));

		it("reads a system prompt next to the user's prompt as a message that stays", () => {
			const { messages } = read(opening, response(call("a")), request(returned("a"), part("user-prompt", "And?")));
			expect(messages.map(({ role, paths }) => [role, paths])).toEqual([
				["system", [[0, "parts", 0]]],
				["user", [[0, "parts", 1]]],
				["assistant", [[1]]],
				["user", [[2]]],
			]);
		});

		it("masks returns of tools, and leaves unanswered calls", async () => {
			const conversation = [
				opening,
				response(call("a"), call("x")),
				request(returned("a")),
				response(call("b")),
				request(returned("b")),
				response(call("z")),
			];
			expect(readConversation(conversation).format).toBe(pydanticAi);
			const { report, error } = await maskConversation({
				conversation,
				policy: policyOf({ mask: { window_turns: 2 } }),
			});
			expect(error).toBeUndefined();
			expect(report).toMatchObject({ masked_tool_results: 1, tool_turns: 3 });
		});

		it("reads a retry prompt of a tool as its error, and one without a tool as a text", async () => {
			const retry = part("retry-prompt", outputOf("retry"), { tool_name: "look", tool_call_id: "a" });
			const { messages } = read(response(call("a")), request(retry), request(part("retry-prompt", "Answer.")));
			expect(messages[1]?.results).toMatchObject([{ callId: "a", isError: true }]);
			expect(messages[2]).toMatchObject({ counted: ["Answer."], results: [] });
			const conversation = [response(call("a")), request(retry), response(call("b")), request(returned("b"))];
			expect((await maskConversation({ conversation, policy: masking })).report.masked_tool_results).toBe(0);
		});

		it("counts the last instructions, files by estimate, and the usage of a call", () => {
			const image = { kind: "image-url", url: "https://example.org/a.png" };
			const transcript = read(
				{ ...request(part("user-prompt", ["Look.", image])), instructions: "Old." },
				{ ...response(part("text", "Yes.")), usage: { input_tokens: 90, cache_read_tokens: 60 }, model_name: "m" },
				{ ...request(part("user-prompt", "And?")), instructions: "Be brief." },
			);
			expect(transcript.surroundings).toEqual(["Be brief."]);
			expect(transcript.messages[0]).toMatchObject({ counted: ["Look."] });
			expect(transcript.messages[0]?.mediaTokens).toBeGreaterThan(200);
			expect(transcript.messages[1]?.usage).toEqual({ inputTokens: 90, cachedTokens: 60, model: "m" });
		});

		it("binds signed reasoning, and keeps the items of OpenAI", () => {
			const [message] = read(
				response(
					part("thinking", "Hm.", { signature: "c2ln" }),
					part("thinking", "Hm.", { id: "rs_1", signature: "x" }),
					call("a"),
				),
			).messages;
			expect(message?.thinking).toMatchObject([{ bound: true }, { bound: false, fixed: true }]);
		});
	});
});
