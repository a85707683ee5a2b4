import { describe, expect, it } from "vitest";
import { mcpSampling } from "../../src/formats/anthropic.ts";
import { locateMessages, readConversation } from "../../src/formats/detect.ts";
import { maskConversation } from "../../src/operations/mask.ts";
import { policyOf } from "../support/policy-of.ts";
import { outputOf } from "../support/sample-text.ts";

const use = (id: string) => ({ type: "tool_use", id, name: "ls", input: {} });
const answer = (id: string, more: object = {}) => ({
	type: "tool_result",
	toolUseId: id,
	content: [{ type: "text", text: outputOf(id) }],
	...more,
});
const user = (content: unknown) => ({ role: "user", content });
const assistant = (content: unknown) => ({ role: "assistant", content });
const fitOf = (...messages: unknown[]) => mcpSampling.probe(locateMessages(messages)).fit;

describe("MCP sampling messages", () => {
	it("wins over Anthropic Messages when a result names its call by `toolUseId`", () => {
		const text = [{ type: "text", text: "Go." }];
		expect(readConversation([user(text), assistant([use("a")]), user([answer("a")])]).format).toBe(mcpSampling);
		expect(readConversation([user(text), assistant([use("a")])]).format.name).toBe("anthropic-messages");
	});

	it("reads calls and results that are the only block of their message", () => {
		const { messages } = readConversation([assistant(use("a")), user(answer("a"))]).transcript;
		expect(messages[0]?.calls).toEqual([{ id: "a", name: "ls" }]);
		expect(messages[1]?.results[0]).toMatchObject({ callId: "a", whole: { path: [1, "content", "content"] } });
	});

	it("does not mask a result with structured content, but can cut its long strings", async () => {
		const structuredContent = { lines: 3, output: outputOf("structured") };
		const conversation = [
			assistant([use("a")]),
			user([answer("a", { structuredContent })]),
			assistant([use("b")]),
			user([answer("b")]),
		];
		const outcome = await maskConversation({ conversation, policy: policyOf({ mask: { window_turns: 1 } }) });
		expect(outcome.conversation).toBe(conversation);
		expect(outcome.report.kept.not_text).toBe(1);
		const result = readConversation(conversation).transcript.messages[1];
		expect(result?.results[0]?.texts.map(({ path }) => path.slice(3))).toEqual([
			["content", 0, "text"],
			["structuredContent", "output"],
		]);
		expect(result?.counted).toEqual(['{"lines":3,"output":""}']);
	});

	it("reads images, recordings and embedded resources", () => {
		const text = outputOf("resource");
		const content = [
			{ type: "image", data: "AAAA", mimeType: "image/png" },
			{ type: "audio", data: "AAAA", mimeType: "audio/wav" },
			{ type: "resource", resource: { uri: "file:///a.pdf", mimeType: "application/pdf", blob: "AAAA" } },
			{ type: "resource", resource: { uri: "file:///a.txt", text } },
			{ type: "resource_link", uri: "file:///b.txt", name: "b" },
		];
		const [message] = readConversation([user([answer("a", { content })])]).transcript.messages;
		const [result] = message?.results ?? [];
		expect(result?.media.map(({ kind }) => kind)).toEqual(["image", "audio", "document"]);
		expect(result?.texts).toEqual([{ path: [0, "content", 0, "content", 3, "resource", "text"], text }]);
		expect(message?.counted.join("")).not.toContain("AAAA");
		expect(message?.counted.join("")).toContain("file:///b.txt");
	});

	it("counts media outside of results", () => {
		const [message] = readConversation([user({ type: "image", data: "AAAA", mimeType: "image/png" })]).transcript
			.messages;
		expect(message?.mediaTokens).toBeGreaterThan(200);
	});

	it("does not match messages of other formats", () => {
		const own = user({ type: "text", text: "x" });
		expect(fitOf(own)).toBe("certain");
		for (const content of [
			"x",
			null,
			undefined,
			["x"],
			[{ type: "thinking" }],
			[{ type: "tool_result", tool_use_id: "a" }],
			[{ type: "image", source: { type: "base64" } }],
			{ text: "x" },
		]) {
			expect(mcpSampling.probe(locateMessages([own, user(content)]))).toMatchObject({ fit: "none", message: 1 });
		}
	});
});
