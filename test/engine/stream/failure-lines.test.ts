import { describe, expect, it } from "vitest";
import { readFailureLines } from "../../../src/engine/stream/failure-lines.ts";
import { failureSign } from "../../../src/engine/truncate/failure-lines.ts";

function found(...pieces: string[]) {
	const reader = readFailureLines();
	for (const piece of pieces) reader.push(piece);
	return reader.end();
}

describe("a line", () => {
	it.each([
		"npm ERR! code ELIFECYCLE",
		"src/a.ts(3,5): error TS2322: Type 'string' is not assignable to type 'number'.",
		"FAIL test/a.test.ts > adds",
		"   × adds two numbers 3ms",
		"✗ 1 of 200",
		"fatal: not a git repository",
		"Traceback (most recent call last):",
		"AssertionError: expected 1 to be 2",
		"java.lang.NullPointerException: x",
		"thread 'main' panicked at src/main.rs:2:5",
		"make: *** [Makefile:3: all] Error 2",
		"not ok 12 - parses",
		"\u001b[31merror\u001b[39m Command failed",
		"Segmentation fault (core dumped)",
		"2026-11-21 FATAL disk on fire",
	])("tells of a failure: %s", (line) => {
		expect(failureSign(line)).not.toBe("none");
	});

	it.each([
		"0 errors",
		"Found 0 errors.",
		"no errors",
		"errors: 0",
		"12 passed, 0 failed",
		"terrorise",
		"all fine",
		"",
	])("does not: %s", (line) => {
		expect(failureSign(line)).toBe("none");
	});
});

describe("the lines of a text", () => {
	it("have their numbers, and what follows them", () => {
		const { lines, dropped } = found("one\ntwo\r\nerr", "or: three\r\n  at a\r\n  at b\r\n  at c\nfive\n");
		expect(lines).toEqual([
			{
				number: 3,
				text: "error: three",
				isSure: true,
				start: 9,
				match: 0,
				after: [
					{ number: 4, text: "  at a" },
					{ number: 5, text: "  at b" },
				],
			},
		]);
		expect(dropped).toBe(0);
	});

	it("are found behind a progress bar that returns to the beginning of its line", () => {
		expect(found(`${"50 % done\r".repeat(5_000)}FATAL: full\nnext`).lines).toEqual([
			{ number: 1, text: "FATAL: full", isSure: true, start: 50_000, match: 0, after: [{ number: 2, text: "next" }] },
		]);
	});

	it("are told once, whatever the time before them", () => {
		const { lines } = found("10:00:01 error: a\n10:00:02 error: a\n10:00:03 error: b\n");
		expect(lines.map(({ number, text }) => [number, text])).toEqual([
			[1, "10:00:01 error: a"],
			[3, "10:00:03 error: b"],
		]);
	});

	it("are the first and the last where there are too many, and count the rest", () => {
		const { lines, dropped } = found(Array.from({ length: 5_000 }, (_, index) => `error in test-${index}x\n`).join(""));
		expect(lines.length + dropped).toBe(5_000);
		expect(lines.length).toBeLessThanOrEqual(400);
		expect([lines[0]?.number, lines.at(-1)?.number]).toEqual([1, 5_000]);
	});

	it("keep the beginning of one that never ends", () => {
		const reader = readFailureLines();
		for (let index = 0; index < 200; index += 1) reader.push(`error ${"x".repeat(65_536)}`);
		expect(reader.end().lines.map(({ text }) => text.length)).toEqual([1_000]);
	});
});
