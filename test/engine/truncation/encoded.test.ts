import { createHash } from "node:crypto";
import { describe, expect, it } from "vitest";
import { encodedMark, findEncoded } from "../../../src/engine/truncation/encoded.ts";
import { noticesOf } from "../../support/notices-of.ts";
import { shorten } from "./shorten.ts";

/** Bytes that look random, and are the same in each run. */
function bytes(count: number): Buffer {
	const blocks = Array.from({ length: Math.ceil(count / 32) }, (_, index) =>
		createHash("sha256").update(`${index}`).digest(),
	);
	return Buffer.concat(blocks).subarray(0, count);
}

const png = Buffer.concat([Buffer.from("89504e470d0a1a0a", "hex"), bytes(30_000)]);
const base64 = png.toString("base64");

describe("a run of encoded bytes", () => {
	it.each([
		["base64", base64, "PNG"],
		["base64", bytes(3_000).toString("base64url"), undefined],
		["base64", (base64.match(/.{1,76}/g) ?? []).join("\\n"), "PNG"],
		["hex", png.toString("hex"), "PNG"],
		["hex", bytes(900).toString("hex").toUpperCase(), undefined],
	] as const)("is found as %s", (kind, data, format) => {
		expect(findEncoded(`see ${data}, and more`)).toEqual([{ start: 4, end: 4 + data.length, kind, format }]);
	});

	it.each([
		["a hash", bytes(64).toString("hex")],
		["words", "some words of a text ".repeat(200)],
		["one letter", "x".repeat(5_000)],
		["bars", "=-".repeat(2_000)],
		["names in a row", "one-small-step-for-a-reader/".repeat(60)],
		["digits", "0123456789".repeat(200)],
		["nucleotides", "ACGTTGCA".repeat(300)],
	])("is not %s", (_, text) => {
		expect(findEncoded(text)).toEqual([]);
	});

	it("does not begin inside an escape of JSON", () => {
		const text = JSON.stringify(`\u0001${base64}`);
		expect(findEncoded(text)[0]?.start).toBe(7);
	});

	it("is replaced by what it is and how large", () => {
		const mark = encodedMark({ start: 0, end: 40_012, kind: "base64", format: "PNG" }, noticesOf("en"));
		expect(mark).toBe("[… Base64 data (PNG), 40012 characters …]");
	});
});

describe("JSON with encoded bytes", () => {
	const image = { type: "image", source: { data: base64, media_type: "image/png", type: "base64" } };

	it.each([300, 1_000, 4_000])("shows everything else, in %i characters", (max) => {
		const { source } = JSON.parse(shorten(JSON.stringify(image), max, { ref: undefined }).text);
		expect(source).toEqual({ ...image.source, data: `[… Base64 data (PNG), ${base64.length} characters …]` });
	});

	it("keeps the text around them", () => {
		const text = `![plan](data:image/png;base64,${base64}) shows the plan`;
		const [shown] = JSON.parse(shorten(JSON.stringify([{ text }]), 600, { ref: undefined }).text).slice(1);
		expect(shown.text).toBe(
			`![plan](data:image/png;base64,[… Base64 data (PNG), ${base64.length} characters …]) shows the plan`,
		);
	});

	it("keeps its other items instead of them, also in JSON Lines and within a text", () => {
		const items = Array.from({ length: 20 }, (_, index) => ({ id: `item-${index}`, body: base64.slice(index * 10) }));
		for (const text of [
			JSON.stringify(items),
			JSON.stringify({ items }, null, 2),
			items.map((item) => JSON.stringify(item)).join("\n"),
			`Here are the items:\n${JSON.stringify(items)}`,
		]) {
			const shown = shorten(text, 3_000, { ref: undefined }).text;
			for (const { id } of items) expect(shown).toContain(`"${id}"`);
		}
	});

	it("keeps what is left of a JSON text valid in any room", () => {
		const text = JSON.stringify([image, { note: `a "quoted" ${base64}\n${base64} é`, list: [base64, 1, null] }]);
		for (let max = 40; max < 2_000; max += 61) {
			const shown = shorten(text, max, { ref: undefined }).text;
			expect(shown.length).toBeLessThanOrEqual(max);
			expect(() => JSON.parse(shown), `${max}`).not.toThrow();
		}
	});
});

describe("a text with encoded bytes in a line", () => {
	it("keeps the lines and the text around them", () => {
		const lines = Array.from({ length: 30 }, (_, index) => `line ${index} tells of step ${index}`);
		const text = [...lines, `<img src="data:image/png;base64,${base64}" alt="the plan">`, ...lines].join("\n");
		for (const given of [{}, { focus: "plan step" }]) {
			const shown = shorten(text, 3_000, { ref: undefined, ...given }).text;
			expect(shown).toContain(
				`<img src="data:image/png;base64,[… Base64 data (PNG), ${base64.length} characters …]" alt="the plan">`,
			);
			expect(shown).toContain("line 29 tells");
		}
	});
});
