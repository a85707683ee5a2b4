import { describe, expect, it } from "vitest";
import { groupMessages } from "../../src/engine/groups.ts";
import { pairResults } from "../../src/engine/pairing.ts";
import { readConversation } from "../../src/formats/read-conversation.ts";
import { guardConversation } from "../../src/pipeline/guard-conversation.ts";
import { maskConversation } from "../../src/pipeline/mask-conversation.ts";
import { policyOf } from "../support/policy-of.ts";
import { outputOf } from "../support/sample-text.ts";

const read = (...messages: unknown[]) => readConversation(messages).transcript;

describe("OpenAI Chat Completions", () => {
	it("reads `developer` as system", () => {
		expect(read({ role: "developer", content: "Rules." }).messages[0]?.role).toBe("system");
	});

	it("groups the older `function_call` with its `role: function` answer by position", () => {
		const transcript = read(
			{ role: "user", content: "Go." },
			{ role: "assistant", content: null, function_call: { name: "ls", arguments: "{}" } },
			{ role: "function", name: "ls", content: "a.txt" },
			{ role: "assistant", content: "There is a.txt." },
		);
		expect(transcript.messages[1]?.calls).toEqual([{ id: undefined, name: "ls" }]);
		expect(transcript.messages[2]).toMatchObject({ role: "tool", results: [{ callId: undefined }] });
		expect(groupMessages(transcript, pairResults(transcript)).map((group) => group.messages)).toEqual([
			[0],
			[1, 2],
			[3],
		]);
	});

	it("drops the older call and its answer together", async () => {
		const conversation = [
			{ role: "assistant", content: null, function_call: { name: "ls", arguments: "{}" } },
			{ role: "function", name: "ls", content: outputOf("files") },
			{ role: "user", content: "Well?" },
		];
		const policy = policyOf({ preset: "context-guard" });
		const outcome = await guardConversation({ conversation, policy, contextWindow: 8_192 + 50 });
		expect(outcome.conversation).toEqual(conversation.slice(2));
	});

	it("pairs results that name their call in a list, as SWE-agent keeps its history", async () => {
		const call = (id: string) => ({ id, type: "function", function: { name: "ls", arguments: "{}" } });
		const turn = (id: string, content: string) => [
			{ role: "assistant", content: "Hm.", thought: "Hm.", action: "ls", agent: "main", tool_calls: [call(id)] },
			{ role: "tool", content, agent: "main", message_type: "observation", tool_call_ids: [id] },
		];
		const conversation = [...turn("a", outputOf("a")), ...turn("b", "ok")];
		const outcome = await maskConversation({ conversation, policy: policyOf({ mask: { window_turns: 1 } }) });
		expect(outcome.edits.map(({ path }) => path)).toEqual(["/1/content"]);
		const ids = [[], [7], "a", undefined].map((tool_call_ids) => ({ role: "tool", content: "x", tool_call_ids }));
		for (const message of ids) expect(read(message).messages[0]?.results[0]?.callId).toBeUndefined();
	});

	it("reads custom tool calls", () => {
		const call = { id: "a", type: "custom", custom: { name: "run", input: "print(1)" } };
		const [message] = read({ role: "assistant", tool_calls: [call] }).messages;
		expect(message?.calls).toEqual([{ id: "a", name: "run" }]);
		expect(message?.counted).toContain("print(1)");
	});

	it("counts arguments that are an object, as some endpoints send them", () => {
		const call = { id: "a", function: { name: "run", arguments: { code: 1 } } };
		expect(read({ role: "assistant", tool_calls: [call] }).messages[0]?.counted).toContain('{"code":1}');
	});

	it.each(["reasoning_content", "reasoning", "thinking"])("counts the plain reasoning in `%s`, once", (key) => {
		const both = { role: "assistant", content: "x", reasoning: "Hm.", [key]: "Hm." };
		expect(read(both).messages[0]?.counted).toEqual(["Hm.", "x"]);
		const details = { ...both, reasoning_details: [{ type: "reasoning.text", text: "Hm." }] };
		expect(read(details).messages[0]?.counted).toEqual(["Hm.", "x"]);
	});

	it.each([null, undefined, []])("tool_calls %j are no calls", (toolCalls) => {
		expect(read({ role: "assistant", content: "x", tool_calls: toolCalls }).messages[0]?.calls).toEqual([]);
	});

	it.each([null, undefined, "", []])("content %j counts nothing", (content) => {
		expect(read({ role: "user", content }).messages[0]?.counted.join("")).toBe("");
	});

	it("counts refusals, reasoning, names and opaque parts", () => {
		const [message] = read({
			role: "assistant",
			name: "Ann",
			refusal: "No.",
			reasoning_content: "Hm.",
			content: [
				{ type: "text", text: "Hi" },
				{ type: "input_audio", input_audio: { data: "AA", format: "wav" } },
				{ type: "x_chart", x_chart: { data: "AA" } },
			],
		}).messages;
		expect(message?.counted).toEqual(
			expect.arrayContaining(["Ann", "No.", "Hm.", "Hi", '{"type":"x_chart","x_chart":{"data":"AA"}}']),
		);
	});
});
