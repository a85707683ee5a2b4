import { describe, expect, it } from "vitest";
import { type OversizedLine, wholeLines } from "../../src/mcp/transports/whole-lines.ts";

/** What comes out for chunks that go in, with a limit of 20 bytes. */
async function linesOf(...chunks: string[]) {
	const oversized: OversizedLine[] = [];
	const lines = wholeLines({ largest: 20, onOversized: (line) => oversized.push(line) });
	const out: string[] = [];
	lines.on("data", (line: Buffer) => out.push(line.toString("utf8")));
	for (const chunk of chunks) lines.write(chunk);
	lines.end();
	await new Promise((resolve) => lines.on("end", resolve));
	return { out, oversized };
}

describe("wholeLines", () => {
	it.each([
		["one a chunk", ["one\n", "two\n"], ["one\n", "two\n"]],
		["several in a chunk", ["one\ntwo\n\nthree\n"], ["one\n", "two\n", "\n", "three\n"]],
		["one over many chunks", ["o", "n", "", "e\nt", "wo\n"], ["one\n", "two\n"]],
		["with carriage returns", ["one\r\n"], ["one\r\n"]],
		["of exactly the limit", [`${"x".repeat(19)}\n`], [`${"x".repeat(19)}\n`]],
		["whose last has no end", ["one\ntw"], ["one\n"]],
	])("hands on lines %s", async (_what, chunks, expected) => {
		expect(await linesOf(...chunks)).toEqual({ out: expected, oversized: [] });
	});

	it("passes over a line that is too long, tells its ends, and goes on", async () => {
		const long = `${"a".repeat(15)}${"b".repeat(15)}\n`;
		for (const chunks of [
			[`${long}two\n`],
			["one\n", long.slice(0, 18), long.slice(18), "two\n"],
			Array.from(`${long}two\n`),
		]) {
			const { out, oversized } = await linesOf(...chunks);
			expect(out.at(-1)).toBe("two\n");
			expect(oversized).toHaveLength(1);
			expect(oversized[0]?.bytes).toBe(31);
			expect(oversized[0]?.head).toMatch(/^a/);
			expect(oversized[0]?.tail).toMatch(/b\n$/);
		}
	});

	it("tells no more than the ends of an endless line", async () => {
		const { oversized } = await linesOf("x".repeat(100_000), "y".repeat(100_000), "\n");
		expect(oversized[0]?.bytes).toBe(200_001);
		expect(oversized[0]?.head).toBe("x".repeat(300));
		expect(oversized[0]?.tail).toBe(`${"y".repeat(299)}\n`);
	});
});
