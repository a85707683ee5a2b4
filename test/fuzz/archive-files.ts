import { appendFile, mkdir, readdir, readFile, rename, rm, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Archive } from "../../src/storage/archive/archive.ts";
import { openArchive } from "../../src/storage/archive/open.ts";
import { drawText } from "./documents.ts";
import { oddTexts } from "./mutations.ts";
import { requireSame, settle } from "./oracles.ts";
import { between, chance, listOf, pick, type Random, type Target } from "./target.ts";

interface Damage {
	readonly kind: "cut" | "grow" | "overwrite" | "remove" | "folder" | "rename" | "add";
	/** Which of the files. */
	readonly place: number;
	readonly text: string;
}

interface ArchiveCase {
	readonly texts: readonly string[];
	readonly ids: readonly string[];
	readonly damages: readonly Damage[];
	/** Whether it is swept and counted too, which takes the longest. */
	readonly isSwept: boolean;
}

const kinds = ["cut", "grow", "overwrite", "remove", "folder", "rename", "add"] as const;
const junk = ["swept", "sweep-intent.json", ".tmp", "0".repeat(64), `${"1".repeat(64)}.none.json`, "calls", "x"];
const missing: ReadonlySet<string> = new Set(["original_not_found", "ambiguous_reference", "archive_unavailable"]);

/** Archives whose files were damaged: an original reads back word for word or not at all, and can be stored anew. */
export const archiveFiles: Target = {
	name: "archive-files",
	draw: (random): ArchiveCase => ({
		texts: listOf(random, [1, 3], drawText),
		ids: listOf(random, [3, 3], () => pick(random, ["a", "b", "__proto__", "../x", ""])),
		damages: listOf(random, [1, 3], drawDamage),
		isSwept: chance(random, 0.1),
	}),
	async check({ texts, ids, damages, isSwept }: ArchiveCase) {
		const folder = join(tmpdir(), `palimpsest-fuzz-archive-${process.pid}`);
		await rm(folder, { recursive: true, force: true });
		const open = async () => (await openArchive({ where: folder })) as Archive;
		const originals = texts.map((text, index) => ({ text, kind: "result" as const, toolCallId: ids[index] ?? "" }));
		const archive = await open();
		const refs = await archive.put(originals);
		for (const [index, ref] of refs.entries())
			requireSame((await archive.get(ref)).text, texts[index], "it reads back");
		for (const damage of damages) await carryOut(folder, damage);
		let isWhole = true;
		const other = await open();
		for (const one of [archive, other]) {
			for (const [index, ref] of refs.entries()) {
				const read = await settle(() => one.get(ref));
				isWhole &&= read.is === "done";
				if (read.is === "done") requireSame(read.value.text, texts[index], "a damaged archive gives no other text");
				else requireSame(missing.has(read.code), true, `a damaged original is missing, not ${read.code}`);
			}
			for (const id of ids) await settle(() => one.find(id));
			if (isSwept) {
				await settle(() => one.stats());
				await settle(async () => {
					for await (const { ref } of one.list()) await one.get(ref);
				});
				await settle(() => one.sweep());
			}
			const again = await settle(() => one.put(originals));
			if (again.is === "done") {
				for (const [index, ref] of again.value.entries()) {
					requireSame((await one.get(ref)).text, texts[index], "stored anew, it reads back");
				}
			}
		}
		await Promise.all([archive.close(), other.close()]);
		await rm(folder, { recursive: true, force: true });
		return isWhole ? "done" : "refused";
	},
};

function drawDamage(random: Random): Damage {
	return {
		kind: pick(random, kinds),
		place: between(random, 0, 1_000),
		text: chance(random, 0.5) ? pick(random, [...junk, ...oddTexts]) : drawText(random),
	};
}

async function carryOut(folder: string, { kind, place, text }: Damage): Promise<void> {
	const entries = await readdir(folder, { recursive: true, withFileTypes: true });
	const files = entries
		.filter((entry) => entry.isFile())
		.map((entry) => join(entry.parentPath, entry.name))
		.sort();
	const file = files[place % Math.max(1, files.length)];
	if (file === undefined) return;
	const size = (await readFile(file)).length;
	switch (kind) {
		case "cut":
			return truncate(file, Math.floor(size / 2));
		case "grow":
			return appendFile(file, text);
		case "overwrite":
			return writeFile(file, text.slice(0, size));
		case "remove":
			return rm(file);
		case "folder":
			await rm(file);
			await mkdir(file);
			return;
		case "rename":
			return rename(file, `${file.slice(0, -1)}0`);
		case "add": {
			const name = pick(() => (place % 7) / 7, junk);
			await writeFile(join(file, "..", name), text).catch(() => {});
		}
	}
}
