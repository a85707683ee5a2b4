import { describe, expect, it } from "vitest";
import { resolvePolicy } from "../../src/engine/policy/layers.ts";
import { imageOfPart } from "../../src/formats/media.ts";
import { type Recalled, recallOriginal } from "../../src/operations/recall.ts";
import type { Archive, Original } from "../../src/storage/archive/archive.ts";
import { openArchive } from "../../src/storage/archive/open.ts";
import { formsOfRef } from "../../src/storage/archive/reference.ts";
import { gifOf, jpegOf, pdfOf, pngOf, wavOf, webpOf } from "../support/media-samples.ts";

const policy = resolvePolicy([]);

async function archiveOf(originals: readonly Original[]): Promise<{ archive: Archive; refs: readonly string[] }> {
	const archive = await openArchive({ where: "memory", now: () => Date.UTC(2026, 0, 2) });
	if (!archive) throw new Error("no archive");
	return { archive, refs: await archive.put(originals) };
}

function partOf(recalled: Recalled) {
	if (recalled.kind !== "part") throw new Error(`Expected a part; got ${recalled.kind}.`);
	return recalled.part;
}

describe("recallOriginal", () => {
	it("describes an original", async () => {
		const { archive, refs } = await archiveOf([{ text: "a\nb", kind: "result", toolCallId: "c", toolName: "ls" }]);
		const whole = { kind: "result", tool_call_id: "c", tool_name: "ls", archived_at: "2026-01-02T00:00:00.000Z" };
		const part = partOf(await recallOriginal({ archive, policy, ref: refs[0] }));
		expect(part).toMatchObject({ ref: refs[0], ...whole, chars: 3, text: "a\nb", next: null, redactions: 0 });
		expect(part.shown).toEqual({ lines: { first: 1, last: 2 }, chars: { start: 0, end: 3 } });
		expect(part).not.toHaveProperty("matches");
	});

	it("describes a text of several calls by the requested call", async () => {
		const same = (id: string) => ({ text: "same", kind: "result", toolCallId: id, toolName: `tool_${id}` }) as const;
		const { archive } = await archiveOf([same("a"), same("b")]);
		for (const id of ["a", "b"]) {
			const part = partOf(await recallOriginal({ archive, policy, toolCallId: id }));
			expect(part).toMatchObject({ tool_call_id: id, tool_name: `tool_${id}`, text: "same" });
		}
	});

	it("skips entries for restoring, by id and by ref", async () => {
		const places = { text: "[]", kind: "places", toolCallId: "c" } as const;
		const { archive, refs } = await archiveOf([places, { text: "x", kind: "result", toolCallId: "c" }]);
		expect(partOf(await recallOriginal({ archive, policy, toolCallId: "c" })).text).toBe("x");
		const hidden = recallOriginal({ archive, policy, ref: refs[0] });
		await expect(hidden).rejects.toMatchObject({ code: "original_not_found" });
	});

	it("lists at most 50 originals of a call, and counts the rest", async () => {
		const many = Array.from(
			{ length: 53 },
			(_, index) => ({ text: `${index}`, kind: "result", toolCallId: "c" }) as const,
		);
		const { archive } = await archiveOf(many);
		const recalled = await recallOriginal({ archive, policy, toolCallId: "c" });
		expect(recalled).toMatchObject({ kind: "several", leftOut: 3 });
		expect(recalled.kind === "several" && recalled.originals.length).toBe(50);
		const { archive: two } = await archiveOf(many.slice(0, 2));
		expect(await recallOriginal({ archive: two, policy, toolCallId: "c" })).toMatchObject({ leftOut: 0 });
	});

	it("counts in the tokens of the policy's model", async () => {
		const text = "The quick brown fox jumps over the lazy dog.\n".repeat(500);
		const { archive, refs } = await archiveOf([{ text, kind: "text" }]);
		const claude = resolvePolicy([{ guard: { model: "claude-opus-4-5" } }]);
		const own = partOf(await recallOriginal({ archive, policy, ref: refs[0], maxTokens: 500 }));
		const scaled = partOf(await recallOriginal({ archive, policy: claude, ref: refs[0], maxTokens: 500 }));
		expect(own.tokens).toBeLessThanOrEqual(500);
		expect(scaled.tokens).toBeLessThanOrEqual(500);
		expect(scaled.text.length).toBeLessThan(own.text.length);
		expect(scaled.next).toMatchObject({ ref: refs[0], max_tokens: 500 });
	});

	it("reads a reference from a complete placeholder with text after it", async () => {
		const { archive, refs } = await archiveOf([{ text: "x", kind: "result", toolCallId: "c" }]);
		const [ref = ""] = refs;
		const [, of8 = "", of20 = ""] = formsOfRef(ref);
		for (const given of [
			`[Observation masked: old tool result (tool_call_id=c, tool=ls, chars=1, ref=${of8})]`,
			`[masked ls, 1 chars #${of20}]`,
			`#${of8}] read it`,
			`ref=${of20} of issue #12`,
			`[Observation masquée: résultat d'outil ancien (tool_call_id=c, réf=${ref})] Intact, pas une erreur : à relire avec recall_original.`,
			`[Output shortened: 6 of 9 lines left out, ref=${ref}] Intact, no error: read it with recall_original.`,
			`original://${ref}?lines=1-2`,
		])
			expect(partOf(await recallOriginal({ archive, policy, ref: given })).text).toBe("x");
		const shouted = partOf(await recallOriginal({ archive, policy, ref: `#${ref?.toUpperCase()}] read it` }));
		expect(shouted.text).toBe("x");
		const altered = recallOriginal({ archive, policy, ref: `ref=${ref}7` });
		await expect(altered).rejects.toMatchObject({ code: "original_not_found" });
	});

	it("refuses two references in one text, and reads one that occurs twice", async () => {
		const { archive, refs } = await archiveOf([{ text: "x", kind: "result", toolCallId: "c" }]);
		const [ref = ""] = refs;
		for (const given of [
			`ref=${ref}, or ref=abc12345`,
			`ref =${ref}, or ref =${ref.charAt(0)}bc12345`,
			`#${ref} or #abc12345`,
		]) {
			const several = recallOriginal({ archive, policy, ref: given });
			await expect(several).rejects.toMatchObject({ code: "ambiguous_reference" });
		}
		const beside = await recallOriginal({ archive, policy, ref: `ref=${ref} of issue #12` });
		expect(partOf(beside).text).toBe("x");
		const twice = await recallOriginal({ archive, policy, ref: `ref=${ref}, or original://${ref.toUpperCase()}` });
		expect(partOf(twice).text).toBe("x");
	});

	it("requires a ref or a call", async () => {
		const { archive } = await archiveOf([]);
		await expect(recallOriginal({ archive, policy })).rejects.toMatchObject({ code: "invalid_argument" });
		const number = recallOriginal({ archive, policy, ref: 7 as never });
		await expect(number).rejects.toMatchObject({ code: "invalid_argument" });
		const unknown = recallOriginal({ archive, policy, toolCallId: "none" });
		await expect(unknown).rejects.toMatchObject({ code: "original_not_found" });
	});

	it("names no call of a text that has none, and lists the matches of a search", async () => {
		const { archive, refs } = await archiveOf([{ text: "one\ntwo", kind: "text" }]);
		const part = partOf(await recallOriginal({ archive, policy, ref: refs[0], grep: "two" }));
		expect(part).toMatchObject({ text: expect.stringContaining("two"), matches: { found: 1 } });
		expect(Object.keys(part)).not.toContain("tool_call_id");
		expect(Object.keys(part)).not.toContain("tool_name");
	});

	it("shows an image only when it is requested in full and images are shown", async () => {
		const text = JSON.stringify({ type: "image", data: pngOf(2, 2), mimeType: "image/png" });
		const { archive, refs } = await archiveOf([{ text, kind: "media" }]);
		const kindOf = async (more: object) => (await recallOriginal({ archive, policy, ref: refs[0], ...more })).kind;
		expect(await kindOf({ showsImages: true })).toBe("image");
		expect(await kindOf({ showsImages: true, head: undefined })).toBe("image");
		expect(await kindOf({})).toBe("part");
		expect(await kindOf({ showsImages: true, head: 1 })).toBe("part");
		const {
			archive: texts,
			refs: [ref],
		} = await archiveOf([{ text, kind: "result" }]);
		expect((await recallOriginal({ archive: texts, policy, ref, showsImages: true })).kind).toBe("part");
	});
});

