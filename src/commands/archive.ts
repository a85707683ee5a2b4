import type { Archive, Listing } from "../archive/archive.ts";
import { PalimpsestError } from "../errors.ts";
import { describeListing } from "../operations/recall.ts";
import { type ArchiveCommandOptions, commandConfig, printJson, say, withOwnArchive, writeOut } from "./input-output.ts";

/** `palimpsest archive stats`, `sweep`, `export` and `clear`. */
export async function runOnArchive(name: ArchiveCommand, options: ArchiveCommandOptions): Promise<void> {
	await withOwnArchive(options, (await commandConfig(options)).policy, commands[name]);
}

export type ArchiveCommand = keyof typeof commands;

const commands = {
	async stats(archive: Archive) {
		const { namespace, location, originals, bytes, oldestUse } = await archive.stats();
		const oldest_use = oldestUse === null ? null : new Date(oldestUse).toISOString();
		printJson({ namespace, location, originals, bytes, oldest_use }, 2);
	},

	async sweep(archive: Archive) {
		const { removed, removedBytes, kept, keptBytes } = await archive.sweep();
		printJson({ removed, removed_bytes: removedBytes, kept, kept_bytes: keptBytes }, 2);
	},

	async export(archive: Archive) {
		let unreadable = 0;
		for await (const listing of archive.list()) {
			const text = await readText(archive, listing);
			if (text === undefined) unreadable += 1;
			else await writeOut(`${JSON.stringify({ ...describeListing(listing), text })}\n`);
		}
		if (unreadable === 0) return;
		say(`${unreadable} could not be read: they went meanwhile or are damaged`);
		process.exitCode = 1;
	},

	async clear(archive: Archive) {
		printJson({ removed: await archive.clear() }, 2);
	},
};

async function readText(archive: Archive, { ref }: Listing): Promise<string | undefined> {
	try {
		return (await archive.get(ref)).text;
	} catch (error) {
		if (error instanceof PalimpsestError && error.code === "original_not_found") return undefined;
		throw error;
	}
}
