import { describe, expect, it } from "vitest";
import { readConversation } from "../../src/formats/detect.ts";
import { pydanticAi } from "../../src/formats/frameworks.ts";
import { maskConversation } from "../../src/operations/mask.ts";
import { policyOf } from "../support/policy-of.ts";
import { outputOf } from "../support/sample-text.ts";

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
		const { report, error } = await maskConversation({ conversation, policy: policyOf({ mask: { window_turns: 2 } }) });
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
