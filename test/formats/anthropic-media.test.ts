import { describe, expect, it } from "vitest";
import { readConversation } from "../../src/formats/read-conversation.ts";
import { guardConversation } from "../../src/pipeline/guard-conversation.ts";
import { maskConversation } from "../../src/pipeline/mask-conversation.ts";
import { pdfOf, pngOf } from "../support/media-samples.ts";
import { policyOf } from "../support/policy-of.ts";
import { outputOf } from "../support/sample-text.ts";
import { toolTurn, writeMessages } from "../support/script.ts";

const image = (data: string) => ({ type: "image", source: { type: "base64", media_type: "image/png", data } });
const documentOf = (source: object, more = {}) => ({ type: "document", source, ...more });
const pdf = { type: "base64", media_type: "application/pdf", data: pdfOf(2) };
const plain = { type: "text", media_type: "text/plain", data: outputOf("plain") };
const blocks = {
	type: "content",
	content: [{ type: "text", text: outputOf("blocks") }, image(pngOf(750, 100))],
};

const conversationOf = (...content: unknown[]) =>
	writeMessages("anthropic-messages", [...toolTurn("a", content, "fetch"), ...toolTurn("b", "ok")]);
const mask = (conversation: unknown) =>
	maskConversation({ conversation, policy: policyOf({ locale: "en", media: "mask", mask: { window_turns: 1 } }) });

describe("media in Anthropic Messages", () => {
	it.each([
		["an image", image(pngOf(1_000, 1_000)), 1_334, []],
		["an image by URL", { type: "image", source: { type: "url", url: "https://example.com/a.png" } }, 1_600, []],
		["an image by file id", { type: "image", source: { type: "file", file_id: "file_1" } }, 1_600, []],
		["a PDF", documentOf(pdf), 6_000, []],
		["a PDF by URL", documentOf({ type: "url", url: "https://example.com/a.pdf" }), 30_000, []],
		["a document by file id", documentOf({ type: "file", file_id: "file_1" }), 30_000, []],
		["a document of plain text", documentOf(plain), 0, [plain.data]],
		["a document of blocks", documentOf(blocks), 100, [outputOf("blocks")]],
		["a document of one text", documentOf({ type: "content", content: "All of it." }), 0, ["All of it."]],
		["its title and context", documentOf(plain, { title: "A title", context: "From a page." }), 5, [plain.data]],
	])("counts %s, in a user message as in a result", (_, block, mediaTokens, texts) => {
		const inMessage = [{ role: "user", content: [block] }, ...conversationOf("x")];
		expect(readConversation(inMessage).transcript.messages[0]).toMatchObject({ mediaTokens, counted: texts });
		const message = readConversation(conversationOf(block)).transcript.messages[1];
		expect(message).toMatchObject({ mediaTokens, counted: [] });
		expect(message?.results[0]?.texts.map(({ text }) => text)).toEqual(texts);
		expect(message?.results[0]?.media).toHaveLength(1);
	});

	it("masks documents in results, their texts with them; texts beside them stay", async () => {
		const text = { type: "text", text: outputOf("beside") };
		const conversation = conversationOf(text, documentOf(pdf), documentOf(plain), documentOf(blocks));
		const { conversation: after, report, edits, error } = await mask(conversation);
		expect(error).toBeUndefined();
		const [result] = (after as { content: { content: unknown[] }[] }[])[1]?.content ?? [];
		expect(result?.content).toEqual([
			text,
			{ type: "text", text: expect.stringMatching(/^\[Media masked: application\/pdf, \d+ B \(/) },
			{ type: "text", text: expect.stringMatching(/^\[Media masked: text\/plain, \d+ B \(/) },
			{ type: "text", text: expect.stringMatching(/^\[Media masked: document \(/) },
		]);
		expect(edits.map(({ before }) => before.chars)).toEqual([0, outputOf("plain").length, outputOf("blocks").length]);
		const again = await mask(after);
		expect(again.conversation).toBe(after);
		expect(again.report.tokens.before).toBe(report.tokens.after);
		expect(again.report.chars.before).toBe(report.chars.after);
		expect(again.report.tool_chars.before).toBe(report.tool_chars.after);
	});

	it("never touches media in user messages", async () => {
		const user = { role: "user", content: [image(pngOf(1_000, 1_000)), documentOf(pdf), documentOf(plain)] };
		const conversation = [user, ...conversationOf(image(pngOf(1_000, 1_000))), user];
		const { conversation: after, edits } = await mask(conversation);
		expect(edits.map(({ path }) => path)).toEqual(["/2/content/0/content/0"]);
		expect((after as unknown[])[0]).toBe(user);
		expect((after as unknown[]).at(-1)).toBe(user);
	});

	it("leaves an image that costs less than its placeholder", async () => {
		const conversation = conversationOf(image(pngOf(20, 20)));
		const { conversation: after, report } = await mask(conversation);
		expect(after).toBe(conversation);
		expect(report.kept.not_smaller).toBe(1);
	});

	it("keeps a breakpoint of the prompt cache where it was", async () => {
		const cached = { ...image(pngOf(1_000, 1_000)), cache_control: { type: "ephemeral" } };
		const { edits } = await mask(conversationOf(cached));
		expect(edits[0]?.replacement).toMatchObject({ type: "text", cache_control: { type: "ephemeral" } });
	});

	it("the guard cuts the text of a document; a placeholder takes the place of what is cut where that is smaller", async () => {
		const long = documentOf({ ...plain, data: outputOf("long", 500) });
		const conversation = conversationOf(long);
		const guard = { max_tool_result_chars: 1_000, truncate_head_chars: 400, truncate_tail_chars: 400 };
		const cut = await guardConversation({ conversation, policy: policyOf({ guard }), contextWindow: 100_000 });
		expect(cut.edits.map(({ path }) => path)).toEqual(["/1/content/0/content/0/source/data"]);
		const policy = policyOf({ media: "mask", mask: { window_turns: 1 }, guard: { ...guard, reserve_tokens: 0 } });
		const masked = await guardConversation({ conversation, policy, contextWindow: 50 });
		expect(masked.error).toBeUndefined();
		expect(masked.edits.map(({ path, reason }) => [path, reason])).toEqual([["/1/content/0/content/0", "mask"]]);
		expect(masked.report.tool_chars.after).toBeGreaterThan(0);
	});

	it.each([[null], ["x"], [{}], [{ type: "base64" }], [{ type: "text" }], [{ type: "content", content: 7 }]])(
		"reads a document whose source is %j",
		(source) => {
			const { transcript } = readConversation(conversationOf({ type: "document", source }, { type: "image", source }));
			expect(transcript.messages[1]?.mediaTokens).toBeGreaterThanOrEqual(0);
		},
	);
});
