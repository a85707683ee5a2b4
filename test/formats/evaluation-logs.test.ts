import { describe, expect, it } from "vitest";
import { groupMessages, pairResults, toolTurns } from "../../src/engine/conversation/turns.ts";
import { locateMessages, readConversation } from "../../src/formats/detect.ts";
import { inspect, tau2 } from "../../src/formats/evaluation-logs.ts";
import { maskConversation } from "../../src/operations/mask.ts";
import { policyOf } from "../support/policy-of.ts";
import { outputOf } from "../support/sample-text.ts";

const call = { id: "a", function: "bash", arguments: { cmd: "ls" } };
const read = (...messages: unknown[]) =>
	readConversation([{ role: "assistant", content: "", tool_calls: [call] }, ...messages]).transcript.messages;

describe("Inspect AI messages", () => {
	it("is identified by the `source` of a message, even without calls", () => {
		const messages = [
			{ id: "m1", role: "user", source: "input", content: "Hello" },
			{ id: "m2", role: "assistant", source: "generate", content: "Hi", model: "some-model" },
		];
		expect(readConversation(messages).format).toBe(inspect);
		expect(inspect.probe(locateMessages([{ role: "user", content: "Hello", source: "web" }])).fit).toBe("none");
	});

	it("reads calls with objects as arguments", () => {
		const [message] = read();
		expect(message?.calls).toEqual([{ id: "a", name: "bash" }]);
		expect(message?.counted.join("")).toBe('bash{"cmd":"ls"}');
	});

	it("a result with an `error` has failed, and the model sees its message", () => {
		const error = { type: "timeout", message: "Took too long." };
		const [, failed, fine] = read(
			{ role: "tool", tool_call_id: "a", function: "bash", content: "", error },
			{ role: "tool", tool_call_id: "a", function: "bash", content: "fine", error: null },
		);
		expect(failed?.results[0]?.isError).toBe(true);
		expect(failed?.counted).toContain("Took too long.");
		expect(fine?.results[0]?.isError).toBeUndefined();
	});

	it("reads reasoning, tied to its place when signed or redacted", () => {
		const [, message] = read({
			role: "assistant",
			content: [
				{ type: "reasoning", reasoning: "Hm." },
				{ type: "reasoning", reasoning: "Hm!", signature: "c2ln" },
				{ type: "reasoning", reasoning: "b3BhcXVl", redacted: true },
				{ type: "text", text: "Done." },
			],
		});
		expect(message?.thinking.map(({ text, bound, path }) => [text, bound, path])).toEqual([
			["Hm.", false, [1, "content", 0]],
			["Hm!", true, [1, "content", 1]],
			["b3BhcXVl", true, [1, "content", 2]],
		]);
		expect(message?.counted.filter(Boolean)).toEqual(["Hm.", "Hm!", "b3BhcXVl", "Done."]);
	});

	it("reads the reasoning of older logs", () => {
		expect(read({ role: "assistant", content: "Done.", reasoning: "Hm." })[1]?.counted).toContain("Hm.");
	});

	it("a tool run by the provider is opaque: its call, arguments and result are counted", () => {
		const part = { type: "tool_use", tool_type: "web_search", id: "s", name: "search", arguments: "{}", result: "[1]" };
		const [, message] = read({ role: "assistant", content: [part, { type: "data", data: { x: 1 } }] });
		expect(message?.calls).toEqual([]);
		expect(message?.counted).toEqual(expect.arrayContaining(["search", "{}", "[1]", '{"type":"data","data":{"x":1}}']));
	});

	it.each([
		[{ type: "image", image: "data:image/png;base64,AAAA" }, "image", "image/png"],
		[{ type: "image", image: "https://example.org/cat" }, "image", undefined],
		[{ type: "audio", audio: "AAAA", format: "mp3" }, "audio", "audio/mp3"],
		[{ type: "video", video: "AAAA", format: "mp4" }, "video", "video/mp4"],
		[{ type: "document", document: "AAAA", mime_type: "application/pdf" }, "document", "application/pdf"],
	])("reads %j in a result", (part, kind, mediaType) => {
		const [, message] = read({ role: "tool", tool_call_id: "a", content: [{ type: "text", text: "x" }, part] });
		expect(message?.results[0]?.media).toMatchObject([{ path: [1, "content", 1], kind, mediaType }]);
		expect(message?.results[0]?.whole).toBeUndefined();
		expect(message?.mediaTokens).toBe(message?.results[0]?.media[0]?.tokens);
		expect(message?.counted.join("")).toBe("");
	});

	it.each([
		[{ role: "assistant", tool_calls: [{ id: "a", function: { name: "ls", arguments: "{}" } }] }],
		[{ role: "assistant", tool_calls: [{ id: "a", name: "ls", arguments: {} }] }],
		[{ role: "assistant", tool_calls: "x" }],
		[{ role: "user", content: [{ type: "image_url" }] }],
		[{ role: "user", content: ["x"] }],
		[{ role: "user", content: {} }],
		[{ role: "user", parts: [] }],
	])("does not match %j", (message) => {
		const own = { role: "assistant", content: "", tool_calls: [call] };
		expect(inspect.probe(locateMessages([own, message]))).toMatchObject({ fit: "none", message: 1 });
	});
});

describe("tau2", () => {
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
});
