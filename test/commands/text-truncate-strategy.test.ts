import { join } from "node:path";
import { beforeEach, expect, it } from "vitest";
import { runHere } from "../support/run-here.ts";
import { scratchFolder } from "../support/scratch-folder.ts";

let folder: string;
beforeEach(async () => {
	folder = await scratchFolder();
});
const lines = Array.from({ length: 900 }, (_, index) => `value${index} is one of many lines`).join("\n");
const cut = async (...parameters: string[]) => {
	const environment = { PALIMPSEST_ARCHIVE: join(folder, "archive") };
	return runHere(["truncate", "--set", "locale=en", ...parameters], { folder, input: lines, environment });
};

it("accepts a strategy and a query, in characters and in tokens", async () => {
	for (const limit of [
		["--max-chars", "3000"],
		["--max-tokens", "800"],
	]) {
		const { code, text } = await cut(...limit, "--strategy", "focus", "--focus", "where is value500");
		expect(code).toBe(0);
		expect(text).toMatch(/^\[Output shortened: \d+ of 900 lines left out .*All of it: .+ recall \w+\]\n/);
		expect(text).toContain("\nvalue500 is");
		expect(text.length).toBeLessThanOrEqual(3_000);
		const plain = await cut(...limit, "--strategy", "head_tail");
		expect(plain.text).not.toContain("value500 is");
		expect(plain.text.startsWith(limit[0] === "--max-chars" ? "value0 is" : "[Output shortened")).toBe(true);
	}
});

it("uses the query strategy for a query, and the policy's strategy otherwise", async () => {
	const focused = await cut("--max-chars", "3000", "--focus", "value500");
	expect(focused.text).toContain("\nvalue500 is");
	const json = await cut("--max-chars", "3000", "--set", 'truncate.strategy="log"', "--set", "truncate.keep_ansi=true");
	expect(json.text).toMatch(/^\[Output shortened: /);
	const headTail = await cut("--max-chars", "3000");
	expect(headTail.text).toMatch(/^value0 [\s\S]*\n\n\.\.\. \[\d+ characters truncated, ref=\w+\] \.\.\.\n\n/);
});

it("lists the strategies when given an unknown one", async () => {
	const { code, lines: said } = await cut("--strategy", "tail");
	expect(code).not.toBe(0);
	expect(said.join("\n")).toMatch(/head_tail, auto, json, log, diff, table, html, binary, focus for --strategy/);
});
