import { describe, expect, it } from "vitest";
import { readConversation } from "../../src/formats/read-conversation.ts";
import { guardConversation } from "../../src/pipeline/guard-conversation.ts";
import { maskConversation } from "../../src/pipeline/mask-conversation.ts";
import { policyOf } from "../support/policy-of.ts";
import { resultContents } from "../support/raw-conversation.ts";
import { outputOf } from "../support/sample-text.ts";
import { calls, type JsonMessage, results, toolTurn, user, writeMessages } from "../support/script.ts";

const blocksOf = (message: JsonMessage | undefined) => (message?.content ?? []) as unknown[];
const thinking = { type: "thinking", thinking: "Let me look.", signature: "c2lnbmF0dXJl" };
const redacted = { type: "redacted_thinking", data: "ZGF0YQ==" };

describe("Anthropic Messages", () => {
	it("thinking blocks are counted, without their signature, and never touched", async () => {
		const [call, result] = writeMessages("anthropic-messages", toolTurn("a", outputOf("a")));
		const thoughtful = { role: "assistant", content: [thinking, redacted, ...blocksOf(call)] };
		const conversation = [thoughtful, result, ...writeMessages("anthropic-messages", toolTurn("b", "ok"))];
		const { transcript } = readConversation(conversation);
		expect(transcript.messages[0]?.counted).toContain("Let me look.");
		expect(JSON.stringify(transcript.messages[0]?.counted)).not.toContain("c2lnbmF0dXJl");
		const outcome = await maskConversation({ conversation, policy: policyOf({ mask: { window_turns: 1 } }) });
		expect(outcome.report.masked_tool_results).toBe(1);
		expect((outcome.conversation as unknown[])[0]).toBe(thoughtful);
	});

	it("several results in one message are masked one by one; a text beside them stays", async () => {
		const [call, answer] = writeMessages("anthropic-messages", [
			calls({ id: "a", name: "ls" }, { id: "b", name: "cat" }),
			results({ id: "a", content: outputOf("a") }, { id: "b", content: `Traceback ${outputOf("b")}` }),
		]);
		const beside = { type: "text", text: outputOf("a word of the user") };
		const mixed = { ...answer, content: [beside, ...blocksOf(answer)] };
		const conversation = [call, mixed, ...writeMessages("anthropic-messages", toolTurn("c", "ok"))];
		const outcome = await maskConversation({ conversation, policy: policyOf({ mask: { window_turns: 1 } }) });
		const after = (outcome.conversation as { content: unknown[] }[])[1];
		expect(after?.content[0]).toBe(beside);
		expect(after?.content[2]).toBe(mixed.content[2]);
		expect(resultContents(outcome.conversation, "anthropic-messages")[0]).toMatch(/^\[Observation masquée/);
		expect(outcome.edits.map(({ path }) => path)).toEqual(["/1/content/1/content"]);
	});

	it("the first user message stays whatever the policy, since the API wants one first", async () => {
		const conversation = writeMessages("anthropic-messages", [
			user("Task."),
			...toolTurn("a", outputOf("a")),
			...toolTurn("b", "ok"),
		]);
		const policy = policyOf({ guard: { pin_task: false } });
		const outcome = await guardConversation({ conversation, policy, contextWindow: 8_193 });
		expect((outcome.conversation as unknown[])[0]).toBe(conversation[0]);
	});

	it("counts what server tools found: texts as such, what is encrypted and what is no text by estimate", () => {
		const sealed = Buffer.from(outputOf("page")).toString("base64");
		const found = { type: "web_search_result", url: "https://example.org", title: "T", encrypted_content: sealed };
		const fetched = (source: object) => ({ type: "web_fetch_result", content: { type: "document", source } });
		const costs = (type: string, content: unknown) => {
			const block = { type, tool_use_id: "s", content };
			const [message] = readConversation([{ role: "assistant", content: [block] }]).transcript.messages;
			expect(message?.results).toEqual([]);
			return { text: message?.counted.join("") ?? "", tokens: message?.mediaTokens ?? 0 };
		};
		const search = costs("web_search_tool_result", [found, found]);
		expect(search.text).not.toContain(sealed);
		expect(search.tokens).toBe(2 * Math.ceil(JSON.stringify(found).length / 4));
		const pdf = costs(
			"web_fetch_tool_result",
			fetched({ type: "base64", media_type: "application/pdf", data: sealed }),
		);
		expect(pdf.text).not.toContain(sealed);
		expect(pdf.tokens).toBe(3_000);
		const page = fetched({ type: "text", media_type: "text/plain", data: outputOf("page") });
		expect(costs("web_fetch_tool_result", page)).toEqual({
			text: expect.stringContaining(outputOf("page")),
			tokens: 0,
		});
		const run = { type: "bash_code_execution_result", stdout: outputOf("run"), stderr: "" };
		expect(costs("bash_code_execution_tool_result", run).text).toContain(outputOf("run"));
	});

	it("blocks of server tools are opaque: counted, never paired nor edited", () => {
		const content = [
			{ type: "server_tool_use", id: "s", name: "web_search", input: {} },
			{ type: "web_search_tool_result", tool_use_id: "s", content: [] },
		];
		const [message] = readConversation([{ role: "assistant", content }]).transcript.messages;
		expect(message).toMatchObject({ calls: [], results: [] });
		expect(message?.counted).toEqual(content.map((block) => JSON.stringify(block)));
	});

	it("a system prompt beside the messages speaks for this format", () => {
		const document = { system: "Be brief.", messages: [{ role: "user", content: "Hello" }] };
		expect(readConversation(document).format.name).toBe("anthropic-messages");
	});

	it("a message whose content is null does not make the others unreadable", () => {
		const messages = writeMessages("anthropic-messages", [...toolTurn("a", "x")]);
		const { format, transcript } = readConversation([{ role: "user", content: null }, ...messages]);
		expect(format.name).toBe("anthropic-messages");
		expect(transcript.messages[0]?.counted.join("")).toBe("");
	});
});
