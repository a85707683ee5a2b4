import { describe, expect, it } from "vitest";
import { shorten } from "./shorten.ts";

const range = (count: number) => Array.from({ length: count }, (_, index) => index);
const stamped = (index: number, said: string) =>
	`2026-03-01T10:${String(Math.floor(index / 60) % 60).padStart(2, "0")}:${String(index % 60).padStart(2, "0")}Z ${said}`;

describe("logs", () => {
	it("keep a FATAL in the middle of 20 000 lines, with its number and context", () => {
		const lines = range(20_000).map((index) => stamped(index, `INFO request ${index} served`));
		lines[10_000] = stamped(10_000, "FATAL out of file handles");
		lines[10_001] = stamped(10_001, "INFO closing connection pool for shutdown");
		const cut = shorten(lines.join("\n"), 2_000);
		expect(cut.strategy).toBe("log");
		expect(cut.text).toContain(`${lines[10_000]}\n${lines[10_001]}`);
		expect(cut.text).toMatch(/\[… lines \d+–\d+ (?:alike )?…\]\n(?:.*\n){0,2}2026\S+ FATAL/);
	});

	it("keep it in plain lines without timestamps, and with another focus", () => {
		const lines = range(20_000).map((index) => `step ${index} finished`);
		lines[12_345] = "FATAL: could not open store";
		for (const focus of ["", "why is step 77 slow"])
			expect(shorten(lines.join("\n"), 2_000, { focus }).text).toContain("FATAL: could not open store");
	});

	it("keep every distinct failure of a failing run instead of its repetitions", () => {
		const lines = range(3_000).map((index) =>
			index % 3 === 0 ? stamped(index, "ERROR worker 7: connection reset") : stamped(index, `INFO job ${index} ok`),
		);
		const failures = range(12).map(
			(index) => `ERROR table ${String.fromCharCode(97 + index)} is locked by another writer`,
		);
		failures.forEach((one, index) => {
			lines[200 + index * 211] = stamped(index, one);
		});
		const { text } = shorten(lines.join("\n"), 4_000);
		for (const one of failures) expect(text).toContain(one);
		expect(text.match(/connection reset/g)?.length).toBeLessThan(30);
	});

	it("fold similar lines, and the states of a progress bar", () => {
		const lines = [
			"Downloading packages",
			...range(2_000).map((index) => `[${"=".repeat(index % 40)}>] ${index} / 2000 MB`),
			"Building",
			"error: linker failed",
			"Done in 3s",
		];
		const { text, lines: counts } = shorten(lines.join("\n"), 1_200, { strategy: "log" });
		expect(text).toMatch(/lines \d+–\d+ alike/);
		expect(text).toContain("error: linker failed");
		expect(counts.total).toBe(lines.length);
		const bar = `Downloading\n${range(3_000)
			.map((index) => `${index} kB`)
			.join("\r")}\nerror: disk full\nExit code 1`;
		expect(shorten(bar, 800, { strategy: "log" }).text).toContain("error: disk full");
	});

	it("of a passing run shrink to its summary, far below the budget", () => {
		const lines = [
			"> app@1.0.0 test",
			...range(800).map((index) => ` ✓ handles errors of kind ${index} (${index % 7} ms)`),
			"",
			" Test Files  40 passed (40)",
			"      Tests  800 passed (800)",
			"   Duration  3.21s",
		];
		const cut = shorten(lines.join("\n"), 16_000);
		expect(cut.strategy).toBe("log");
		expect(cut.text.length).toBeLessThan(4_500);
		for (const line of lines.slice(-3)) expect(cut.text).toContain(line);
	});

	it.each([
		[
			"Python",
			'Traceback (most recent call last):\n  File "a.py", line 3, in <module>\n    run()\nValueError: bad port',
		],
		["Java", 'Exception in thread "main" java.lang.IllegalStateException: bad port\n\tat a.B.c(B.java:3)'],
		["Go", "panic: runtime error: index out of range [5]\n\ngoroutine 1 [running]:\nmain.main()\n\t/a/main.go:9"],
		["Rust", "thread 'main' panicked at src/main.rs:4:5:\nbad port"],
		["JavaScript", "TypeError: x is not a function\n    at run (file:///a/b.mjs:3:9)"],
		["C", "Segmentation fault (core dumped)"],
	])("keep the failure of %s in the middle", (_, failure) => {
		const lines = range(4_000).map((index) => stamped(index, `DEBUG tick ${index}`));
		lines.splice(2_000, 0, ...failure.split("\n"));
		const { text } = shorten(lines.join("\n"), 2_000);
		for (const line of failure.split("\n").filter((one) => one !== "")) expect(text).toContain(line);
	});

	it("keep the program's own stack frames before those of libraries, and the line before a failure", () => {
		const libraries = range(20).map((index) => `    at step${index} (node_modules/runner/lib/step.js:${index}:3)`);
		const own = "    at loadPort (src/settings.ts:41:9)";
		const lines = range(3_000).map((index) => stamped(index, `INFO tick ${index}`));
		const failure = ["reading settings.toml", "TypeError: port is not a number", ...libraries.slice(0, 8), own];
		lines.splice(1_500, 0, ...failure, ...libraries.slice(8));
		const { text } = shorten(lines.join("\n"), 1_000);
		for (const line of [...failure.slice(0, 2), own]) expect(text).toContain(line);
		expect(text).not.toContain(libraries[19]);
	});

	it("keep lines with the words of the focus before others", () => {
		const lines = range(2_000).map((index) => stamped(index, `INFO ${index} ${"abcdefgh"[index % 8]} done`));
		lines[700] = stamped(700, "INFO uploaded invoice batch");
		const holds = (focus: string) =>
			shorten(lines.join("\n"), 1_200, { strategy: "log", focus }).text.includes("invoice");
		expect(holds("why is the invoice missing")).toBe(true);
	});
});
