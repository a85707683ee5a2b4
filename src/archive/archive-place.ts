import path from "node:path";
import { PalimpsestError } from "../errors.ts";

/** What an archive is kept in, or that nothing is kept. */
export type ArchivePlace = "none" | "memory" | "files" | "folder" | "redis";

/**
 * The place that an archive is named by: `files` (under the user's state folder), `memory`, `none`, an address beginning
 * with `redis:` or `rediss:`, or the path of a folder, absolute or beginning with `./` or `../`.
 *
 * @throws PalimpsestError `invalid_argument` for any other name.
 */
export function archivePlace(where: string): ArchivePlace {
	if (where === "none" || where === "memory" || where === "files") return where;
	if (/^rediss?:/.test(where)) return "redis";
	if (path.isAbsolute(where) || /^\.\.?[\\/]/.test(where)) return "folder";
	throw new PalimpsestError(
		"invalid_argument",
		"Expected the archive to be files, memory, none, redis://HOST:PORT, or a folder such as /var/lib/palimpsest or ./archive.",
	);
}
