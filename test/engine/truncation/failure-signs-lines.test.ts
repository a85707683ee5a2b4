import { describe, expect, it } from "vitest";
import { failureSign } from "../../../src/engine/truncation/failure-signs.ts";
import { quietLines, sureLines } from "./failure-fixtures.ts";
import { shorten } from "./shorten.ts";

const range = (count: number) => Array.from({ length: count }, (_, index) => index);
const [tools, kinds] = [Object.entries(sureLines), Object.entries(quietLines)];

describe("a line that reports a failure", () => {
	it.each(tools)("is recognised by its form (%s)", (_, lines) => {
		for (const line of lines) expect(failureSign(line), line).toBe("sure");
	});

	it.each(kinds)("is not recognised in a line without a failure (%s)", (_, lines) => {
		for (const line of lines) expect(failureSign(line), line).not.toBe("sure");
	});

	it("is recognised in over 200 forms of 30 tools, and not in 70 similar ones", () => {
		expect(tools.length).toBeGreaterThan(30);
		expect(tools.flatMap(([, lines]) => lines).length).toBeGreaterThan(200);
		expect(kinds.flatMap(([, lines]) => lines).length).toBeGreaterThan(70);
	});

	it.each(tools)("is kept in the middle of a long log (%s)", (_, lines) => {
		for (const line of lines) {
			const log = range(2_000).map(
				(index) => `2026-03-01T10:00:${String(index % 60).padStart(2, "0")}Z INFO job ${index} done`,
			);
			log[1_000] = line;
			expect(shorten(log.join("\n"), 2_000).text.split("\n"), line).toContain(line);
		}
	});

	it("does not turn a passing run into a failing one when it is similar", () => {
		const quiet = kinds.flatMap(([, lines]) => lines);
		const log = range(3_000).map((index) => `2026-03-01T10:00:00Z INFO step ${index} of the job is done`);
		quiet.forEach((line, index) => {
			log[100 + index * 30] = line;
		});
		const cut = shorten(log.join("\n"), 16_000, { strategy: "log" });
		expect(cut.text.length).toBeLessThanOrEqual(4_000);
	});
});

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
	])("reports a failure: %s", (line) => {
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
	])("does not report one: %s", (line) => {
		expect(failureSign(line)).toBe("none");
	});
});
