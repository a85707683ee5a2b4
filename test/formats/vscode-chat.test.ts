import { describe, expect, it } from "vitest";
import { readConversation } from "../../src/formats/detect.ts";
import { vscodeChat } from "../../src/formats/vscode-chat.ts";
import { guardConversation } from "../../src/operations/guard.ts";
import { maskConversation } from "../../src/operations/mask.ts";
import { policyOf } from "../support/policy-of.ts";
import { outputOf } from "../support/sample-text.ts";

const masking = policyOf({ mask: { window_turns: 1 } });
const call = (id: string) => ({ id, name: "read_file", arguments: '{"filePath":"a.md"}' });
const tree = (text: string) => ({ $mid: 23, value: { node: { type: 1, children: [{ type: 2, text }] } } });
const shown = (id: string) => ({
	kind: "toolInvocationSerialized",
	toolCallId: id,
	toolId: "copilot_readFile",
	resultDetails: { input: "a.md", output: [{ type: "embed", isText: true, value: outputOf(id) }], isError: false },
});
const request = (text: string, more: object) => ({
	requestId: `request_${text}`,
	message: { text, parts: [{ kind: "text", text }] },
	...more,
});
const withRounds = (text: string, ...ids: readonly string[]) =>
	request(text, {
		response: [{ value: "I look." }, ...ids.map(shown)],
		result: {
			metadata: {
				toolCallRounds: [
					...ids.map((id) => ({ response: "I look.", toolCalls: [call(id)] })),
					{ response: "Done.", toolCalls: [] },
				],
				toolCallResults: Object.fromEntries(ids.map((id) => [id, { $mid: 20, content: [tree(outputOf(id))] }])),
			},
		},
	});
const chat = (...requests: readonly object[]) => ({ version: 3, responderUsername: "GitHub Copilot", requests });

describe("VS Code chats", () => {
	it("reads each round as an answer with its results, and masks them with their copy on the screen", async () => {
		const document = chat(withRounds("one", "a", "b"), withRounds("two", "c"));
		const { format, transcript } = readConversation(document);
		expect(format).toBe(vscodeChat);
		expect(transcript.messages.map(({ role, calls }) => `${role} ${calls.length}`)).toEqual([
			...["user 0", "assistant 1", "assistant 1", "assistant 0"],
			...["user 0", "assistant 1", "assistant 0"],
		]);
		const { conversation, report, error } = await maskConversation({ conversation: document, policy: masking });
		expect(error).toBeUndefined();
		expect(report.masked_tool_results).toBe(2);
		for (const id of ["a", "b"]) expect(JSON.stringify(conversation)).not.toContain(JSON.stringify(outputOf(id)));
	});

	it("reads the response where there are no rounds", async () => {
		const terminal = {
			kind: "toolInvocationSerialized",
			toolCallId: "t",
			toolId: "run_in_terminal",
			toolSpecificData: {
				kind: "terminal",
				commandLine: { original: "ls" },
				terminalCommandOutput: { text: outputOf("t") },
			},
		};
		const document = chat(
			request("one", { response: [{ value: "I look." }, { kind: "progressMessage" }, shown("a")] }),
			request("two", { response: [terminal, { kind: "markdownContent", content: { value: "Done." } }] }),
		);
		const { messages } = readConversation(document).transcript;
		expect(messages.map(({ results }) => results.length)).toEqual([0, 1, 0, 1]);
		expect(messages[3]?.counted).toContain("Done.");
		expect((await maskConversation({ conversation: document, policy: masking })).report.masked_tool_results).toBe(1);
	});

	it("drops rounds with their copy on the screen, and stays readable", async () => {
		const document = chat(withRounds("one", "a", "b"), withRounds("two", "c"));
		const dropping = policyOf({ guard: { ladder: ["drop"], reserve_tokens: 0 } });
		for (const contextWindow of [2_000, 1_000, 500, 100]) {
			const outcome = await guardConversation({ conversation: document, policy: dropping, contextWindow });
			expect(outcome.error).toBeUndefined();
			expect(readConversation(outcome.conversation).format).toBe(vscodeChat);
		}
	});

	it("reads a chat that was shortened to prompts and completions", () => {
		const { messages } = readConversation(chat({ timestamp: 1, prompt: "Look.", completion: "Done." })).transcript;
		expect(messages).toMatchObject([{ role: "user", counted: ["Look.", "Done."], paths: [["requests", 0]] }]);
	});

	it("reads a message without parts with the first answer", () => {
		const { messages } = readConversation(chat({ ...withRounds("one", "a"), message: { text: "Look." } })).transcript;
		expect(messages[0]).toMatchObject({
			role: "assistant",
			calls: [{ id: "a" }],
			counted: expect.arrayContaining(["Look."]),
		});
	});
});
