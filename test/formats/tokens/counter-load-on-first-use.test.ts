import { expect, it, vi } from "vitest";
import { loadCounter } from "../../../src/formats/tokens/counter.ts";

const read = vi.hoisted(() => ({ tables: [] as string[] }));

vi.mock(import("node:fs"), async (importOriginal) => {
	const fs = await importOriginal();
	function readFileSync(...given: Parameters<typeof fs.readFileSync>) {
		const name = String(given[0]).split(/[\\/]/).at(-1) ?? "";
		if (name.endsWith(".tokens")) read.tables.push(name);
		return fs.readFileSync(...given);
	}
	return { ...fs, readFileSync } as typeof fs;
});

it("reads a table once, at the first use of its counter", async () => {
	expect(read.tables).toEqual([]);
	const [count, again, harmony] = await Promise.all([
		loadCounter("o200k_base"),
		loadCounter("o200k_base"),
		loadCounter("o200k_harmony"),
	]);
	expect(count("hello world")).toBe(2);
	expect(again).toBe(count);
	expect(harmony).toBe(count);
	expect(read.tables).toEqual(["o200k_base.tokens"]);
});
