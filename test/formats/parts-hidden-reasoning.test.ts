import { describe, expect, it } from "vitest";
import { readConversation } from "../../src/formats/detect.ts";

/** A signature of a block of 150 tokens. */
const sealed = "A".repeat(1_028);

const question = { role: "user", content: "Go." };
const use = { type: "tool_use", id: "c1", name: "look", input: {} };
const omitted = { type: "thinking", thinking: "", signature: sealed };
const shown = { type: "thinking", thinking: "I look.", signature: sealed };
const redacted = { type: "redacted_thinking", data: sealed };

const record = (uuid: string, parentUuid: string | null, message: { readonly role: string }) => {
	return { type: message.role, uuid, parentUuid, isSidechain: false, sessionId: "s", version: "2.1.0", message };
};
const piMessage = (id: string, message: { readonly role: string }) => {
	return { type: "message", id, parentId: null, timestamp: "2026-01-01T00:00:00.000Z", message };
};

const thinkingIn = (conversation: unknown) =>
	readConversation(conversation).transcript.messages.flatMap(({ thinking }) => thinking);

describe("tokens of hidden reasoning", () => {
	it.each<[string, unknown]>([
		["Anthropic Messages", [question, { role: "assistant", content: [omitted, use] }]],
		["Anthropic Messages, encrypted", [question, { role: "assistant", content: [redacted, use] }]],
		[
			"Claude Code, a record for each block",
			[
				record("u1", null, question),
				record("u2", "u1", { role: "assistant", id: "m1", content: [omitted] } as { role: string }),
				record("u3", "u2", { role: "assistant", id: "m1", content: [use] } as { role: string }),
			],
		],
		[
			"Bedrock",
			[
				{ role: "user", content: [{ text: "Go." }] },
				{
					role: "assistant",
					content: [
						{ reasoningContent: { reasoningText: { text: "", signature: sealed } } },
						{ toolUse: { toolUseId: "c1", name: "look", input: {} } },
					],
				},
			],
		],
		[
			"pi",
			[
				{ type: "session", id: "s", version: 3, timestamp: "2026-01-01T00:00:00.000Z", cwd: "/" },
				piMessage("a", { role: "user", content: [{ type: "text", text: "Go." }] } as { role: string }),
				piMessage("b", {
					role: "assistant",
					content: [
						{ type: "thinking", thinking: "", thinkingSignature: sealed },
						{ type: "toolCall", id: "c1", name: "look", arguments: {} },
					],
				} as { role: string }),
			],
		],
		[
			"Vercel AI SDK",
			[
				question,
				{
					role: "assistant",
					content: [
						{ type: "reasoning", text: "", providerOptions: { anthropic: { signature: sealed } } },
						{ type: "tool-call", toolCallId: "c1", toolName: "look", input: {} },
					],
				},
			],
		],
	])("are estimated in %s", (_, conversation) => {
		expect(thinkingIn(conversation)).toMatchObject([{ bound: true, hiddenTokens: 150 }]);
	});

	it("are added up where a record has nothing else", () => {
		const content = [omitted, omitted];
		const answer = { role: "assistant", id: "m1", content };
		expect(thinkingIn([record("u1", null, question), record("u2", "u1", answer)])).toMatchObject([
			{ bound: true, hiddenTokens: 300 },
		]);
	});

	it("are none where the text is shown or nothing is signed", () => {
		const plain = { type: "thinking", thinking: "" };
		const blocks = thinkingIn([question, { role: "assistant", content: [shown, plain, use] }]);
		expect(blocks.map(({ hiddenTokens }) => hiddenTokens)).toEqual([undefined, undefined]);
	});
});