describe("the image in a part", () => {
	it.each([
		["image/png", pngOf(1, 1)],
		["image/jpeg", jpegOf(1, 1)],
		["image/gif", gifOf(1, 1)],
		["image/webp", webpOf(1, 1)],
	])("is found in every format: %s", (mediaType, data) => {
		const found = { mediaType, data, bytes: Buffer.from(data, "base64").length };
		for (const part of [
			{ type: "image", source: { type: "base64", media_type: mediaType, data } },
			{ type: "image_url", image_url: { url: `data:${mediaType};base64,${data}`, detail: "high" } },
			{ inlineData: { mimeType: mediaType, data } },
			{ image: { format: "png", source: { bytes: data } } },
			[{ type: "input_image", image_url: `data:${mediaType};base64,${data}` }],
		]) {
			expect(imageOfPart(JSON.stringify(part))).toEqual(found);
		}
	});

	it("is absent without an image", () => {
		for (const value of [pdfOf(1), wavOf(1), "https://host/iVBORw0KGgo.png", "iVBORw0KGgo is how one begins", ""]) {
			expect(imageOfPart(JSON.stringify({ data: value }))?.mediaType, value.slice(0, 40)).toBeUndefined();
		}
		expect(imageOfPart("no JSON")).toBeUndefined();
	});
});
