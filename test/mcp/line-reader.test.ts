import fc from "fast-check";
import { afterEach, describe, expect, it, vi } from "vitest";
import { createLineReader, type Line, type OversizedLine } from "../../src/mcp/transports/stdio/line-reader.ts";

const bytesOf = (line: Line) => (typeof line === "string" ? Buffer.from(line) : Buffer.concat(line));

/** What comes out for chunks that go in, with a limit of 20 bytes unless told otherwise. */
function linesOf(chunks: readonly (string | Buffer)[], largest = 20, largestInBytes?: number) {
	const oversized: OversizedLine[] = [];
	const out: string[] = [];
	const read = createLineReader({
		largest,
		...(largestInBytes === undefined ? {} : { largestInBytes }),
		onLine: (line) => out.push(bytesOf(line).toString("utf8")),
		onOversized: (line) => oversized.push(line),
	});
	for (const chunk of chunks) read(Buffer.from(chunk as string));
	return { out, oversized };
}

/** The chunks of a text cut after these numbers of bytes. */
function cutAt(bytes: Buffer, ...places: readonly number[]): Buffer[] {
	const ends = [0, ...places, bytes.length];
	return ends.slice(1).map((end, index) => bytes.subarray(ends[index], end));
}

afterEach(() => {
	vi.restoreAllMocks();
});

describe("lines", () => {
	it.each([
		["one a chunk", ["one\n", "two\n"], ["one", "two"]],
		["several in a chunk", ["one\ntwo\n\nthree\n"], ["one", "two", "", "three"]],
		["one over many chunks", ["o", "n", "", "e\nt", "wo\n"], ["one", "two"]],
		["with carriage returns", ["one\r", "\n"], ["one\r"]],
		["of exactly the limit", [`${"x".repeat(19)}\n`], ["x".repeat(19)]],
		["whose last has no end", ["one\ntw"], ["one"]],
	])("are handed on: %s", (_what, chunks, expected) => {
		expect(linesOf(chunks)).toEqual({ out: expected, oversized: [] });
	});

	const text = "é\n中文 🙂\r\n\nlast one\n";
	it("come out the same wherever two cuts fall, inside characters too", () => {
		const bytes = Buffer.from(text);
		let cuts = 0;
		for (let first = 0; first <= bytes.length; first += 1) {
			for (let second = first; second <= bytes.length; second += 1) {
				const chunks = cutAt(bytes, first, second);
				expect(linesOf(chunks).out).toEqual(["é", "中文 🙂\r", "", "last one"]);
				expect(linesOf(chunks, 20, 4).out).toEqual(["é", "中文 🙂\r", "", "last one"]);
				cuts += 1;
			}
		}
		expect(cuts).toBeGreaterThan(300);
		expect(linesOf(Array.from(bytes, (byte) => Buffer.of(byte))).out).toEqual(["é", "中文 🙂\r", "", "last one"]);
	});

	it("are the bytes that came, invalid ones and all", () => {
		let broken = 0;
		const byte = fc.oneof(fc.constantFrom(0x0a, 0x0d, 0xc3, 0xe4, 0xb8, 0xad, 0xf0, 0x9f, 0xff), fc.nat(255));
		fc.assert(
			fc.property(fc.array(fc.array(byte, { maxLength: 6 })), (parts) => {
				const chunks = parts.map((part) => Buffer.from(part));
				const whole = Buffer.concat(chunks).toString("latin1").split("\n").slice(0, -1);
				const expected = whole.map((line) => Buffer.from(line, "latin1").toString("utf8"));
				if (expected.some((line) => line.includes("\uFFFD"))) broken += 1;
				const out: string[] = [];
				const onLine = (line: Line) => out.push(bytesOf(line).toString("latin1"));
				const read = createLineReader({ largest: 1_000, onLine, onOversized: () => expect.unreachable() });
				for (const chunk of chunks) read(chunk);
				expect(out).toEqual(whole);
				// Decoded as it comes, a line is what it is decoded as a whole.
				expect(linesOf(chunks, 1_000, 4).out).toEqual(expected);
			}),
			{ numRuns: 500 },
		);
		expect(broken).toBeGreaterThan(50);
	});
});

