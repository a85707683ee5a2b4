import { readdir } from "node:fs/promises";
import { describe, expect, it } from "vitest";
import type { Archive } from "../../../src/storage/archive/archive.ts";
import { openArchive } from "../../../src/storage/archive/open.ts";
import { scratchFolder } from "../../support/scratch-folder.ts";
import { startPutting, type Told } from "./putting-process.ts";

async function open(where: string): Promise<Archive> {
	const archive = await openArchive({ where });
	if (archive === undefined) throw new Error("no archive");
	return archive;
}

async function requireAll(archive: Archive, told: readonly Told[]): Promise<void> {
	for (const { ref, text } of told) {
		if ((await archive.get(ref)).text !== text) throw new Error(`${ref} gives another text`);
	}
}

describe("several processes on one archive", () => {
	it("lose and corrupt no text when four put the same and different texts at once, 100 each", async () => {
		const folder = await scratchFolder();
		const names = ["a", "b", "c", "d"];
		const processes = await Promise.all(names.map((name) => startPutting(folder, { name, count: 100, size: 100 })));
		for (const one of processes) one.begin();
		await Promise.all(processes.map((one) => one.over));
		const archive = await open(folder);
		expect(processes.map(({ told }) => told.length)).toEqual([100, 100, 100, 100]);
		for (const { told } of processes) await requireAll(archive, told);
		expect((await archive.stats()).originals).toBe(4 * 50 + 50);
		expect((await archive.find("call 0")).map(({ toolName }) => toolName).sort()).toEqual(names);
		expect((await archive.find("call 1")).length).toBe(1);
		const left = await readdir(folder, { recursive: true });
		expect(left.filter((name) => name.endsWith(".tmp"))).toEqual([]);
	});

	it("keep every acknowledged text after SIGKILL at random moments, 8 times", async () => {
		const folder = await scratchFolder();
		const archive = await open(folder);
		let [told, killed] = [0, 0];
		for (let round = 0; round < 2; round += 1) {
			const names = [0, 1, 2, 3].map((number) => `${round}-${number}`);
			const processes = await Promise.all(names.map((name) => startPutting(folder, { name, count: 1e6, size: 2000 })));
			for (const [index, one] of processes.entries()) {
				one.begin();
				const killSoon = () => void setTimeout(one.kill, 20 + Math.random() * 150 + index * 10);
				// How many texts a machine keeps in this time, nobody knows: most have some to tell of before it begins.
				if (index === 0) killSoon();
				else void one.whenTold(8).then(killSoon);
			}
			await Promise.all(processes.map((one) => one.over));
			for (const one of processes) {
				killed += 1;
				told += one.told.length;
				await requireAll(archive, one.told);
			}
		}
		expect(killed).toBe(8);
		expect(told).toBeGreaterThan(40);
		for await (const { ref } of archive.list()) await archive.get(ref);
	});

	it("keep every acknowledged text when one sweeps while others put expiring texts", async () => {
		const folder = await scratchFolder();
		const day = 24 * 3_600_000;
		let time = Date.now() - 100 * day;
		const old = await openArchive({ where: folder, now: () => time });
		const texts = Array.from({ length: 200 }, (_, index) => ({ text: `old ${index}`, kind: "result" as const }));
		await old?.put(texts);
		time = Date.now();
		const sweepers = await Promise.all([open(folder), open(folder)]);
		const [putter, reader] = [await open(folder), await open(folder)];
		const sweeping = Promise.all(sweepers.map((one) => one.sweep()));
		const refs: string[] = [];
		for (const text of texts.toReversed()) refs.push(...(await putter.put([text])));
		const swept = await sweeping;
		for (const ref of refs) await reader.get(ref);
		expect(refs.length).toBe(200);
		expect(swept.every(({ removed, kept }) => removed + kept <= 200)).toBe(true);
	});
});
