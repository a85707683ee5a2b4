import { describe, expect, it } from "vitest";
import { readConversation } from "../../src/formats/detect.ts";
import { explainedBy } from "../../src/formats/explained.ts";
import { mask } from "../../src/library.ts";
import { outputOf } from "../support/sample-text.ts";
import { toolTurn, user, writeMessages } from "../support/script.ts";

const texts = [0, 1, 2, 3].map((number) => outputOf(`o${number}`));

/** A conversation of a shape that is no format, with its words, calls and results at other places. */
const foreign: readonly (readonly [string, readonly unknown[]])[] = [
	[
		"Claude Code's records around other messages",
		texts.flatMap((text, index) => [
			{ type: "assistant", uuid: `a${index}`, sessionId: "s", message: { role: "assistant", steps: [{ say: text }] } },
			{ type: "tool_result", uuid: `r${index}`, sessionId: "s", message: { role: "user", output: text } },
		]),
	],
	[
		"Chat Completions with its results in another member",
		texts.flatMap((text, index) => [
			{
				role: "assistant",
				content: null,
				tool_calls: [{ id: `c${index}`, type: "function", function: { name: "ls" } }],
			},
			{ role: "tool", tool_call_id: `c${index}`, output: text },
		]),
	],
	[
		"Anthropic Messages with its results in another member",
		texts.flatMap((text, index) => [
			{ role: "assistant", content: [{ type: "tool_use", id: `c${index}`, name: "ls", input: {} }] },
			{ role: "user", content: [{ type: "tool_result", tool_use_id: `c${index}`, run: { output: text } }] },
		]),
	],
	[
		"messages with calls and results in lists of their own",
		texts.flatMap((text, index) => [
			{ role: "user", segments: [{ type: "text", text }] },
			{
				role: "assistant",
				tool_uses: [{ id: `c${index}` }],
				tool_results: [{ tool_use_id: `c${index}`, content: text }],
			},
		]),
	],
	[
		"UI messages with other names of parts",
		texts.flatMap((text, index) => [
			{ role: "assistant", parts: [{ type: "function-use", id: `c${index}`, about: text }] },
			{ role: "tool", parts: [{ type: "function-result", id: `c${index}`, body: text }] },
		]),
	],
];

describe("a list that a format explains by less than half", () => {
	it.each(foreign)("is not taken for that format: %s", (_, messages) => {
		expect(() => readConversation(messages)).toThrow(/only \d+ of the \d+ characters in them can be read that way/);
	});

	it.each(foreign)("is not quoted: %s", (_, messages) => {
		expect(() => readConversation(messages)).not.toThrow(/quick brown fox/);
	});
});

describe("a list that is read", () => {
	const conversation = writeMessages("openai-chat", [
		user("Go."),
		...texts.flatMap((text, index) => toolTurn(`c${index}`, text)),
	]);
	/** What SWE agents keep beside each result is no part of the request. */
	const withRaw = conversation.map((message) => ({ ...message, extra: { raw_output: outputOf("raw") } }));

	it("is explained with any other values in its records", () => {
		const { transcript, located } = readConversation(withRaw);
		const { read, all } = explainedBy(transcript, located);
		expect(read / all).toBeGreaterThan(0.8);
	});

	it("stays readable after its results were masked", async () => {
		const masked = await mask(withRaw, { policy: { mask: { window_turns: 1 } } });
		expect(masked.report.masked_tool_results).toBe(3);
		expect(readConversation(masked.conversation).format.name).toBe("openai-chat");
	});

	it("is explained without any call if it has none", () => {
		const { transcript, located } = readConversation([{ role: "user", content: outputOf("question") }]);
		expect(explainedBy(transcript, located)).toEqual({ read: 0, all: 0 });
	});
});
