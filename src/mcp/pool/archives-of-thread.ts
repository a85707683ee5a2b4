import type { Archive, Original } from "../../archive/archive.ts";
import { type ArchiveLocation, openArchiveOfPolicy } from "../../archive/open.ts";
import { type ArchiveSource, createArchiveSource } from "../../config/create-archive-source.ts";
import type { Policy } from "../../policy/schema.ts";

/** Does a job's work with its archive. */
export type UseArchive = <T>(
	job: { readonly location: ArchiveLocation; readonly policy: Policy },
	work: (archive: Archive) => Promise<T>,
) => Promise<{ readonly value: T; readonly originals: readonly Original[] }>;

/** Open at the same time: with Redis each holds a connection. */
const mostOpen = 16;

/**
 * Makes the archives of a thread, each opened when it is first used. One in memory is the server's, which no thread can
 * reach: what is put into it is collected, for the server to keep before it answers.
 */
export function createArchivesOfThread(): UseArchive {
	const sources = new Map<string, { readonly source: ArchiveSource | undefined; follow(policy: Policy): void }>();

	const sourceOf = (location: ArchiveLocation, policy: Policy): ArchiveSource | undefined => {
		const key = JSON.stringify(location);
		const one = sources.get(key) ?? open(location, policy);
		one.follow(policy);
		sources.delete(key);
		sources.set(key, one);
		const [longestUnused] = sources;
		if (sources.size > mostOpen && longestUnused) {
			longestUnused[1].source?.end();
			sources.delete(longestUnused[0]);
		}
		return one.source;
	};

	return async ({ location, policy }, work) => {
		if (location.where === "memory") return collect(location, policy, work);
		const source = sourceOf(location, policy);
		if (!source) throw new TypeError("Expected an archive that keeps something.");
		return { value: await source.use(work), originals: [] };
	};
}

function open(location: ArchiveLocation, first: Policy) {
	let policy = first;
	const follow = (next: Policy): void => {
		policy = next;
	};
	return { source: createArchiveSource({ location, policy: () => policy }), follow };
}

async function collect<T>(location: ArchiveLocation, policy: Policy, work: (archive: Archive) => Promise<T>) {
	const archive = await openArchiveOfPolicy(location, policy);
	if (!archive) throw new TypeError("Expected an archive in memory.");
	const originals: Original[] = [];
	const collecting: Archive = {
		...archive,
		put(more) {
			originals.push(...more);
			return archive.put(more);
		},
	};
	try {
		return { value: await work(collecting), originals };
	} finally {
		await archive.close();
	}
}
