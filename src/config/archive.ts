import type { Archive } from "../archive/archive.ts";
import { type ArchiveLocation, archivePlace } from "../archive/open.ts";
import { checkNamespace } from "../archive/reference.ts";
import type { Environment } from "../policy/layers.ts";
import type { Policy } from "../policy/schema.ts";

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

/** The archive of a process, opened when it is first used. */
export interface ArchiveSource {
	/** Does something with the archive, which stays open meanwhile. Fails as opening it does. */
	use<T>(work: (archive: Archive) => Promise<T>): Promise<T>;
	/** Closes the archive once nothing uses it. */
	end(): void;
}

/** What an archive source is made from. */
export interface ArchiveSourceOptions {
	readonly location: ArchiveLocation;
	/** The policy in force. Where its `archive` section has changed, the archive is opened anew. */
	readonly policy: () => Policy;
}

interface Opening {
	readonly key: string;
	readonly archive: Promise<Archive>;
	uses: number;
}

/**
 * Makes the source of an archive; `undefined` where nothing is to be kept. Loads and touches nothing yet, since a client
 * waits for its server to start.
 */
export function createArchiveSource({ location, policy }: ArchiveSourceOptions): ArchiveSource | undefined {
	if (location.where === "none") return undefined;
	let current: Opening | undefined;
	let hasEnded = false;

	const open = async (inForce: Policy): Promise<Archive> => {
		const { openArchiveOfPolicy } = await import("../archive/open.ts");
		const archive = await openArchiveOfPolicy(location, inForce);
		if (!archive) throw new TypeError("Expected an archive that keeps something.");
		return archive;
	};
	const opening = (): Opening => {
		const inForce = policy();
		// What is in memory would be lost with its archive, so there the first policy stays.
		const key = location.where === "memory" ? "" : JSON.stringify(inForce.archive);
		if (current?.key === key) return current;
		const former = current;
		const next: Opening = { key, archive: open(inForce), uses: 0 };
		current = next;
		next.archive.catch(() => {
			// The next call tries again.
			if (current === next) current = undefined;
		});
		if (former) closeUnused(former);
		return next;
	};
	const closeUnused = (one: Opening): void => {
		if (one.uses > 0 || (one === current && !hasEnded)) return;
		if (one === current) current = undefined;
		// One that could not be opened has told so to those who wanted to use it.
		one.archive.then((archive) => archive.close()).catch(() => undefined);
	};

	return {
		async use(work) {
			const one = opening();
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
