import { describe, expect, it } from "vitest";
import { readConversation } from "../../src/formats/detect.ts";
import { readRecording } from "../../src/formats/recording.ts";

const stream = (...events: readonly (readonly [string, unknown])[]) =>
	events.map(([name, data]) => `event: ${name}\ndata: ${JSON.stringify(data)}\n\n`).join("");
const messagesOf = (text: string) => readConversation(readRecording(text)?.conversation).transcript.messages;

describe("event streams", () => {
	it("puts the pieces of messages together, and pairs results without an id", () => {
		const call = { name: "look", args: { path: "a" }, id: "" };
		const text = stream(
			["message_chunk", { id: "u", role: "user", content: "Look." }],
			["message_chunk", { id: "m", role: "assistant", content: "Let me " }],
			["message_chunk", { id: "m", role: "assistant", content: "see." }],
			["tool_calls", { id: "m", role: "assistant", tool_calls: [call], tool_call_chunks: [{ args: '{"path":"a"}' }] }],
			["tool_call_result", { id: "r", role: "assistant", content: "found", tool_call_id: "" }],
		);
		expect(readRecording(text)?.kind).toBe("event stream");
		const messages = messagesOf(`: a comment\n\n${text}data: [DONE]\n\n`);
		expect(messages.map(({ role }) => role)).toEqual(["user", "assistant", "tool"]);
		expect(messages[1]).toMatchObject({ counted: ["look", '{"path":"a"}', "Let me see."] });
		expect(messages[2]?.results[0]?.callId).toBe(messages[1]?.calls[0]?.id);
	});

	it("joins the messages that each node added, without messages of other graphs", () => {
		const call = { name: "look", args: {}, id: "a", type: "tool_call" };
		const text = stream(
			["metadata", { run_id: "r" }],
			["updates", { model: { messages: [{ type: "ai", content: "I look.", tool_calls: [call] }] } }],
			["updates|tools:1", { model: { messages: [{ type: "ai", content: "Elsewhere." }] } }],
			["updates", { tools: { messages: [{ type: "tool", content: "found", tool_call_id: "a" }] }, other: null }],
		);
		const messages = messagesOf(text);
		expect(messages.map(({ role }) => role)).toEqual(["assistant", "tool"]);
		expect(messages[1]?.results).toMatchObject([{ callId: "a" }]);
	});

	it("joins the arguments of a call that come in chunks, and pairs results by their id", () => {
		const chunk = (args: string) =>
			["tool_call_chunks", { id: "m", role: "assistant", tool_call_chunks: [{ args }] }] as const;
		const text = stream(
			[
				"tool_calls",
				{
					id: "m",
					role: "assistant",
					tool_calls: [{ name: "look", args: {}, id: "a" }],
					tool_call_chunks: [{ args: "" }],
				},
			],
			chunk('{"path":'),
			chunk('"a"}'),
			["tool_call_result", { role: "assistant", content: "found", tool_call_id: "a" }],
		);
		const [answer, result] = messagesOf(text);
		expect(answer).toMatchObject({
			calls: [{ id: "a", name: "look" }],
			counted: expect.arrayContaining(['{"path":"a"}']),
		});
		expect(result?.results).toMatchObject([{ callId: "a" }]);
	});

	it("reads the last state, or the messages that a LangGraph server sends", () => {
		const human = { type: "human", content: "Look.", id: "h" };
		const ai = (content: string) => ({ type: "ai", content, id: "m" });
		const states = stream(
			["values", { messages: [human] }],
			["values", { messages: [human, ai("Done.")] }],
			["end", null],
		);
		const partial = stream(
			["messages/complete", [human]],
			["messages/partial", [ai("Do")]],
			["messages/partial", [ai("Done.")]],
		);
		const pieces = stream(["messages", [human, {}]], ["messages", [ai("Do"), {}]], ["messages", [ai("ne."), {}]]);
		for (const text of [states, partial, pieces]) {
			expect(messagesOf(text).map(({ counted }) => counted)).toEqual([["Look."], ["Done."]]);
		}
	});

	it.each(["", "plain text", "{", '{"data": 1}', "event: x\ndata: y\n\n", "key: value\n"])("%j is none", (text) => {
		expect(readRecording(text)).toBeUndefined();
	});
});
