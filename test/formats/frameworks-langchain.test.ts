import { describe, expect, it } from "vitest";
import { pairResults } from "../../src/engine/conversation/turns.ts";
import { readConversation } from "../../src/formats/detect.ts";
import { langchain } from "../../src/formats/frameworks.ts";
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
