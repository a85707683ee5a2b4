import { describe, expect, it } from "vitest";
import { failureSign, isSummaryLine } from "../../../src/engine/truncation/failure-signs.ts";

/** At the start of a line it is the form of a failure; elsewhere it has a word of one, and no number counts it. */
const message = "Execution halted";

describe("what a logger writes before a message", () => {
	it.each([
		"[worker 12]",
		"(pool-1)",
		"web-1.2/api   |",
		"web|",
		"#7",
		"#12 3.456",
		"2026-11-23 10:20:30",
		"2026/11/23T10:20:30",
		"2026-11-23T10:20:30.123456",
		"2026-11-23 10:20:30,123",
		"2026-11-23T10:20:30Z",
		"2026-11-23T10:20:30.123Z",
		"2026-11-23 10:20:30 Z",
		"2026-11-23T10:20:30+01:00",
		"2026-11-23 10:20:30 -0130",
		"10:20:30",
		"10:20:30.123",
		"10:20:30,123",
		"Nov 23 10:20:30",
		"Nov  3 10:20:30",
		"Nov 23 10:20:30 host:",
		"Nov 23 10:20:30 app[123]:",
		"Nov 23 10:20:30 sshd(pam)[123]:",
		"12.345678",
		"7%",
		"100%",
		"app:",
		"a:",
		"sshd[12345]:",
		">",
		"│",
		"-",
		"*",
		"    10:20:30",
		"10:20:30   [main]\t(pool-1) app:",
	])("is passed over: %s", (prefix) => {
		expect(failureSign(`${prefix} ${message}`)).toBe("sure");
	});

	it.each([
		"[worker",
		"[]",
		"(two words)",
		"()",
		"two words|",
		"#",
		"2026-11-23 10:20:xx",
		"10:20:xx",
		"Nov 23 10:20:xx",
		"12.x",
		"x%",
		"word",
		"app[pid]:",
		"[1] [2] [3] [4] [5]",
	])("is nothing else: %s", (before) => {
		expect(failureSign(`${before} ${message}`)).toBe("likely");
	});

	it.each([
		"WARN",
		"10:20:30 INFO",
		"[warn]",
		"[info]",
		"[information]",
		"[debug]",
		"notice:",
		"   2026-11-23 warning:",
	])("is not passed over where it says that the line is not an error: %s", (level) => {
		expect(failureSign(`${level} ${message}`)).not.toBe("sure");
	});

	it("is passed over where only the message has such a word", () => {
		expect(failureSign(`app: ${message}, no info`)).toBe("sure");
	});
});

describe("a summary", () => {
	it.each([
		"==== 3 passed, 1 failed in 0.12s ====",
		"= 1 error =",
		"=== 2 errors in 3 s ===",
		"=== 1 warning ===",
		"== no tests ran in 0.01s ==",
		"Found 12 errors",
		"Found 1 problem",
		"Ran 12 tests",
		"OK (3 tests)",
		"OK",
		"12 passing",
		"✖ 12 problems",
		"added 12 packages",
		"12 vulnerabilities",
		"real    0m1",
		"12 examples, 0 failures",
		"87% tests passed",
		"all: 12 failed in 3",
		`12 failed in 3 s ${"z".repeat(40)}`,
		"all: 12 errors",
		"all: 1 failure, of which",
	])("counts tests or errors, or tells the time: %s", (line) => {
		expect(isSummaryLine(line)).toBe(true);
	});

	it.each(["=== passed", "== nothing of it ==", "Found errors", "Ran tests", "OK and more", "real time"])(
		"does nothing else: %s",
		(line) => {
			expect(isSummaryLine(line)).toBe(false);
		},
	);
});
