import { expect, it } from "vitest";
import {
	blocksEnd,
	caseless,
	classAt,
	endOfBytes,
	mark,
	symbol,
} from "../../../src/formats/tokens/character-classes.ts";

const kinds = [caseless, mark, symbol, caseless | mark];

it("skips blocks of three-byte characters only when every character has one of the classes", () => {
	const bytes = new Uint8Array(8).fill(endOfBytes);
	const wrong: number[] = [];
	let gone = 0;
	let stayed = 0;
	for (let codePoint = 0x800; codePoint < 0x10000; codePoint++) {
		if (codePoint >= 0xd800 && codePoint < 0xe000) continue;
		bytes.set(Buffer.from(String.fromCodePoint(codePoint).repeat(2)));
		const own = classAt(bytes, 0);
		for (const kind of kinds) {
			const end = blocksEnd(bytes, 0, kind);
			if (end === 0) stayed++;
			else gone++;
			if (end !== 0 && (end !== 6 || (own & kind) !== own)) wrong.push(codePoint);
		}
	}
	expect(wrong).toEqual([]);
	expect(gone).toBe(93_120);
	expect(stayed).toBeGreaterThan(60_000);
});

it("skips Chinese and Korean words to their ends, and stops before everything else", () => {
	for (const [text, characters] of [
		["中文字符，和", 4],
		["한국어 말", 3],
		["漢字a", 2],
		["漢字é", 2],
		["漢字😀", 2],
		// The second byte of this one is that of a block of Arabic letters.
		["漢字\u{1a000}", 2],
		["a漢字", 0],
		["漢字", 2],
	] as const) {
		const bytes = new Uint8Array(32).fill(endOfBytes);
		bytes.set(Buffer.from(text));
		expect(blocksEnd(bytes, 0, caseless), text).toBe(3 * characters);
	}
});
