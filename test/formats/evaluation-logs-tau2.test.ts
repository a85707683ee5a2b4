import { describe, expect, it } from "vitest";
import { groupMessages, pairResults, toolTurns } from "../../src/engine/conversation/turns.ts";
import { locateMessages, readConversation } from "../../src/formats/detect.ts";
import { tau2 } from "../../src/formats/evaluation-logs.ts";
import { maskConversation } from "../../src/operations/mask.ts";
import { policyOf } from "../support/policy-of.ts";
import { outputOf } from "../support/sample-text.ts";

const masking = policyOf({ mask: { window_turns: 1 } });
const call = (id: string, requestor: string, name = "look_up") => ({
	role: requestor,
	content: null,
	tool_calls: [{ id, name, arguments: { user_id: "u" }, requestor }],
	turn_idx: 1,
	cost: 0.1,
	usage: { prompt_tokens: 534 },
	raw_data: { message: { content: "a copy that no model is sent" } },
});
const result = (id: string, requestor: string, content: unknown, error = false) => ({
	id,
	role: "tool",
	content,
	requestor,
	error,
});

describe("tau2-bench trajectories", () => {
	const conversation = [
		{ role: "user", content: "My phone is broken.", tool_calls: null },
		call("u1", "user"),
		result("u1", "user", outputOf("the user's phone")),
		call("a1", "assistant"),
		result("a1", "assistant", outputOf("first")),
		call("a2", "assistant"),
		result("a2", "assistant", "ok"),
	];
	const { transcript } = readConversation(conversation);

	it("pairs the calls of the user's side, which are not tool turns", () => {
		expect(pairResults(transcript).map(({ caller }) => caller)).toEqual([1, 3, 5]);
		expect(toolTurns(transcript)).toEqual([3, 5]);
		expect(groupMessages(transcript, pairResults(transcript)).map(({ messages }) => messages)).toEqual([
			[0],
			[1, 2],
			[3, 4],
			[5, 6],
		]);
	});

	it("never masks results for the user's side", async () => {
		const { edits } = await maskConversation({ conversation, policy: masking });
		expect(edits.map(({ path }) => path)).toEqual(["/4/content"]);
	});

	it("counts only the content sent to a model, not the simulator's records", () => {
		expect(transcript.messages[1]?.counted.join("")).toBe('look_up{"user_id":"u"}');
	});

	it("reads several results in one message, each with its own id and error", () => {
		const together = {
			role: "tool",
			tool_messages: [result("a", "assistant", "A"), result("b", "assistant", "B", true), null, "?"],
		};
		const located = locateMessages([{ role: "assistant", tool_calls: [] }, together]);
		expect(tau2.probe(located).fit).toBe("certain");
		const results = tau2.read(located).messages[1]?.results;
		expect(results?.map(({ callId, isError }) => [callId, isError])).toEqual([
			["a", false],
			["b", true],
		]);
		expect(results?.[1]?.whole?.path).toEqual([1, "tool_messages", 1, "content"]);
	});

	it.each([
		[{ role: "assistant", tool_calls: [{ id: "a", function: { name: "ls", arguments: "{}" } }] }],
		[{ role: "assistant", tool_calls: [{ id: "a", function: "ls", arguments: {} }] }],
		[{ role: "assistant", tool_calls: [{ id: "a", name: "ls", args: {} }] }],
		[{ role: "assistant", tool_calls: {} }],
		[{ role: "tool", tool_call_id: "a", content: "x" }],
		[{ role: "assistant", content: [{ type: "text", text: "x" }] }],
		[{ role: "user", parts: [] }],
	])("does not match %j", (message) => {
		expect(tau2.probe(locateMessages([call("a", "assistant"), message]))).toMatchObject({ fit: "none", message: 1 });
	});
});
