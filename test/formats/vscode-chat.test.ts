import { describe, expect, it } from "vitest";
import { readConversation } from "../../src/formats/detect.ts";
import { readChatLog, vscodeChat } from "../../src/formats/vscode-chat.ts";
import { guardConversation } from "../../src/operations/guard.ts";
import { maskConversation } from "../../src/operations/mask.ts";
import { deepFreeze } from "../support/deep-freeze.ts";
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

describe("log", () => {
	const request = (id: string) => ({
		requestId: id,
		message: { text: `Do ${id}.`, parts: [{ text: `Do ${id}.`, kind: "text" }] },
		response: [],
	});
	const result = (id: string) => ({
		metadata: {
			toolCallRounds: [
				{ response: "I look.", toolCalls: [{ id, name: "read_file", arguments: "{}" }] },
				{ response: "Done.", toolCalls: [] },
			],
			toolCallResults: { [id]: { content: [{ $mid: 21, value: outputOf(id) }] } },
		},
	});
	const snapshot = { kind: 0, v: { version: 3, sessionId: "s", requests: [request("one")] } };
	const textsOf = (chat: unknown) => readConversation(chat).transcript.messages.flatMap(({ counted }) => counted);

	describe("the log of a chat of VS Code", () => {
		it("is the chat after all changes", () => {
			const chat = readChatLog(
				deepFreeze([
					snapshot,
					{ kind: 1, k: ["customTitle"], v: "Title" },
					{ kind: 2, k: ["requests", 0, "response"], v: [{ value: "I look" }] },
					{ kind: 2, k: ["requests", 0, "response"], i: 0, v: [{ value: "I look at it." }, { value: "gone" }] },
					{ kind: 2, k: ["requests", 0, "response"], i: 1 },
					{ kind: 1, k: ["requests", 0, "result"], v: result("a") },
					{ kind: 2, k: ["requests"], v: [request("two")] },
					{ kind: 3, k: ["customTitle"] },
				]),
			);
			expect(chat).toEqual({
				...snapshot.v,
				customTitle: undefined,
				requests: [{ ...request("one"), response: [{ value: "I look at it." }], result: result("a") }, request("two")],
			});
			const { format, transcript } = readConversation(chat);
			expect(format.name).toBe("vscode-chat");
			expect(transcript.messages.map(({ role }) => role)).toEqual(["user", "assistant", "assistant", "user"]);
			expect(transcript.messages[1]?.results[0]?.texts[0]?.text).toBe(outputOf("a"));
		});

		it("starts again at a later snapshot", () => {
			const chat = readChatLog([snapshot, { kind: 2, k: ["requests"], v: [request("two")] }, snapshot]);
			expect(textsOf(chat)).toEqual(["Do one."]);
		});

		it("leaves out changes of places that there are not, and never changes a prototype", () => {
			const chat = readChatLog([
				snapshot,
				{ kind: 1, k: ["requests", 7, "result"], v: 1 },
				{ kind: 1, k: ["requests", 4_000_000_000], v: 1 },
				{ kind: 1, k: ["__proto__", "polluted"], v: 1 },
				{ kind: 1, k: ["constructor", "prototype", "polluted"], v: 1 },
				{ kind: 2, k: ["version"], v: [1] },
				{ kind: 2, k: ["requests"], i: -1 },
			]);
			expect(chat).toEqual(snapshot.v);
			expect(({} as Record<string, unknown>).polluted).toBeUndefined();
		});

		it.each([
			["a list of messages", [{ role: "user", content: "Hi" }]],
			["changes without a snapshot", [{ kind: 2, k: ["requests"], v: [request("two")] }]],
			["a snapshot of something else", [{ kind: 0, v: { items: [] } }]],
			["other records after a snapshot", [snapshot, { kind: 9 }]],
			["an object", snapshot],
		])("is not %s", (_, records) => {
			expect(readChatLog(records)).toBeUndefined();
		});
	});
});
