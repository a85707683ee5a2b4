import type { ArchiveLocation } from "../archive/open.ts";
import { archivePlace } from "../archive/open.ts";
import { checkNamespace } from "../archive/reference.ts";
import type { Environment } from "../policy/layers.ts";

/** What names an archive. */
export interface ArchiveNames {
	/** The `--archive` argument. */
	readonly archive?: string | undefined;
	/** The `--namespace` argument. */
	readonly namespace?: string | undefined;
	readonly environment: Environment;
}

/**
 * Which archive is meant: by argument, else by `PALIMPSEST_ARCHIVE` and `PALIMPSEST_NAMESPACE`, else the files of the
 * user, namespace `default`. Nothing is opened.
 *
 * @throws PalimpsestError `invalid_argument` for a place or namespace that is none.
 */
export function archiveLocation({ archive, namespace, environment }: ArchiveNames): ArchiveLocation {
	const where = archive ?? (environment.PALIMPSEST_ARCHIVE || "files");
	archivePlace(where);
	return { where, namespace: checkNamespace(namespace ?? (environment.PALIMPSEST_NAMESPACE || "default")) };
}
