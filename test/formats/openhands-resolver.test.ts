import { describe, expect, it } from "vitest";
import { readConversation } from "../../src/formats/detect.ts";
import { compact, mask } from "../../src/library.ts";
import { outputOf } from "../support/sample-text.ts";

const run = (number: number) => [
	{
		command: "ls",
		is_input: false,
		thought: "I look.",
		blocking: false,
		confirmation_state: "confirmed",
		action: "run",
	},
	{ content: outputOf(`o${number}`), command: "ls", hidden: false, metadata: { exit_code: 0 }, observation: "run" },
];
const line = {
	issue: { owner: "o", repo: "r", number: 1, title: "t", body: "b", thread_comments: null },
	issue_type: "issue",
	instruction: "Mend it.",
	history: [
		{ content: "You are an agent.", tools: [], action: "system" },
		{ content: "Mend it.", image_urls: null, wait_for_response: false, action: "message" },
		...[0, 1, 2, 3].flatMap(run),
		{ content: "What now?", image_urls: null, wait_for_response: true, action: "message" },
		{ content: "Please continue working on the task.", image_urls: null, wait_for_response: false, action: "message" },
		{ final_thought: "Mended.", outputs: {}, thought: "", action: "finish" },
	],
	success: true,
};

describe("the history of OpenHands' resolver", () => {
	it("has events without `args`, ids and sources", () => {
		const { format, transcript } = readConversation(line);
		expect(format.name).toBe("openhands");
		const roles = ["system", "user", ...[0, 1, 2, 3].flatMap(() => ["assistant", "tool"])];
		expect(transcript.messages.map(({ role }) => role)).toEqual([...roles, "assistant", "user", "assistant"]);
		expect(transcript.messages[2]?.calls).toMatchObject([{ name: "run" }]);
	});

	it("is masked and compacted", async () => {
		expect((await mask(line, { policy: { mask: { window_turns: 1 } } })).report.masked_tool_results).toBe(3);
		const given = { strategy: "llm-summary" as const, force: true, contextWindow: 64_000, summary: "All in short." };
		const { report, error } = await compact(line, { ...given, policy: { compaction: { keep_last_messages: 2 } } });
		expect(error).toBeUndefined();
		expect(report.result).toBe("summarised");
	});
});
