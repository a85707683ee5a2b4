import { appendFile, mkdir, readdir, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it, vi } from "vitest";
import type { FigureLine } from "../../../src/storage/figures/line.ts";
import { openFigures, readFigures } from "../../../src/storage/figures/store.ts";
import { scratchFolder } from "../../support/scratch-folder.ts";

const day = 24 * 3_600_000;
const start = Date.UTC(2026, 10, 28, 12);
const ping = { kind: "ping", billed: 100 } as const;

async function linesIn(folder: string, since = 0): Promise<FigureLine[]> {
	return collect(readFigures({ since, folder }));
}

async function collect<One>(all: AsyncIterable<One>): Promise<One[]> {
	const found: One[] = [];
	for await (const one of all) found.push(one);
	return found;
}

it.each([
	["all", "project"],
	["private", undefined],
	["none", undefined],
] as const)("figures that keep %s name the folder %s to the live page", (keep, name) => {
	expect(openFigures({ keep, projectFolder: "/a/project" }).folder).toBe(name);
});

describe("figures", () => {
	it("are in a file for each day, which only the user can read, with program and project", async () => {
		const folder = join(await scratchFolder(), "figures");
		let time = start;
		const figures = openFigures({
			keep: "all",
			program: "claude",
			projectFolder: "/a/project",
			folder,
			now: () => time,
		});
		figures.add(ping);
		time += day;
		figures.add(ping);
		expect(await readdir(folder)).toEqual(["2026-11-28.jsonl", "2026-11-29.jsonl"]);
		if (process.platform !== "win32") expect((await stat(join(folder, "2026-11-28.jsonl"))).mode & 0o077).toBe(0);
		const [first, second] = await linesIn(folder);
		expect(first).toMatchObject({ ...ping, at: start, program: "claude" });
		expect(first?.project).toMatch(/^[0-9a-f]{10}\/project$/);
		expect(await linesIn(folder, start + 1)).toEqual([second]);
	});

	it("are private or not kept at all, as the policy says", async () => {
		const folder = await scratchFolder();
		openFigures({ keep: "private", projectFolder: "/a/project", folder }).add(ping);
		openFigures({ keep: "none", folder }).add(ping);
		const lines = await linesIn(folder);
		expect(lines).toHaveLength(1);
		expect(lines[0]?.project).toMatch(/^[0-9a-f]{10}$/);
	});

	it("lose only the line that a crash cut off", async () => {
		const folder = await scratchFolder();
		const figures = openFigures({ keep: "all", folder, now: () => start });
		figures.add(ping);
		await appendFile(join(folder, "2026-11-28.jsonl"), '\n{"at":1,"kind":"pi');
		figures.add({ ...ping, billed: 7 });
		expect((await linesIn(folder)).map((line) => line.kind === "ping" && line.billed)).toEqual([100, 7]);
	});

	it("that cannot be written are lost, and nothing else is", async () => {
		const folder = await scratchFolder();
		const file = join(folder, "a-file");
		await writeFile(file, "");
		expect(() => openFigures({ keep: "all", folder: file }).add(ping)).not.toThrow();
		expect(await readFile(file, "utf8")).toBe("");
		expect(await linesIn(join(folder, "absent"))).toEqual([]);
	});

	it("are deleted after 400 days, and the oldest over 50 MB; other files stay", async () => {
		const folder = await scratchFolder();
		await mkdir(folder, { recursive: true });
		const names = ["2025-10-01.jsonl", "2026-01-01.jsonl", "2026-02-01.jsonl", "notes.jsonl"];
		for (const name of names)
			await writeFile(join(folder, name), "x".repeat(name < "2026-02" ? 30_000_000 : 25_000_000));
		openFigures({ keep: "all", folder, now: () => start }).add(ping);
		await vi.waitFor(async () => {
			expect((await readdir(folder)).sort()).toEqual(["2026-02-01.jsonl", "2026-11-28.jsonl", "notes.jsonl"]);
		});
	});
});
