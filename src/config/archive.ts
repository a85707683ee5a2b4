import type { Archive } from "../archive/archive.ts";
import { type ArchiveLocation, archivePlace } from "../archive/open.ts";
import { checkNamespace } from "../archive/reference.ts";
import type { Environment } from "../policy/layers.ts";
import type { Policy } from "../policy/schema.ts";

/**
 * The archive of `--archive` and `--namespace`, else of `PALIMPSEST_ARCHIVE` and `PALIMPSEST_NAMESPACE`; by default
 * the user's files, namespace `default`. Opens nothing. Throws `invalid_argument` for an unusable place or namespace.
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

/**
 * The archive of a process. It is opened at its first use and stays open during each `use`; `end` closes it after the
 * last one.
 */
export interface ArchiveSource {
	use<T>(work: (archive: Archive) => Promise<T>): Promise<T>;
	end(): void;
}

interface OpenArchive {
	readonly key: string;
	readonly archive: Promise<Archive>;
	uses: number;
}

/**
 * The source of an archive, or `undefined` if nothing is archived. It opens the archive again when the `archive`
 * section of the policy in force changes. Nothing is loaded until the first use, so that a server starts fast.
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
		// An archive in memory loses its content when it closes, so it keeps its first policy.
		const key = location.where === "memory" ? "" : JSON.stringify(policy.archive);
		if (current?.key === key) return current;
		const former = current;
		const next: OpenArchive = { key, archive: open(policy), uses: 0 };
		current = next;
		next.archive.catch(() => {
			if (current === next) current = undefined;
		});
		if (former) closeUnused(former);
		return next;
	};
	const closeUnused = (one: OpenArchive): void => {
		if (one.uses > 0 || (one === current && !hasEnded)) return;
		if (one === current) current = undefined;
		// Callers of `use` already got the error if the archive could not be opened.
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
