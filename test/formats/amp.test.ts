import { describe, expect, it } from "vitest";
import { readConversation } from "../../src/formats/detect.ts";
import { mask } from "../../src/library.ts";
import { outputOf } from "../support/sample-text.ts";

const turn = (id: string, run: object) => [
	{ role: "assistant", messageId: 1, content: [{ type: "tool_use", id, name: "Bash", input: {}, complete: true }] },
	{ role: "user", messageId: 2, content: [{ type: "tool_result", toolUseID: id, run }] },
];
const thread = {
	v: 30,
	id: "T-1",
	messages: [
		{ role: "user", messageId: 0, content: [{ type: "text", text: "Go." }] },
		...turn("a", { status: "done", result: { output: outputOf("a"), exitCode: 0 } }),
		...turn("b", { status: "done", result: { absolutePath: "/w/a.ts", content: outputOf("b") } }),
		...turn("c", { status: "error", error: { message: outputOf("c") } }),
		...turn("d", { status: "done", result: outputOf("d") }),
	],
};

describe("a thread of Amp", () => {
	it("has the text of a result in its `output` or `content`, or an error", () => {
		const { format, transcript } = readConversation(thread);
		const results = transcript.messages.flatMap((message) => message.results);
		expect(format.name).toBe("amp");
		expect(results.map(({ texts }) => texts.map(({ text }) => text))).toEqual(
			["a", "b", "c", "d"].map((one) => [outputOf(one)]),
		);
		expect(results.map(({ isError }) => isError)).toEqual([undefined, undefined, true, undefined]);
	});

	it("keeps the exit code when it is masked", async () => {
		const { conversation, report } = await mask(thread, { policy: { mask: { window_turns: 1 } } });
		expect(report.masked_tool_results).toBe(2);
		expect(JSON.stringify(conversation)).toContain('"exitCode":0');
	});
});
