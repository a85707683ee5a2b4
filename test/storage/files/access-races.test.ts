import { mkdir, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import { patience } from "../../support/patience.ts";
import { allowedText, type Folders, makeFolders, maxBytes, secret } from "./folders.ts";
import { startSwapping, stopSwapping } from "./swap-process.ts";

const refusals = ["path_not_allowed", "unreadable_file", "unwritable_file"];

let folders: Folders;
beforeEach(async () => {
	folders = await makeFolders();
	await mkdir(join(folders.root, "inner"));
	await writeFile(join(folders.root, "inner", "chat.json"), allowedText);
});

/** Does something until it was both done and refused as said, and 200 times at least. */
async function again(
	attempt: (index: number) => Promise<string>,
	isEnough: (seen: ReadonlyMap<string, number>) => boolean,
): Promise<Map<string, number>> {
	const seen = new Map<string, number>();
	const end = performance.now() + patience.timeout;
	for (let index = 0; index < 200 || (!isEnough(seen) && performance.now() < end); index += 1) {
		const outcome = await attempt(index).catch((error: { code: string }) => error.code);
		seen.set(outcome, (seen.get(outcome) ?? 0) + 1);
	}
	await stopSwapping();
	return seen;
}

// Windows makes no links without a privilege.
describe.skipIf(process.platform === "win32")("a link swapped in during a read leads nowhere", () => {
	it.each<[string, (folders: Folders) => [place: string, elsewhere: string]]>([
		["for the file", ({ root, outside }) => [join(root, "inner", "chat.json"), join(outside, "chat.json")]],
		["for its folder", ({ root, outside }) => [join(root, "inner"), outside]],
	])("%s", async (_what, swapped) => {
		await startSwapping(...swapped(folders));
		const seen = await again(
			async () => String(await folders.access.read("inner/chat.json", maxBytes)),
			(outcomes) => outcomes.has(allowedText) && outcomes.size > 1,
		);
		expect([...seen.keys()]).not.toContain(secret);
		expect(seen.get(allowedText)).toBeGreaterThan(0);
		const refused = [...seen.keys()].filter((outcome) => outcome !== allowedText);
		expect(refused.length).toBeGreaterThan(0);
		expect(refusals).toEqual(expect.arrayContaining(refused));
	});
});

// Elsewhere a folder cannot be held while its files are used.
describe.skipIf(process.platform !== "linux")("a link swapped in during a write leads nowhere", () => {
	it("in the folder of the target", async () => {
		await startSwapping(join(folders.root, "inner"), folders.outside);
		const seen = await again(
			async (index) => {
				await folders.access.write(`inner/${index}.json`, allowedText, index % 2 === 0);
				return "written";
			},
			(outcomes) => outcomes.has("written") && outcomes.has("path_not_allowed"),
		);
		expect(await readdir(folders.outside)).toEqual(["chat.json"]);
		// Where the swapping ended in between, the folder stands under its other name.
		const inside = await readdir(join(folders.root, "inner.kept")).catch(() => readdir(join(folders.root, "inner")));
		expect(inside.filter((name) => name.endsWith(".tmp"))).toEqual([]);
		expect(inside).toHaveLength(1 + (seen.get("written") ?? 0));
		expect(seen.get("path_not_allowed") ?? 0).toBeGreaterThan(0);
		expect(refusals).toEqual(expect.arrayContaining([...seen.keys()].filter((outcome) => outcome !== "written")));
	});
});
