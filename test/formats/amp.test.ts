import { describe, expect, it } from "vitest";
import { readConversation } from "../../src/formats/detect.ts";
import { mask } from "../../src/library.ts";
import { pngOf } from "../support/media-samples.ts";
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

	it("has the images that it read as media, which are masked once", async () => {
		const content = pngOf(800, 600, 3_000);
		const image = { absolutePath: "/w/a.png", content, isImage: true, imageInfo: { mimeType: "image/png" } };
		const shown = { ...thread, messages: [...turn("i", { status: "done", result: image }), ...thread.messages] };
		const [result] = readConversation(shown).transcript.messages[1]?.results ?? [];
		expect(result).toMatchObject({ texts: [], media: [{ kind: "image", dimensions: { width: 800, height: 600 } }] });
		const policy = { media: "mask", mask: { window_turns: 1 } } as const;
		const masked = await mask(shown, { policy });
		expect(JSON.stringify(masked.conversation)).not.toContain(content);
		expect((await mask(masked.conversation, { policy })).conversation).toBe(masked.conversation);
	});

	it("keeps the exit code when it is masked", async () => {
		const { conversation, report } = await mask(thread, { policy: { mask: { window_turns: 1 } } });
		expect(report.masked_tool_results).toBe(2);
		expect(JSON.stringify(conversation)).toContain('"exitCode":0');
	});
});
