import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import { claudeCodeSession } from "../support/claude-code-session.ts";
import { runHere } from "../support/run-here.ts";
import { scratchFolder } from "../support/scratch-folder.ts";

const session = claudeCodeSession(6);
const records = session.trimEnd().split("\n");
const third = records[3] ?? "";
const damaged = Buffer.concat([
	Buffer.from([...records.slice(0, 3), third.slice(0, 90) + third, "\0".repeat(300), ...records.slice(4)].join("\n")),
	// A file may be cut inside a character.
	Buffer.from([0x0a, 0x7b, 0x22, 0xc3]),
]);

let folder: string;
beforeEach(async () => {
	folder = await scratchFolder();
	await writeFile(join(folder, "session.jsonl"), damaged);
	await writeFile(join(folder, "whole.jsonl"), session);
});

const run = (...parameters: string[]) => runHere(parameters, { folder });

describe("a damaged session file", () => {
	it.each([
		["report", "report", []],
		["replay", "replay", []],
		["count", "count", []],
		["prune", "prune", ["--biggest", "1", "--dry-run"]],
		["rescue", "rescue", ["--context-window", "2600"]],
	] as const)("is read by %s without its damaged records, and their number is said", async (_, command, more) => {
		const { code, lines } = await run(command, "session.jsonl", ...more);
		expect([code, lines]).toEqual([
			0,
			expect.arrayContaining(["palimpsest: skipped 3 damaged records of session.jsonl"]),
		]);
		expect(await readFile(join(folder, "session.jsonl"))).toEqual(damaged);
	});

	it("has the same report as the undamaged one", async () => {
		const [one, other] = await Promise.all([run("report", "session.jsonl"), run("report", "whole.jsonl")]);
		expect(one.text).toBe(other.text);
	});

	it.each(["mask", "guard"])("is refused by %s, which names rescue", async (command) => {
		const cut = Buffer.from(`${session}{"type":"user"`);
		await writeFile(join(folder, "session.jsonl"), cut);
		const window = command === "guard" ? ["--context-window", "9000"] : [];
		const { code, lines } = await run(command, "session.jsonl", ...window);
		expect(code).not.toBe(0);
		expect(lines.at(-1)).toMatch(/\[invalid_json\] .*palimpsest rescue skips them/);
	});
});
