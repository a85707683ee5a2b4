import { expect, it, vi } from "vitest";
import { loadCounter } from "../../src/tokens/counter.ts";

const read = vi.hoisted(() => ({ paths: [] as string[] }));

vi.mock(import("node:fs"), async (importOriginal) => {
	const fs = await importOriginal();
	function readFileSync(path: string): Buffer {
		read.paths.push(path);
		return fs.readFileSync(path);
	}
	return { ...fs, readFileSync } as typeof fs;
});

it("reads a table once, at the first use of its counter", async () => {
	expect(read.paths).toEqual([]);
	const [count, again, harmony] = await Promise.all([
		loadCounter("o200k_base"),
		loadCounter("o200k_base"),
		loadCounter("o200k_harmony"),
	]);
	expect(count("hello world")).toBe(2);
	expect(again).toBe(count);
	expect(harmony).toBe(count);
	expect(read.paths.map((path) => path.split(/[\\/]/).at(-1))).toEqual(["o200k_base.tiktoken"]);
});
