import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeEach, expect, it } from "vitest";
import { runHere } from "../support/run-here.ts";
import { outputOf } from "../support/sample-text.ts";
import { scratchFolder } from "../support/scratch-folder.ts";

let folder: string;
beforeEach(async () => {
	folder = await scratchFolder();
});
const run = (parameters: string[], input: string | Buffer = "") => runHere(["count", ...parameters], { folder, input });

it("prints only the number", async () => {
	expect(await run(["-"], "hello world")).toMatchObject({ code: 0, text: "2\n", lines: [] });
	expect(await run(["-"], "")).toMatchObject({ code: 0, text: "0\n", lines: [] });
	await writeFile(join(folder, "text.txt"), "hello world <|endoftext|>");
	expect(await run(["text.txt", "--model", "gpt-4o"])).toMatchObject({ text: "9\n", lines: [] });
});

it("counts in the requested encoding or the model's encoding", async () => {
	const chinese = "上下文窗口".repeat(20);
	const [o200k, cl100k] = [await run(["-"], chinese), await run(["-", "--encoding", "cl100k_base"], chinese)];
	expect(Number(cl100k.text)).toBeGreaterThan(Number(o200k.text));
	expect((await run(["-", "--model", "gpt-4"], chinese)).text).toBe(cl100k.text);
	expect((await run(["-", "--set", "tokens.encoding=cl100k_base"], chinese)).text).toBe(cl100k.text);
});

it("prints the band of an estimate for people", async () => {
	const { text, lines } = await run(["-", "--model", "claude-sonnet-4-5"], outputOf("a"));
	expect(Number(text)).toBeGreaterThan(400);
	expect(lines).toEqual([
		expect.stringMatching(/^palimpsest: estimated for the model: 1.2 × the count in o200k_base; \d+ to \d+ tokens$/),
	]);
});

it("prints all fields for programs", async () => {
	const { text, lines } = await run(["-", "--json", "--model", "nobody-1"], outputOf("a"));
	const { tokens, low, high, ...rest } = JSON.parse(text);
	expect(low).toBeLessThan(tokens);
	expect(tokens).toBeLessThan(high);
	expect(rest).toEqual({ encoding: "o200k_base", method: "estimated", factor: 1.2, notes: [expect.any(String)] });
	expect(lines).toEqual([]);
	const exact = JSON.parse((await run(["-", "--json"], "hello world")).text);
	expect(exact).toEqual({
		tokens: 2,
		low: 2,
		high: 2,
		encoding: "o200k_base",
		method: "exact",
		factor: 1,
		notes: [],
	});
});

it("accepts a stream of over 50 MB and invalid UTF-8", async () => {
	const line = "The quick brown fox jumps over the lazy dog, again and again.\n";
	const times = Math.ceil(51_000_000 / line.length);
	const [one, many] = [await run(["-"], line), await run(["-"], line.repeat(times))];
	expect(Number(many.text)).toBe(Number(one.text) * times);
	expect(await run(["-"], Buffer.from([0xff, 0xfe, 0x80]))).toMatchObject({
		code: 0,
		text: expect.stringMatching(/^\d+\n$/),
	});
});

it("refuses bad input like the other commands", async () => {
	expect(await run(["absent.txt"])).toMatchObject({
		code: 1,
		text: "",
		lines: [expect.stringContaining("[unreadable_file]")],
	});
	const limited = await run(["-", "--set", "limits.max_file_bytes=10"], "more than ten bytes");
	expect(limited).toMatchObject({ code: 1, text: "", lines: [expect.stringContaining("[payload_too_large]")] });
	const both = await run(["-", "--model", "gpt-4", "--encoding", "cl100k_base"], "a");
	expect(both).toMatchObject({ code: 2, text: "" });
	expect(both.lines[0]).toMatch(/expected .* or --model <name>; got both/);
	expect((await run(["-", "--encoding", "p50k_base"])).lines[0]).toMatch(/expected one of o200k_base/);
	expect((await run([])).lines[0]).toMatch(/expected file; got none/);
});
