import { describe, expect, it } from "vitest";
import { groupMessages, pairResults } from "../../src/engine/conversation/turns.ts";
import { locateMessages, readConversation } from "../../src/formats/detect.ts";
import { vercelModel } from "../../src/formats/vercel-model.ts";
import { maskConversation } from "../../src/operations/mask.ts";
import { policyOf } from "../support/policy-of.ts";
import { outputOf } from "../support/sample-text.ts";

const masking = policyOf({ mask: { window_turns: 1, keep_errors: false } });
const call = (id: string, more: object = {}) => ({
	role: "assistant",
	content: [{ type: "tool-call", toolCallId: id, toolName: "ls", input: {}, ...more }],
});
const result = (id: string, more: object) => ({
	role: "tool",
	content: [{ type: "tool-result", toolCallId: id, toolName: "ls", ...more }],
});
const last = [call("last"), result("last", { output: { type: "text", value: "ok" } })];
const mask = async (more: object) => {
	const conversation = [call("a"), result("a", more), ...last];
	const outcome = await maskConversation({ conversation, policy: masking });
	const [, message] = outcome.conversation as [unknown, { content: [object] }];
	return { part: message.content[0], kept: outcome.report.kept };
};
const read = (...messages: unknown[]) => readConversation([...messages, ...last]).transcript.messages;
const placeholder = expect.stringMatching(/^\[Observation masquée/);

describe("Vercel AI SDK: outputs of v5 and later", () => {
	const value = outputOf("files");

	it.each([
		["text", value, placeholder],
		["error-text", value, placeholder],
		["json", value, placeholder],
		["error-json", value, placeholder],
		["content", [{ type: "text", text: value, x: 1 }], [{ type: "text", text: placeholder, x: 1 }]],
	])("masks %s and keeps its kind", async (type, before, after) => {
		const providerOptions = { anthropic: { cacheControl: { type: "ephemeral" } } };
		const { part } = await mask({ output: { type, value: before, providerOptions } });
		expect(part).toMatchObject({ output: { type, value: after, providerOptions } });
	});

	it.each([
		["json", null],
		["content", [{ type: "text", text: value }, { type: "custom" }]],
	])("does not mask %s that contains more than text", async (type, before) => {
		const { part, kept } = await mask({ output: { type, value: before } });
		expect(part).toMatchObject({ output: { type, value: before } });
		expect(kept.not_text).toBe(1);
	});

	it("long strings inside objects can be cut, and the rest is counted once", () => {
		const [, message] = read(call("a"), result("a", { output: { type: "json", value: { exit: 1, stdout: value } } }));
		expect(message?.results[0]?.texts).toEqual([{ path: [1, "content", 0, "output", "value", "stdout"], text: value }]);
		expect(message?.results[0]?.whole?.json?.rest).toEqual(['{"exit":1,"stdout":""}']);
		expect(message?.counted.join("")).toBe("");
	});

	it("an output of an error kind has failed; other kinds are undecided", () => {
		const flag = (type: string) =>
			read(call("a"), result("a", { output: { type, value: "x" } }))[1]?.results[0]?.isError;
		expect(["error-text", "error-json", "text", "json"].map(flag)).toEqual([true, true, undefined, undefined]);
	});

	it("a denied execution counts its reason and stays unchanged", async () => {
		const output = { type: "execution-denied", reason: "Not on my machine." };
		expect((await mask({ output })).part).toMatchObject({ output });
		expect(read(call("a"), result("a", { output }))[1]?.counted).toContain("Not on my machine.");
	});

	it.each([
		[{ type: "media", data: "AAAA", mediaType: "image/png" }, "image"],
		[{ type: "image-data", data: "AAAA", mediaType: "image/png" }, "image"],
		[{ type: "image-url", url: "https://example.org/a.png" }, "image"],
		[{ type: "image-file-id", fileId: "f1" }, "image"],
		[{ type: "file-data", data: "AAAA", mediaType: "application/pdf" }, "document"],
		[{ type: "file-url", url: "https://example.org/a.mp3", mediaType: "audio/mpeg" }, "audio"],
		[{ type: "file", mediaType: "image/png", data: { type: "data", data: "AAAA" } }, "image"],
	])("reads the media %j", (part, kind) => {
		const output = { type: "content", value: [{ type: "text", text: "x" }, part] };
		const [, message] = read(call("a"), result("a", { output }));
		expect(message?.results[0]?.media).toMatchObject([{ kind, path: [1, "content", 0, "output", "value", 1] }]);
		expect(message?.results[0]?.whole).toBeUndefined();
		expect(message?.counted.join("")).toBe("");
	});

	it("a list of files in a JSON output is not media", () => {
		const value = [{ type: "file", name: "a.txt", url: "https://example.org/a.txt" }];
		const [, message] = read(call("a"), result("a", { output: { type: "json", value } }));
		expect(message?.results[0]?.media).toEqual([]);
		expect(message?.results[0]?.whole?.json?.rest).toEqual([JSON.stringify(value[0])]);
	});

	it("base64 images in a JSON output are media, not text to cut", () => {
		const value = { content: [{ type: "image", data: "A".repeat(4_000), mimeType: "image/png" }] };
		const [, message] = read(call("a"), result("a", { output: { type: "json", value } }));
		expect(message?.results[0]?.media).toHaveLength(1);
		expect(message?.results[0]?.texts).toEqual([]);
		expect(message?.counted.join("")).toBe('{"content":[""]}');
	});
});

describe("Vercel AI SDK: CoreMessage of v4", () => {
	it("reads `args`, `result` and `isError`", async () => {
		const [message] = read(call("a", { input: undefined, args: { path: "x" } }));
		expect(message?.counted).toContain('{"path":"x"}');
		const { part } = await mask({ result: outputOf("files"), isError: true });
		expect(part).toMatchObject({ result: placeholder, isError: true });
		const flags = [true, false, undefined].map((isError) => read(call("a"), result("a", { result: "x", isError }))[1]);
		expect(flags.map((one) => one?.results[0]?.isError)).toEqual([true, false, undefined]);
	});

	it("an object is masked as a whole, and a string with the parts sent instead of it", async () => {
		expect((await mask({ result: { files: [outputOf("files")] } })).part).toMatchObject({ result: placeholder });
		const text = outputOf("files");
		const { part } = await mask({ result: text, experimental_content: [{ type: "text", text }] });
		expect(part).toMatchObject({ result: placeholder, experimental_content: [{ type: "text", text: placeholder }] });
	});
});

describe("Vercel AI SDK: messages", () => {
	it("a tool run by the provider has its result next to its call, in one turn", async () => {
		const inline = {
			role: "assistant",
			content: [
				{ type: "tool-call", toolCallId: "s", toolName: "search", input: {}, providerExecuted: true },
				{ type: "tool-result", toolCallId: "s", toolName: "search", output: { type: "text", value: outputOf("s") } },
				{ type: "text", text: "Found." },
			],
		};
		const { transcript } = readConversation([inline, ...last]);
		expect(pairResults(transcript)[0]).toMatchObject({ message: 0, caller: 0, call: { name: "search" } });
		const { edits } = await maskConversation({ conversation: [inline, ...last], policy: masking });
		expect(edits.map(({ path }) => path)).toEqual(["/0/content/1/output/value"]);
	});

	it("an approval belongs to the call that waited for it, and is not a maskable result", () => {
		const request = { type: "tool-approval-request", approvalId: "ok-1", toolCallId: "a" };
		const conversation = [
			{ role: "user", content: "Delete it." },
			{ role: "assistant", content: [...call("a").content, request] },
			{
				role: "tool",
				content: [{ type: "tool-approval-response", approvalId: "ok-1", approved: true, reason: "Sure." }],
			},
			result("a", { output: { type: "text", value: "gone" } }),
		];
		const { transcript } = readConversation(conversation);
		const groups = groupMessages(transcript, pairResults(transcript)).map(({ messages }) => messages);
		expect(groups).toEqual([[0], [1, 2, 3]]);
		expect(transcript.messages[2]?.results[0]?.whole).toBeUndefined();
		expect(transcript.messages[2]?.counted.join("")).toContain("Sure.");
	});

	it("reads reasoning: tied when signed, fixed when its provider requires it with the next part", () => {
		const content = [
			{ type: "reasoning", text: "a" },
			{ type: "reasoning", text: "b", providerOptions: { anthropic: { signature: "c2ln" } } },
			{ type: "reasoning", text: "c", signature: "c2ln" },
			{ type: "redacted-reasoning", data: "d" },
			{ type: "reasoning", text: "e", providerOptions: { openai: { itemId: "rs_1", reasoningEncryptedContent: "x" } } },
			{
				type: "tool-call",
				toolCallId: "f",
				toolName: "ls",
				input: {},
				providerOptions: { google: { thoughtSignature: "y" } },
			},
			{ type: "text", text: "g", providerOptions: { google: {} } },
		];
		const [message] = read({ role: "assistant", content });
		expect(message?.thinking.map(({ text, bound, fixed }) => [text, bound, fixed])).toEqual([
			["a", false, undefined],
			["b", true, undefined],
			["c", true, undefined],
			["d", true, undefined],
			["e", false, true],
			["", true, true],
		]);
		expect(message?.counted).toEqual(["a", "b", "c", "d", "e", "ls", "{}", "g"]);
	});

	it("counts files and images of messages by estimate", () => {
		const image = { role: "user", content: [{ type: "image", image: "data:image/png;base64,AAAA" }] };
		const file = { role: "user", content: [{ type: "file", data: "AAAA", mediaType: "application/pdf" }] };
		for (const message of read(image, file).slice(0, 2)) {
			expect(message.mediaTokens).toBeGreaterThan(200);
			expect(message.counted).toEqual([]);
		}
	});

	it.each([
		[{ type: "reasoning", text: "Hm." }],
		[{ type: "file", data: "AAAA", mediaType: "image/png" }],
		[{ type: "image", image: "https://example.org/a.png" }],
	])("identifies %j with certainty", (part) => {
		expect(readConversation([{ role: "assistant", content: [part] }]).format).toBe(vercelModel);
	});

	it.each([
		[{ role: "tool", content: "x" }],
		[{ role: "assistant", tool_calls: [{}] }],
		[{ role: "assistant", content: [{ type: "tool_use" }] }],
		[{ role: "assistant", content: [{}] }],
		[{ role: "assistant", content: {} }],
		[{ role: "user", content: "x", parts: [] }],
	])("does not match %j", (message) => {
		expect(vercelModel.probe(locateMessages([...last, message]))).toMatchObject({ fit: "none", message: 2 });
	});
});
