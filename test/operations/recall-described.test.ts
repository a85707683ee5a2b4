import { describe, expect, it } from "vitest";
import { loadCounter } from "../../src/formats/tokens/counter.ts";
import { maskConversation } from "../../src/operations/mask.ts";
import { type RecalledPart, recallOriginal } from "../../src/operations/recall.ts";
import type { Archive, Original } from "../../src/storage/archive/archive.ts";
import { openArchive } from "../../src/storage/archive/open.ts";
import { pngOf } from "../support/media-samples.ts";
import { policyOf } from "../support/policy-of.ts";
import { openaiMessages, toolTurn, user } from "../support/script.ts";

const countTokens = await loadCounter("o200k_base");
const policy = policyOf({ locale: "en" });
const text = Array.from({ length: 4_000 }, (_, index) => `line ${index} says one more thing`).join("\n");

async function archived(original: Original) {
	const archive = (await openArchive({ where: "memory" })) as Archive;
	const [ref = ""] = await archive.put([original]);
	return { archive, policy, ref };
}

async function described(words: number | ((part: RecalledPart) => number), maxTokens?: number) {
	const describe = (part: RecalledPart) => "word ".repeat(typeof words === "number" ? words : words(part));
	const recalled = await recallOriginal({ ...(await archived({ text, kind: "text" })), maxTokens, describe });
	if (recalled.kind !== "part") throw new Error("Expected a part.");
	const { part } = recalled;
	return { part, own: countTokens(part.text), all: countTokens(`${describe(part)}\n${part.text}`) };
}

describe("a part with a line before it", () => {
	it.each([0, 50, 140])("fills its limit together with a line of %s words", async (words) => {
		const { part, all } = await described(words, 300);
		expect(all).toBeLessThanOrEqual(300);
		expect(all).toBeGreaterThan(270);
		expect(part.next).toMatchObject({ max_tokens: 300 });
	});

	it("gets half of its limit, rounded up, with a longer line", async () => {
		const { part, own } = await described(5_000, 301);
		expect(own).toBeLessThanOrEqual(151);
		expect(own).toBeGreaterThan(140);
		expect(part.next).toMatchObject({ max_tokens: 301 });
	});

	it("gets no fewer tokens than the least limit", async () => {
		const { own } = await described(5_000, 12);
		expect(own).toBeGreaterThan(6);
		expect(own).toBeLessThanOrEqual(10);
	});

	it("has the usual limit by default", async () => {
		const { part, all } = await described(100);
		expect(all).toBeLessThanOrEqual(2_000);
		expect(all).toBeGreaterThan(1_950);
		expect(part.next).not.toHaveProperty("max_tokens");
	});

	it("is shortened again where a shorter part needs a longer line", async () => {
		const { all } = await described((part) => (part.tokens < 280 ? 60 : 30), 300);
		expect(all).toBeLessThanOrEqual(300);
	});

	it("stays whole where both fit exactly", async () => {
		const own = { ...(await archived({ text: "one two three", kind: "text" })), describe: () => "word ".repeat(20) };
		const maxTokens = countTokens(`${"word ".repeat(20)}\none two three`);
		const recalled = await recallOriginal({ ...own, maxTokens });
		expect(recalled).toMatchObject({ kind: "part", part: { text: "one two three", next: null } });
	});
});

describe("an image", () => {
	const empty = { type: "image", data: pngOf(2, 2), mimeType: "image/png", note: "" };
	const ofLength = (length: number) =>
		JSON.stringify({ ...empty, note: "x".repeat(length - JSON.stringify(empty).length) });

	it.each([
		[2_000_000, "image"],
		[2_000_001, "part"],
	])("of %s characters is shown as %s", async (length, kind) => {
		const given = await archived({ text: ofLength(length), kind: "media" });
		expect((await recallOriginal({ ...given, showsImages: true })).kind).toBe(kind);
	});

	it("is shown with its listing", async () => {
		const given = await archived({ text: JSON.stringify(empty), kind: "media", toolCallId: "c", toolName: "look" });
		const recalled = await recallOriginal({ ...given, showsImages: true });
		expect(recalled).toMatchObject({
			kind: "image",
			listing: { ref: given.ref, kind: "media", tool_call_id: "c", tool_name: "look" },
			image: { mediaType: "image/png", data: empty.data },
		});
	});

	it("of another kind is shown as text", async () => {
		const given = await archived({ text: '{"type":"file","data":"no image"}', kind: "media" });
		expect((await recallOriginal({ ...given, showsImages: true })).kind).toBe("part");
	});
});

describe("a reference", () => {
	it.each([
		(ref: string) => `#${ref}`,
		(ref: string) => `[Old tool result, #${ref}] and more`,
		(ref: string) => `réf = ${ref}`,
		(ref: string) => `original://${ref}`,
		(ref: string) => `  ${ref}  `.trim(),
	])("is read with the text around it: %s", async (write) => {
		const given = await archived({ text: "x", kind: "text" });
		const recalled = await recallOriginal({ ...given, ref: write(given.ref) });
		expect(recalled).toMatchObject({ part: { text: "x" } });
	});

	it("comes from the placeholder, not from the name of its tool, and may have white space around it", async () => {
		const archive = (await openArchive({ where: "memory" })) as Archive;
		const text = "line\n".repeat(400);
		const turns = ["a", "b"].map((id) => toolTurn(id, text, "look #abcd2345"));
		const { edits } = await maskConversation({
			conversation: openaiMessages(user("Go."), ...turns),
			policy: policyOf({ locale: "en", mask: { window_turns: 1 } }),
			archive,
		});
		const placeholder = String(edits[0]?.replacement);
		expect(placeholder).toContain("abcd2345");
		const recalled = await recallOriginal({ archive, policy, ref: ` ${placeholder}\n` });
		expect(recalled).toMatchObject({ part: { ref: edits[0]?.ref } });
	});

	it("takes precedence over a call", async () => {
		const archive = (await openArchive({ where: "memory" })) as Archive;
		const [ref] = await archive.put([
			{ text: "one", kind: "result", toolCallId: "a" },
			{ text: "two", kind: "result", toolCallId: "b" },
		]);
		const recalled = await recallOriginal({ archive, policy, ref, toolCallId: "b" });
		expect(recalled).toMatchObject({ part: { text: "one", tool_call_id: "a" } });
	});

	it("of a call without originals is refused with advice", async () => {
		const archive = (await openArchive({ where: "memory" })) as Archive;
		const request = recallOriginal({ archive, policy, toolCallId: "none" });
		await expect(request).rejects.toMatchObject({ code: "original_not_found" });
	});
});
