import { describe, expect, it } from "vitest";
import { maskConversation } from "../../src/operations/mask.ts";
import { policyOf } from "../support/policy-of.ts";
import { resultContents } from "../support/raw-conversation.ts";
import { outputOf } from "../support/sample-text.ts";
import { calls, type JsonMessage, openaiMessages, results, toolTurn } from "../support/script.ts";

const lastTurn = toolTurn("call_last", "ok", "last");

async function firstResult(messages: readonly JsonMessage[]) {
	const policy = policyOf({ mask: { window_turns: 1 } });
	const { conversation, report } = await maskConversation({ conversation: messages, policy });
	return { content: resultContents(conversation)[0], report };
}

describe("Which results may be masked (docs/strategies.md#eligibility)", () => {
	it("masks a tool result of a turn that is older than the last `window_turns` turns", async () => {
		const { content } = await firstResult(openaiMessages(toolTurn("call_1", outputOf("one")), lastTurn));
		expect(content).toMatch(/^\[Observation masquée/);
	});

	it("leaves an orphan: a result with an id that no call has", async () => {
		const orphan = openaiMessages(results({ id: "ghost", content: outputOf("orphan") }));
		const messages = [...orphan, ...openaiMessages(toolTurn("call_1", "ok"), lastTurn)];
		const { content, report } = await firstResult(messages);
		expect(content).toBe(outputOf("orphan"));
		expect(report.kept.orphan).toBe(1);
	});

	it("a later call does not adopt an earlier result", async () => {
		const early = openaiMessages(results({ id: "call_1", content: outputOf("early") }));
		const { content } = await firstResult([...early, ...openaiMessages(toolTurn("call_1", "ok"), lastTurn)]);
		expect(content).toBe(outputOf("early"));
	});

	it.each([
		["absent", undefined],
		["empty", ""],
		["a number", 7],
		["null", null],
	])("leaves a result with the tool_call_id %s", async (_, id) => {
		const [call, result] = openaiMessages(toolTurn("call_1", outputOf("one")));
		const { tool_call_id: _old, ...rest } = result ?? {};
		const changed = id === undefined ? rest : { ...rest, tool_call_id: id };
		const { content } = await firstResult([call as JsonMessage, changed, ...openaiMessages(lastTurn)]);
		expect(content).toBe(outputOf("one"));
	});

	it.each([
		[
			"a list with an image",
			[
				{ type: "text", text: outputOf("one") },
				{ type: "image_url", image_url: { url: "x" } },
			],
		],
		["an object", { stdout: outputOf("one") }],
		["null", null],
		["an empty list", []],
		["a list of texts", [outputOf("one"), outputOf("two")]],
		["a list of objects", [{ path: "a.ts", text: outputOf("one") }, { path: "b.ts" }]],
		["a list of text parts and others", [{ type: "text", text: outputOf("one") }, { page: 2 }, null, [1]]],
		["a number", 12],
	])("leaves content that is not text: %s", async (_, value) => {
		const { content, report } = await firstResult(openaiMessages(toolTurn("call_1", value), lastTurn));
		expect(content).toBe(value);
		expect(report.kept.not_text).toBe(1);
	});

	it("masks a list of only text parts as one part, with the fields of the first", async () => {
		const value = [
			{ type: "text", text: outputOf("one"), cache_control: { type: "ephemeral" } },
			{ type: "text", text: outputOf("two") },
		];
		const { content } = await firstResult(openaiMessages(toolTurn("call_1", value, "cat"), lastTurn));
		const characters = outputOf("one").length + outputOf("two").length;
		const text = `[Observation masquée: résultat d'outil ancien (tool_call_id=call_1, outil=cat, chars=${characters})]`;
		expect(content).toEqual([{ type: "text", text, cache_control: { type: "ephemeral" } }]);
	});

	it("never makes a message larger: content with no more tokens than its placeholder stays", async () => {
		const { content, report } = await firstResult(openaiMessages(toolTurn("call_1", "a short answer"), lastTurn));
		expect(content).toBe("a short answer");
		expect(report.kept.not_smaller).toBe(1);
	});

	it("leaves an empty result", async () => {
		const { content } = await firstResult(openaiMessages(toolTurn("call_1", ""), lastTurn));
		expect(content).toBe("");
	});

	it("a result belongs to the nearest preceding turn that has its id", async () => {
		const messages = openaiMessages(
			toolTurn("same", outputOf("first"), "read_file"),
			toolTurn("call_2", outputOf("second"), "cat"),
			toolTurn("same", outputOf("third"), "write_file"),
			lastTurn,
		);
		const policy = policyOf({ mask: { window_turns: 2 } });
		const { conversation } = await maskConversation({ conversation: messages, policy });
		const contents = resultContents(conversation);
		expect(contents[0]).toContain("outil=read_file");
		expect(contents[1]).toContain("outil=cat");
		// A map from id to first call would put the third result into the first, masked turn.
		expect(contents[2]).toBe(outputOf("third"));
	});

	it("parallel calls with an id that an earlier turn used stay in their own turn", async () => {
		const messages = openaiMessages(
			toolTurn("same", outputOf("first")),
			calls({ id: "same", name: "cat" }, { id: "other", name: "ls" }),
			results({ id: "other", content: outputOf("other") }, { id: "same", content: outputOf("again") }),
			lastTurn,
		);
		const { conversation } = await maskConversation({
			conversation: messages,
			policy: policyOf({ mask: { window_turns: 2 } }),
		});
		expect(resultContents(conversation).map((content) => String(content).slice(0, 5))).toEqual([
			"[Obse",
			"other",
			"again",
			"ok",
		]);
	});
});
