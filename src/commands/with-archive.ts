import type { Archive } from "../archive/archive.ts";
import { openArchiveOfPolicy } from "../archive/open.ts";
import { archiveLocation } from "../config/archive-location.ts";
import { PalimpsestError } from "../errors.ts";
import type { Policy } from "../policy/schema.ts";
import type { ArchiveCommandOptions } from "./shell.ts";

/** Does something with the archive that a command names, none where nothing is to be kept, and closes it. */
export async function withArchive<T>(
	options: ArchiveCommandOptions,
	policy: Policy,
	work: (archive: Archive | undefined) => Promise<T>,
): Promise<T> {
	const archive = await openArchiveOfPolicy(archiveLocation({ ...options, environment: process.env }), policy);
	try {
		return await work(archive);
	} finally {
		await archive?.close();
	}
}

/**
 * The same for a command that is about the archive itself.
 *
 * @throws PalimpsestError `invalid_argument` where nothing is kept.
 */
export function withOwnArchive<T>(
	options: ArchiveCommandOptions,
	policy: Policy,
	work: (archive: Archive) => Promise<T>,
): Promise<T> {
	return withArchive(options, policy, async (archive) => {
		if (archive) return work(archive);
		throw new PalimpsestError(
			"invalid_argument",
			"Expected an archive to read; none keeps nothing. Name it by --archive.",
		);
	});
}
