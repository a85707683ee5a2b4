import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import type { CallToolResult, JSONRPCMessage } from "@modelcontextprotocol/sdk/types.js";
import { afterEach, describe, expect, it, vi } from "vitest";
import { type Answer, beside, largestAnswer, messageBytes, toolResult } from "../../src/mcp/answer.ts";
import { createSpill } from "../../src/storage/files/access.ts";
import { secret } from "../support/agent-conversation.ts";

/** The largest JSON that the text of an answer repeats. */
const largestRepeated = 256_000;

const resultOf = (answer: Answer, more: Partial<Parameters<typeof toolResult>[0]> = {}) =>
	toolResult({ answer, spill: undefined, text: () => "auto", ...more });

const textOf = ({ content: [block] }: CallToolResult) => (block?.type === "text" ? block.text : expect.unreachable());

/** An answer whose JSON takes that many bytes. */
function answerOfBytes(bytes: number) {
	const answer = (length: number) => ({ edits: [{ path: "/0", after: "x".repeat(length) }] });
	return answer(bytes - JSON.stringify(answer(0)).length);
}

const report = {
	changed: true,
	fits: false,
	messages: { before: 30, after: 20 },
	tokens: { before: 9_000_000, after: 5_000 },
};

afterEach(() => {
	vi.restoreAllMocks();
});

describe("the text of an answer", () => {
	it("repeats it up to 256 kB of JSON, and is a summary from one byte more", async () => {
		const fits = await resultOf(answerOfBytes(largestRepeated));
		expect(textOf(fits)).toBe(JSON.stringify(fits.structuredContent));
		expect(Buffer.byteLength(textOf(fits))).toBe(256_000);
		const over = await resultOf(answerOfBytes(largestRepeated + 1));
		expect(over.structuredContent).toEqual(answerOfBytes(largestRepeated + 1));
		expect(textOf(over)).toMatch(
			/^This answer is 256001 bytes of JSON.*structuredContent.*`edits` \(1 items, 25\d{4} bytes\)/,
		);
		expect(textOf(over).length).toBeLessThan(400);
	});

	it("counts bytes, not characters", async () => {
		const messages = "é".repeat(largestRepeated / 2);
		expect(textOf(await resultOf({ messages }))).toMatch(/^This answer is 2560\d\d bytes/);
	});

	it("summarises the result and shows short parts", async () => {
		const text = textOf(await resultOf({ messages: [{ content: secret.repeat(50_000) }], report }));
		expect(text).toContain("The conversation: messages 30 → 20, tokens 9000000 → 5000, it does not fit.");
		expect(JSON.parse(text.split("\n").at(-1) ?? "")).toEqual({ report });
		expect(text).not.toContain(secret);
	});

	it("summarises the result when the report itself is long, and is empty without a report", async () => {
		const long = { ...report, fits: true, largest: "x".repeat(300_000) };
		expect(textOf(await resultOf({ report: long })).split("\n")).toEqual([
			expect.stringContaining("leaves out `report`"),
			"The conversation: messages 30 → 20, tokens 9000000 → 5000, it fits.",
			"{}",
		]);
		expect(
			textOf(await resultOf({ text: "x".repeat(300_000), truncated: true }))
				.split("\n")
				.slice(1),
		).toEqual(['{"truncated":true}']);
	});

	it("repeats all of it when the policy says so, and reads no other setting", async () => {
		const large = await resultOf(answerOfBytes(3_000_000), { text: () => "full" });
		expect(JSON.parse(textOf(large))).toEqual(large.structuredContent);
		const text = vi.fn(() => "full" as const);
		await resultOf(answerOfBytes(largestRepeated), { text });
		expect(text).not.toHaveBeenCalled();
	});
});

