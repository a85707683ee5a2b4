import { describe, expect, it } from "vitest";
import { readConversation } from "../../src/formats/detect.ts";
import { openaiAgents } from "../../src/formats/frameworks.ts";
import { guardConversation } from "../../src/operations/guard.ts";
import { maskConversation } from "../../src/operations/mask.ts";
import { policyOf } from "../support/policy-of.ts";
import { outputOf } from "../support/sample-text.ts";

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
