import type { Archive } from "../archive/archive.ts";
import { type ArchiveLocation, archivePlace } from "../archive/open.ts";
import { checkNamespace } from "../archive/reference.ts";
import type { Environment } from "../policy/layers.ts";
import type { Policy } from "../policy/schema.ts";

/** The archive named by argument, else by variable, else the user's files. Throws `invalid_argument`. */
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

/** A process's archive. `use` opens it and keeps it open meanwhile; `end` closes it after the last use. */
export type ArchiveSource = NonNullable<ReturnType<typeof createArchiveSource>>;

interface OpenArchive {
	readonly key: string;
	readonly archive: Promise<Archive>;
	uses: number;
}

/** Opened at its first use, so that a server starts fast, and again when its section of the policy changes. */
export function createArchiveSource(from: { readonly location: ArchiveLocation; readonly policy: () => Policy }) {
	const { location } = from;
	if (location.where === "none") return undefined;
	let current: OpenArchive | undefined;
	let hasEnded = false;

	const open = async (policy: Policy): Promise<Archive> => {
		const { openArchiveOfPolicy } = await import("../archive/open.ts");
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
		async use<T>(work: (archive: Archive) => Promise<T>): Promise<T> {
			const one = opened();
			one.uses += 1;
			try {
				return await work(await one.archive);
			} finally {
				one.uses -= 1;
				closeUnused(one);
			}
		},
		end(): void {
			hasEnded = true;
			if (current) closeUnused(current);
		},
	};
}
