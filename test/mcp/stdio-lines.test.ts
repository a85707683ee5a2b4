import fc from "fast-check";
import { afterEach, describe, expect, it, vi } from "vitest";
import { createLineReader } from "../../src/mcp/stdio-lines.ts";

/** What comes out for chunks that go in, with a limit of 20 bytes unless told otherwise. */
function linesOf(chunks: readonly (string | Buffer)[], largest = 20) {
	const oversized: Parameters<Parameters<typeof createLineReader>[0]["onOversized"]>[0][] = [];
	const out: string[] = [];
	const read = createLineReader({
		largest,
		onLine: (line) => out.push(line),
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
	])("are passed on: %s", (_what, chunks, expected) => {
		expect(linesOf(chunks)).toEqual({ out: expected, oversized: [] });
	});

	const text = "é\n中文 🙂\r\n\nlast one\n";
	it("are the same wherever two cuts fall, inside characters too", () => {
		const bytes = Buffer.from(text);
		let cuts = 0;
		for (let first = 0; first <= bytes.length; first += 1) {
			for (let second = first; second <= bytes.length; second += 1) {
				const chunks = cutAt(bytes, first, second);
				expect(linesOf(chunks).out).toEqual(["é", "中文 🙂\r", "", "last one"]);
				cuts += 1;
			}
		}
		expect(cuts).toBeGreaterThan(300);
		expect(linesOf(Array.from(bytes, (byte) => Buffer.of(byte))).out).toEqual(["é", "中文 🙂\r", "", "last one"]);
	});

	it("replace invalid bytes like a decoder of the complete line", () => {
		let broken = 0;
		const byte = fc.oneof(fc.constantFrom(0x0a, 0x0d, 0xc3, 0xe4, 0xb8, 0xad, 0xf0, 0x9f, 0xff), fc.nat(255));
		fc.assert(
			fc.property(fc.array(fc.array(byte, { maxLength: 6 })), (parts) => {
				const chunks = parts.map((part) => Buffer.from(part));
				const whole = Buffer.concat(chunks).toString("latin1").split("\n").slice(0, -1);
				const expected = whole.map((line) => Buffer.from(line, "latin1").toString("utf8"));
				if (expected.some((line) => line.includes("\uFFFD"))) broken += 1;
				expect(linesOf(chunks, 1_000).out).toEqual(expected);
			}),
			{ numRuns: 500 },
		);
		expect(broken).toBeGreaterThan(50);
	});
});

describe("a line that is too long", () => {
	it("is skipped with its ends reported, and the next one is read", () => {
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

	it("reports only its ends, and the last bytes that arrived", () => {
		const { oversized } = linesOf(["x".repeat(100_000), "y".repeat(100_000), "z", "\nok\n"]);
		expect(oversized).toEqual([{ bytes: 200_002, head: "x".repeat(300), tail: `${"y".repeat(299)}z` }]);
	});

	it("because of its line break only is reported too", () => {
		expect(linesOf([`${"x".repeat(20)}\n`]).oversized).toMatchObject([{ bytes: 21 }]);
	});
});

describe("the work for a line of 50 MB", () => {
	const size = 50_000_000;

	it.each([65_536, 1_000])("is one search of each byte and at most two copies, in chunks of %i bytes", (chunkBytes) => {
		const copy = vi.spyOn(Buffer.prototype, "copy");
		const join = vi.spyOn(Buffer, "concat");
		const search = vi.spyOn(Buffer.prototype, "indexOf");
		let characters = 0;
		const onLine = (line: string) => {
			characters = line.length;
		};
		const read = createLineReader({ largest: 2 * size, onLine, onOversized: () => expect.unreachable() });
		const chunk = Buffer.alloc(chunkBytes, "x");
		for (let sent = 0; sent < size; sent += chunk.length) read(chunk);
		read(Buffer.from("\n"));
		const joined = join.mock.results.reduce((sum, { value }) => sum + value.length, 0);
		const copied = copy.mock.results.reduce((sum, { value }) => sum + value, joined);
		const searched = (search.mock.contexts as Buffer[]).reduce((sum, { length }) => sum + length, 0);
		expect(characters).toBeGreaterThanOrEqual(size);
		expect(copied).toBeGreaterThanOrEqual(size);
		// Small chunks are copied into blocks, and the blocks into the whole line.
		expect(copied).toBeLessThanOrEqual(2 * characters);
		// The last chunk is searched again behind its line feed.
		expect(searched).toBe(characters + 2);
	});
});
