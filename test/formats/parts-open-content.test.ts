import { describe, expect, it } from "vitest";
import type { Archive } from "../../src/archive/archive.ts";
import { openArchive } from "../../src/archive/open.ts";
import { readJsonTexts } from "../../src/formats/parts.ts";
import { guardConversation } from "../../src/operations/guard.ts";
import { restoreConversation } from "../../src/operations/restore.ts";
import { policyOf } from "../support/policy-of.ts";
import { resultContents } from "../support/raw-conversation.ts";
import { outputOf } from "../support/sample-text.ts";
import { toolTurn, writeMessages } from "../support/script.ts";

const cutting = policyOf({
	guard: { max_tool_result_chars: 400, truncate_head_chars: 100, truncate_tail_chars: 100, reserve_tokens: 0 },
});

describe("results that contain a program's return value", () => {
	it.each(["openai-chat", "anthropic-messages"] as const)("in %s the guard cuts long texts inside", async (format) => {
		const content = [{ query: "a.txt", result: outputOf("one"), success: true }];
		const conversation = writeMessages(format, toolTurn("a", content));
		const outcome = await guardConversation({ conversation, policy: cutting, contextWindow: 200 });
		expect(outcome.report).toMatchObject({ truncated_tool_results: 1, dropped_messages: 0, fits: true });
		const [after] = resultContents(outcome.conversation, format);
		expect(after).toEqual([{ query: "a.txt", result: expect.stringMatching(/^one line 0/), success: true }]);
	});

	it("restores a long text inside that was cut to a short one", async () => {
		const archive = (await openArchive({ where: "memory" })) as Archive;
		const content = [{ query: "a.txt", result: outputOf("one"), success: true }];
		const conversation = writeMessages("openai-chat", toolTurn("a", content));
		const cut = await guardConversation({ conversation, policy: cutting, contextWindow: 200, archive });
		expect(JSON.stringify(cut.conversation).length).toBeLessThan(600);
		const { conversation: restored } = await restoreConversation({ ...cut, policy: cutting, archive });
		expect(restored).toEqual(conversation);
	});

	it("keeps base64 data complete, since a part of it is useless", () => {
		const data = Buffer.from(outputOf("data")).toString("base64");
		const value = { data, url: `data:image/png;base64,${data}`, text: outputOf("text") };
		const { texts, counted } = readJsonTexts(value, [], () => undefined);
		expect(texts).toEqual([{ path: ["text"], text: outputOf("text") }]);
		expect(counted.join("")).toContain(data);
	});
});
