import { describe, expect, it } from "vitest";
import { pickRange } from "../../../src/engine/compaction/range.ts";
import { calls, openaiMessages, results, toolTurn, user, writeMessages } from "../../support/script.ts";
import { transcriptFrom } from "../../support/transcripts.ts";

const script = [user("Go."), ...toolTurn("a", "1"), ...toolTurn("b", "2")];
const two = calls({ id: "c", name: "ls" }, { id: "d", name: "ls" });

const picked = (document: unknown) =>
	pickRange({ transcript: transcriptFrom(document), keepLastMessages: 0, pinTask: true })?.messages;

describe("calls of the last answer without a result", () => {
	it.each([
		["without any", [two], [1, 2, 3, 4]],
		["with one of two", [two, results({ id: "c", content: "3" })], [1, 2, 3, 4]],
		["with a word of the user after them", [two, user("Wait.")], [1, 2, 3, 4]],
		["with both", [two, results({ id: "c", content: "3" }, { id: "d", content: "4" })], [1, 2, 3, 4, 5, 6, 7]],
	])("stay, %s", (_, end, expected) => {
		expect(picked(openaiMessages(...script, ...end))).toEqual(expected);
	});

	it("stay too if the provider runs them", () => {
		const content = [{ type: "server_tool_use", id: "s", name: "web_search", input: {} }];
		const messages = [...writeMessages("anthropic-messages", script), { role: "assistant", content }];
		expect(picked(messages)).toEqual([1, 2, 3, 4]);
		const answered = [
			...messages,
			{ role: "assistant", content: [{ type: "web_search_tool_result", tool_use_id: "s" }] },
		];
		expect(picked(answered)).toEqual([1, 2, 3, 4, 5, 6]);
	});

	it("stay if each call is a message of its own", () => {
		const apart = [calls({ id: "c", name: "ls" }), calls({ id: "d", name: "ls" })];
		expect(picked(openaiMessages(...script, ...apart))).toEqual([1, 2, 3, 4]);
		expect(picked(openaiMessages(...script, ...apart, results({ id: "c", content: "3" })))).toEqual([1, 2, 3, 4]);
		expect(picked(openaiMessages(...script, ...apart, results({ id: "d", content: "4" })))).toEqual([1, 2, 3, 4]);
	});

	it("stay if neither calls nor results have ids", () => {
		const call = { type: "function", function: { name: "ls", arguments: "{}" } };
		const answer = { role: "assistant", content: null, tool_calls: [call, call] };
		const result = { role: "tool", content: "3" };
		const messages = openaiMessages(...script);
		expect(picked([...messages, answer, result])).toEqual([1, 2, 3, 4]);
		expect(picked([...messages, answer, result, result])).toEqual([1, 2, 3, 4, 5, 6, 7]);
	});

	it("are summarised if later answers follow", () => {
		expect(picked(openaiMessages(...script, two, user("Never mind."), ...toolTurn("e", "5")))).toHaveLength(8);
	});
});