describe("content next to an answer", () => {
	const link = { type: "resource_link", uri: "original://x", name: "x" } as const;

	it("own text replaces the JSON, and blocks follow", async () => {
		const answer = { found: 1, [beside]: { text: "One was found.", blocks: [link] } };
		expect(await resultOf(answer)).toEqual({
			content: [{ type: "text", text: "One was found." }, link],
			structuredContent: { found: 1 },
		});
	});

	it("a large answer is still summarised, and one with a part in a file shows the rest", async () => {
		const large = { ...answerOfBytes(largestRepeated + 1), [beside]: { text: "words" } };
		expect(textOf(await resultOf(large))).toMatch(/^This answer is 256001 bytes/);
		expect(textOf(await resultOf(large, { text: () => "full" }))).toBe("words");
		const tooLarge = { ...answerOfBytes(largestAnswer + 1), [beside]: { text: "words", blocks: [link] } };
		const { content, structuredContent } = await resultOf(tooLarge, { spill: createSpill() });
		expect(content[0]).toEqual({ type: "text", text: JSON.stringify(structuredContent) });
		expect(content.at(-1)).toEqual(link);
	});

	it("counts towards the size limit", async () => {
		const image = { type: "image", data: "A".repeat(1_000_000), mimeType: "image/png" } as const;
		const answer = { ...answerOfBytes(largestAnswer - 500_000), [beside]: { blocks: [image] } };
		await expect(resultOf(answer)).rejects.toMatchObject({ code: "payload_too_large" });
		expect((await resultOf(answerOfBytes(largestAnswer - 500_000))).content).toHaveLength(1);
	});
});

describe("an answer too large to send", () => {
	it("is refused when client and server share no files", async () => {
		const tooLarge = { code: "payload_too_large", message: expect.stringContaining('respond_with "edits"') };
		await expect(resultOf(answerOfBytes(largestAnswer + 1))).rejects.toMatchObject(tooLarge);
		const full = { text: () => "full" as const };
		await expect(resultOf(answerOfBytes(largestAnswer / 2), full)).rejects.toMatchObject(tooLarge);
		expect((await resultOf(answerOfBytes(largestAnswer))).structuredContent).toEqual(answerOfBytes(largestAnswer));
	});

	it("goes into files part by part until the rest can be sent", async () => {
		const answer = { ...answerOfBytes(largestAnswer), messages: "y".repeat(largestAnswer), report };
		const { content, structuredContent } = await resultOf(answer, { spill: createSpill() });
		const [block, ...links] = content;
		expect(structuredContent).toEqual({ report, messages_uri: expect.any(String), edits_uri: expect.any(String) });
		expect(block).toEqual({ type: "text", text: JSON.stringify(structuredContent) });
		expect(links).toMatchObject([{ name: "messages" }, { name: "edits" }]);
		for (const link of links) {
			if (link.type !== "resource_link") expect.unreachable();
			const file = await readFile(fileURLToPath(link.uri), "utf8");
			expect(JSON.parse(file)).toEqual(answer[link.name as "messages"]);
			expect(Buffer.byteLength(file)).toBe(link.size);
		}
	});
});

describe("the message written to the client", () => {
	const envelope = (result: CallToolResult): JSONRPCMessage => ({ result, jsonrpc: "2.0", id: "a" });

	it("equals JSON.stringify, whether or not its parts were written before", async () => {
		let remembered = 0;
		for (const answer of [
			{ ...answerOfBytes(300_000), report, absent: undefined },
			{ 'odd "name"\n': [1], messages: [secret.repeat(30_000)], none: null },
			{ text: "x".repeat(300_000), truncated: false },
			{ report },
			{},
		]) {
			const result = await resultOf(answer);
			const stringify = vi.spyOn(JSON, "stringify");
			const line = messageBytes(envelope(result), "\n").toString();
			const [first] = stringify.mock.results;
			stringify.mockRestore();
			if (String(first?.value).length < line.length - 1) remembered += 1;
			expect(JSON.parse(line)).toEqual(JSON.parse(JSON.stringify(envelope(result))));
			expect(line.endsWith("}\n") && !line.slice(0, -1).includes("\n")).toBe(true);
			expect(messageBytes(envelope(result), "\n").toString()).toBe(`${JSON.stringify(envelope(result))}\n`);
		}
		// The same report is in two of them.
		expect(remembered).toBe(3);
	});

	it("converts no part to JSON twice", async () => {
		const answer = { messages: [{ content: "x".repeat(2_000_000) }], report };
		const stringify = vi.spyOn(JSON, "stringify");
		const message = envelope(await resultOf(answer));
		const line = messageBytes(message, "\n").toString();
		const written = stringify.mock.results.reduce(
			(sum, { value }) => sum + ((value as string | undefined)?.length ?? 0),
			0,
		);
		stringify.mockRestore();
		expect(line.length).toBeGreaterThan(2_000_000);
		expect(written).toBeLessThan(line.length + 5_000);
	});
});
