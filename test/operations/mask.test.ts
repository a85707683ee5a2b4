import { describe, expect, it } from "vitest";
import type { LogEvent } from "../../src/log.ts";
import { maskConversation } from "../../src/operations/mask.ts";
import { policyOf } from "../support/policy-of.ts";
import { outputOf } from "../support/sample-text.ts";
import { openaiMessages, results, toolTurn, user } from "../support/script.ts";

const policy = policyOf({ mask: { window_turns: 1 } });

const text = outputOf("one");

const messages = openaiMessages(user("Go."), toolTurn("call/1~", text, "cat"), toolTurn("b", "ok"));

const placeholder = `[Observation masquée: résultat d'outil ancien (tool_call_id=call/1~, outil=cat, chars=${text.length})]`;

describe("maskConversation", () => {
	it("reports each edit as plain JSON, with a JSON Pointer into the input", async () => {
		const { edits } = await maskConversation({ conversation: { messages }, policy });
		expect(edits).toMatchObject([
			{
				kind: "replace",
				path: "/messages/2/content",
				reason: "mask",
				message: 2,
				before: { chars: text.length, tokens: expect.any(Number) },
				after: { chars: placeholder.length, tokens: expect.any(Number) },
				tool_call_id: "call/1~",
				tool_name: "cat",
				replacement: placeholder,
			},
		]);
		expect(JSON.parse(JSON.stringify(edits))).toEqual(edits);
	});

	it("reports the encoding: the policy's, else the one of the model in the body, else o200k_base", async () => {
		const encodingOf = async (conversation: unknown, tokens = {}) =>
			(await maskConversation({ conversation, policy: policyOf({ tokens }) })).report.encoding;
		expect(await encodingOf(messages)).toBe("o200k_base");
		expect(await encodingOf({ model: "gpt-4", messages })).toBe("cl100k_base");
		expect(await encodingOf({ model: "gpt-4", messages }, { encoding: "o200k_base" })).toBe("o200k_base");
		expect(await encodingOf({ model: "claude-sonnet-4-5", messages })).toBe("o200k_base");
	});

	it("counts why results outside the window were kept", async () => {
		const conversation = [
			...openaiMessages(results({ id: "ghost", content: text }), toolTurn("a", null), toolTurn("b", "short")),
			...openaiMessages(toolTurn("c", placeholder), toolTurn("d", `Traceback ${text}`), toolTurn("e", "ok")),
		];
		const { report } = await maskConversation({ conversation, policy });
		expect(report.kept).toEqual({
			orphan: 1,
			not_text: 1,
			already_masked: 1,
			last_of_its_tool: 0,
			error: 1,
			not_smaller: 1,
		});
	});

	it("logs one line for all maskings, at info, with sizes but no text", async () => {
		const events: LogEvent[] = [];
		await maskConversation({ conversation: messages, policy, log: (event) => events.push(event) });
		expect(events).toEqual([
			{
				level: "info",
				message: `Masked 1 old tool results (${text.length} → ${placeholder.length} chars)`,
				data: { event: "masked", results: 1, chars_before: text.length, chars_after: placeholder.length },
			},
		]);
	});

	it("an empty conversation has no messages", async () => {
		const empty: unknown[] = [];
		const { conversation, report } = await maskConversation({ conversation: empty, policy });
		expect(conversation).toBe(empty);
		expect(report).toMatchObject({
			changed: false,
			messages: { before: 0, after: 0 },
			tokens: { before: 0, after: 0 },
		});
	});

	it("rejects input that is not a conversation", async () => {
		await expect(maskConversation({ conversation: "text", policy })).rejects.toMatchObject({
			code: "not_a_conversation",
		});
	});

	it("special tokens in a text are plain text", async () => {
		const special = `<|endoftext|><|im_start|>${text}`;
		const conversation = openaiMessages(toolTurn("a", special), toolTurn("b", "ok"));
		expect((await maskConversation({ conversation, policy })).report.masked_tool_results).toBe(1);
	});
});
