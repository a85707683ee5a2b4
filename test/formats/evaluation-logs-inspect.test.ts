import { describe, expect, it } from "vitest";
import { locateMessages, readConversation } from "../../src/formats/detect.ts";
import { inspect } from "../../src/formats/evaluation-logs.ts";

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
