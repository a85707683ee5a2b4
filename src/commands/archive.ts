import type { Archive, Listing } from "../archive/archive.ts";
import { PalimpsestError } from "../errors.ts";
import { type ArchiveCommandOptions, commandConfig, printJson, say, withOwnArchive, writeOut } from "./input-output.ts";

/** `palimpsest archive stats`: where the archive is and what it holds. */
export async function showArchive(options: ArchiveCommandOptions): Promise<void> {
	await onArchive(options, async (archive) => {
		const { namespace, location, originals, bytes, oldestUse } = await archive.stats();
		const oldest_use = oldestUse === null ? null : new Date(oldestUse).toISOString();
		printJson({ namespace, location, originals, bytes, oldest_use }, 2);
	});
}

/** `palimpsest archive sweep`: applies the retention now. */
export async function sweepArchive(options: ArchiveCommandOptions): Promise<void> {
	await onArchive(options, async (archive) => {
		const { removed, removedBytes, kept, keptBytes } = await archive.sweep();
		printJson({ removed, removed_bytes: removedBytes, kept, kept_bytes: keptBytes }, 2);
	});
}

/** `palimpsest archive export`: prints every original as a line of JSON, and says how many cannot be read. */
export async function exportArchive(options: ArchiveCommandOptions): Promise<void> {
	await onArchive(options, async (archive) => {
		let unreadable = 0;
		for await (const listing of archive.list()) {
			const text = await textOf(archive, listing);
			if (text === undefined) unreadable += 1;
			else await writeOut(`${JSON.stringify({ ...described(listing), text })}\n`);
		}
		if (unreadable === 0) return;
		say(`${unreadable} could not be read: they went meanwhile or are damaged`);
		process.exitCode = 1;
	});
}

/** `palimpsest archive clear --yes`: deletes all that the namespace holds. */
export async function clearArchive(options: ArchiveCommandOptions): Promise<void> {
	await onArchive(options, async (archive) => printJson({ removed: await archive.clear() }, 2));
}

async function onArchive(options: ArchiveCommandOptions, work: (archive: Archive) => Promise<void>): Promise<void> {
	await withOwnArchive(options, (await commandConfig(options)).policy, work);
}

function described({ ref, kind, toolCallId, toolName, chars, archivedAt, redactions }: Listing) {
	const archived_at = new Date(archivedAt).toISOString();
	return { ref, kind, tool_call_id: toolCallId, tool_name: toolName, chars, archived_at, redactions };
}

async function textOf(archive: Archive, { ref }: Listing): Promise<string | undefined> {
	try {
		return (await archive.get(ref)).text;
	} catch (error) {
		if (error instanceof PalimpsestError && error.code === "original_not_found") return undefined;
		throw error;
	}
}
