import { isUtf8 } from "node:buffer";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { decodeText, encodeText } from "../../../src/formats/json-text/text-bytes.ts";
import { anyText } from "../../storage/archive/texts.ts";

async function decode(pieces: Iterable<Buffer>): Promise<string> {
	let text = "";
	for await (const piece of decodeText(pieces)) text += piece;
	return text;
}

function cut(bytes: Buffer, size: number): Buffer[] {
	return Array.from({ length: Math.ceil(bytes.length / size) }, (_, at) => bytes.subarray(at * size, (at + 1) * size));
}

describe("the bytes of a text", () => {
	it("decode to the text, however they are cut", async () => {
		let illFormed = 0;
		await fc.assert(
			fc.asyncProperty(anyText, fc.integer({ min: 1, max: 9 }), async (text, size) => {
				if (!text.isWellFormed()) illFormed += 1;
				expect(await decode(cut(Buffer.concat([...encodeText(text)]), size))).toBe(text);
			}),
			{ numRuns: 1000 },
		);
		expect(illFormed).toBeGreaterThan(200);
	});

	it("are UTF-8 for every text without lone surrogates, and for no other", () => {
		const seen = { wellFormed: 0, illFormed: 0 };
		fc.assert(
			fc.property(anyText, (text) => {
				const bytes = Buffer.concat([...encodeText(text)]);
				expect(isUtf8(bytes)).toBe(text.isWellFormed());
				if (text.isWellFormed()) expect(bytes.equals(Buffer.from(text, "utf8"))).toBe(true);
				seen[text.isWellFormed() ? "wellFormed" : "illFormed"] += 1;
			}),
			{ numRuns: 1000 },
		);
		expect(Math.min(seen.wellFormed, seen.illFormed)).toBeGreaterThan(100);
	});

	it("are split without splitting a surrogate pair", async () => {
		const text = `a${"😀".repeat(1_500_000)}`;
		const pieces = [...encodeText(text)];
		expect(pieces.length).toBeGreaterThan(2);
		expect(pieces.every((piece) => isUtf8(piece))).toBe(true);
		expect((await decode(pieces)) === text).toBe(true);
	});
});
