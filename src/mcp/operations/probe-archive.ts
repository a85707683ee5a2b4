import { constants } from "node:fs";
import { access } from "node:fs/promises";
import path from "node:path";
import type { ArchiveLocation } from "../../archive/open-archive-of-policy.ts";
import type { ArchiveSource } from "../../config/create-archive-source.ts";

/** An id that no call has: every archive looks for it and finds nothing. */
const noCall = "palimpsest:readiness";

/**
 * Makes the probe of an archive: one look-up, in Redis one round trip; for a folder also whether it can be written, or
 * made. Stores nothing. The probe fails where the archive cannot be used.
 */
export function probeArchive({ source, location }: { source: ArchiveSource; location: ArchiveLocation }) {
	return async (): Promise<void> => {
		const place = await source.use(async (archive) => {
			await archive.find(noCall);
			return archive.location;
		});
		const isFolder = location.where !== "memory" && !/^rediss?:/.test(location.where);
		if (isFolder) await access(await nearestFolder(path.resolve(place)), constants.W_OK);
	};
}

/** The folder itself, or where nothing was kept yet the one in which it would be made. */
async function nearestFolder(folder: string): Promise<string> {
	for (let at = folder; ; at = path.dirname(at)) {
		const isThere = await access(at).then(
			() => true,
			() => false,
		);
		if (isThere || at === path.dirname(at)) return at;
	}
}
