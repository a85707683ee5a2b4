import { describe, expect, it } from "vitest";
import { readConversation } from "../../src/formats/read-conversation.ts";
import { guardConversation } from "../../src/pipeline/guard-conversation.ts";
import { maskConversation } from "../../src/pipeline/mask-conversation.ts";
import { policyOf } from "../support/policy-of.ts";
import { outputOf } from "../support/sample-text.ts";
import { toolTurn, user, writeMessages } from "../support/script.ts";

const write = (id: string) => writeMessages("anthropic-messages", toolTurn(id, outputOf(id)));
const summary = { type: "compaction", content: "So far: two files were read." };
const [call, answer] = write("c");
const before = [...writeMessages("anthropic-messages", [user("Go.")]), ...write("a"), ...write("b")];
const compacted = [
	...before,
	{ role: "assistant", content: [summary, { type: "text", text: "Next." }, ...((call?.content ?? []) as unknown[])] },
	answer,
	...write("d"),
	...write("e"),
];

describe("compaction blocks of the Messages API", () => {
	it("what stands before the last one costs nothing, and the block stays as a system message does", () => {
		const { format, transcript } = readConversation(compacted);
		expect(format.name).toBe("anthropic-messages");
		expect(transcript.messages.map(({ sent }) => sent !== false)).toEqual([
			...before.map(() => false),
			...Array.from({ length: 7 }, () => true),
		]);
		expect(transcript.messages.slice(5, 7)).toMatchObject([
			{ role: "system", paths: [[5, "content", 0]], counted: [summary.content] },
			{
				role: "assistant",
				paths: [
					[5, "content", 1],
					[5, "content", 2],
				],
				calls: [{ id: "c" }],
			},
		]);
	});

	it("the guard drops what follows it and never the block", async () => {
		const policy = policyOf({ guard: { ladder: ["drop"], reserve_tokens: 0, pin_task: false } });
		const outcome = await guardConversation({ conversation: compacted, policy, contextWindow: 700 });
		expect(outcome.report).toMatchObject({ fits: true });
		expect(outcome.conversation).toEqual([
			...before,
			{ role: "assistant", content: [summary] },
			...compacted.slice(-2),
		]);
	});

	it("old results before it are masked as before", async () => {
		const policy = policyOf({ mask: { window_turns: 1 } });
		const masked = async (conversation: unknown[]) => (await maskConversation({ conversation, policy })).edits;
		const earlier = await masked(before);
		expect(earlier).toHaveLength(1);
		expect(await masked(compacted)).toEqual(expect.arrayContaining([...earlier]));
	});

	it.each([
		["alone", [summary], 1],
		[
			"that failed",
			[
				{ type: "compaction", content: null },
				{ type: "text", text: "Next." },
			],
			1,
		],
	])("one %s is one message", (_, content, count) => {
		const { messages } = readConversation([{ role: "assistant", content }]).transcript;
		expect(messages).toHaveLength(count);
		expect(messages[0]?.paths).toEqual([[0]]);
	});
});
