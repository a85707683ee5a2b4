import type { Archive } from "../archive/archive.ts";
import { type ArchiveLocation, archivePlace } from "../archive/open.ts";
import { checkNamespace } from "../archive/reference.ts";
import type { Environment } from "../policy/layers.ts";
import type { Policy } from "../policy/schema.ts";

/**
 * The archive that the `--archive` and `--namespace` arguments name, else `PALIMPSEST_ARCHIVE` and `PALIMPSEST_NAMESPACE`;
 * by default the user's files, namespace `default`. Opens nothing.
 *
 * @throws PalimpsestError `invalid_argument` for a place or a namespace that cannot be used.
 */
export function archiveLocation(named: {
	readonly archive?: string | undefined;
	readonly namespace?: string | undefined;
	readonly environment: Environment;
}): ArchiveLocation {
	const { archive, namespace, environment } = named;
	const where = archive ?? (environment.PALIMPSEST_ARCHIVE || "files");
	archivePlace(where);
	return { where, namespace: checkNamespace(namespace ?? (environment.PALIMPSEST_NAMESPACE || "default")) };
}

/** The archive of a process, opened when it is first used. */
export interface ArchiveSource {
	/** Calls `work` with the archive, which stays open meanwhile. Fails as opening it does. */
	use<T>(work: (archive: Archive) => Promise<T>): Promise<T>;
	/** Closes the archive once nothing uses it. */
	end(): void;
}

interface OpenArchive {
	readonly key: string;
	readonly archive: Promise<Archive>;
	uses: number;
}

/**
 * Makes the source of an archive, which is opened again when the `archive` section of the policy in force changes;
 * `undefined` where nothing is kept. Loads and opens nothing yet: a client waits for its server to start.
 */
export function createArchiveSource(from: {
	readonly location: ArchiveLocation;
	readonly policy: () => Policy;
}): ArchiveSource | undefined {
	const { location } = from;
	if (location.where === "none") return undefined;
	let current: OpenArchive | undefined;
	let hasEnded = false;

	const open = async (policy: Policy): Promise<Archive> => {
		const { openArchiveOfPolicy } = await import("../archive/open.ts");
		// It is undefined only for `none`.
		return (await openArchiveOfPolicy(location, policy)) as Archive;
	};
	const opened = (): OpenArchive => {
		const policy = from.policy();
		// An archive in memory loses its content when it closes, so the first policy stays.
		const key = location.where === "memory" ? "" : JSON.stringify(policy.archive);
		if (current?.key === key) return current;
		const former = current;
		const next: OpenArchive = { key, archive: open(policy), uses: 0 };
		current = next;
		next.archive.catch(() => {
			// The next call tries again.
			if (current === next) current = undefined;
		});
		if (former) closeUnused(former);
		return next;
	};
	const closeUnused = (one: OpenArchive): void => {
		if (one.uses > 0 || (one === current && !hasEnded)) return;
		if (one === current) current = undefined;
		// Callers of `use` already got the error of an archive that could not be opened.
		one.archive.then((archive) => archive.close()).catch(() => undefined);
	};

	return {
		async use(work) {
			const one = opened();
			one.uses += 1;
			try {
				return await work(await one.archive);
			} finally {
				one.uses -= 1;
				closeUnused(one);
			}
		},
		end() {
			hasEnded = true;
			if (current) closeUnused(current);
		},
	};
}
