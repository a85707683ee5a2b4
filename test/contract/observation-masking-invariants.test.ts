import { describe, expect, it } from "vitest";
import { maskConversation } from "../../src/operations/mask.ts";
import { deepFreeze } from "../support/deep-freeze.ts";
import { policyOf } from "../support/policy-of.ts";
import { outputOf } from "../support/sample-text.ts";
import { calls, type JsonMessage, openaiMessages, results, system, toolTurn, user } from "../support/script.ts";

const before = deepFreeze(
	openaiMessages(
		system("You are an agent."),
		user("Look around."),
		toolTurn("call_1", outputOf("one")),
		calls({ id: "call_2", name: "ls" }, { id: "call_3", name: "cat" }),
		results({ id: "call_3", content: outputOf("three") }, { id: "call_2", content: outputOf("two") }),
		user("Go on."),
		toolTurn("call_4", outputOf("four")),
	),
);

async function masked(): Promise<readonly JsonMessage[]> {
	const outcome = await maskConversation({ conversation: before, policy: policyOf({ mask: { window_turns: 1 } }) });
	expect(outcome.report.masked_tool_results).toBe(3);
	return outcome.conversation as JsonMessage[];
}

describe("What masking never changes (docs/strategies.md#invariants)", () => {
	it("keeps the number of messages", async () => {
		expect(await masked()).toHaveLength(before.length);
	});

	it("keeps the order of messages", async () => {
		const after = await masked();
		const kept = (message: JsonMessage) => ({ ...message, content: message.role === "tool" ? "" : message.content });
		expect(after.map(kept)).toEqual(before.map(kept));
	});

	it("keeps the call ids of results", async () => {
		const ids = (messages: readonly JsonMessage[]) => messages.map((message) => message.tool_call_id);
		expect(ids(await masked())).toEqual(ids(before));
	});

	it("keeps the tool calls, contents and ids", async () => {
		const after = await masked();
		for (const [index, message] of before.entries()) expect(after[index]?.tool_calls).toBe(message.tool_calls);
	});

	it("returns every message that is not a tool result as the same object", async () => {
		const after = await masked();
		for (const [index, message] of before.entries()) {
			if (message.role !== "tool") expect(after[index]).toBe(message);
		}
	});

	it("keeps the order of a masked message's keys and its unknown fields", async () => {
		const messages = openaiMessages(toolTurn("call_1", outputOf("one")), toolTurn("call_2", "ok"));
		messages[1] = { x_trace: { span: 7 }, ...messages[1], x_after: [1] };
		const outcome = await maskConversation({ conversation: messages, policy: policyOf({ mask: { window_turns: 1 } }) });
		const after = (outcome.conversation as JsonMessage[])[1];
		expect(Object.keys(after ?? {})).toEqual(["x_trace", "role", "tool_call_id", "content", "x_after"]);
		expect(after?.x_trace).toBe(messages[1]?.x_trace);
	});

	it("never changes the caller's conversation", async () => {
		const text = JSON.stringify(before);
		await masked();
		expect(JSON.stringify(before)).toBe(text);
	});
});