describe("a long line", () => {
	it.each([70_001, 300_000, 2_000_000])("is decoded as it comes, whatever is cut: chunks of %i bytes", (size) => {
		const line = Array.from({ length: 120_000 }, (_, index) => `${index}é中🙂`).join("");
		const bytes = Buffer.from(`${line}\nshort\n${line}\n`);
		const chunks = cutAt(bytes, ...Array.from({ length: Math.floor(bytes.length / size) }, (_, index) => index * size));
		const kinds: string[] = [];
		const out: string[] = [];
		const onLine = (one: Line) => {
			kinds.push(typeof one);
			out.push(bytesOf(one).toString("utf8"));
		};
		const onOversized = () => expect.unreachable();
		const read = createLineReader({ largest: 10_000_000, largestInBytes: 100_000, onLine, onOversized });
		for (const chunk of chunks) read(chunk);
		expect(out[0] === line && out[1] === "short" && out[2] === line).toBe(true);
		expect(kinds).toEqual(["string", "object", "string"]);
	});
});

describe("a line that is too long", () => {
	it("is passed over, its ends are told, and the next one is read", () => {
		const long = `${"a".repeat(15)}${"b".repeat(15)}\n`;
		for (const chunks of [
			[`${long}two\n`],
			["one\n", long.slice(0, 18), long.slice(18), "two\n"],
			Array.from(`${long}two\n`),
		]) {
			const { out, oversized } = linesOf(chunks);
			expect(out.at(-1)).toBe("two");
			expect(oversized).toEqual([{ bytes: 31, head: expect.stringMatching(/^a/), tail: expect.stringMatching(/b$/) }]);
		}
	});

	it("tells no more than its ends, and the end of what came last", () => {
		const { oversized } = linesOf(["x".repeat(100_000), "y".repeat(100_000), "z", "\nok\n"]);
		expect(oversized).toEqual([{ bytes: 200_002, head: "x".repeat(300), tail: `${"y".repeat(299)}z` }]);
	});

	it("is told alike where it was decoded as it came", () => {
		const chunks = ["中".repeat(20_000), "é".repeat(20_000), "\nok\n"];
		expect(linesOf(chunks, 90_000, 50_000)).toEqual(linesOf(chunks, 90_000));
		expect(linesOf(chunks, 90_000, 50_000).oversized).toMatchObject([{ bytes: 100_001, tail: "é".repeat(150) }]);
	});

	it("by its line break alone is told too", () => {
		expect(linesOf([`${"x".repeat(20)}\n`]).oversized).toMatchObject([{ bytes: 21 }]);
	});
});

describe("the work for a line of 50 MB in chunks of 64 kB", () => {
	const size = 50_000_000;
	const chunk = Buffer.alloc(65_536, "x");

	/** Bytes that were copied and searched while such a line was read, and the pieces in which it came out. */
	function workFor(piece: Buffer) {
		const concat = vi.spyOn(Buffer, "concat");
		const search = vi.spyOn(Buffer.prototype, "indexOf");
		let line: Line = [];
		const read = createLineReader({
			largest: 2 * size,
			onLine: (taken) => {
				line = taken;
			},
			onOversized: () => expect.unreachable(),
		});
		for (let sent = 0; sent < size; sent += piece.length) read(piece);
		read(Buffer.from("\n"));
		const lengthOf = (buffers: readonly { readonly length: number }[]) =>
			buffers.reduce((sum, { length: n }) => sum + n, 0);
		return {
			length: lengthOf(line as readonly Buffer[]),
			copied: lengthOf(concat.mock.calls.flatMap(([buffers]) => buffers)),
			searched: lengthOf(search.mock.contexts as Buffer[]),
			pieces: line.length,
		};
	}

	it("is one search of each byte, and no copy", () => {
		const { length, copied, searched } = workFor(chunk);
		expect(length).toBeGreaterThanOrEqual(size);
		expect(copied).toBe(0);
		// The last chunk is searched again behind its line feed.
		expect(searched).toBe(length + 2);
	});

	it("is one copy more where the chunks are small, and few pieces", () => {
		const { length, copied, pieces } = workFor(chunk.subarray(0, 1_000));
		expect(length).toBeGreaterThanOrEqual(size);
		expect(copied).toBe(length);
		expect(pieces).toBeLessThan(size / 32_000);
	});
});
