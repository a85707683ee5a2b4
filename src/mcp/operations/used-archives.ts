import type { ArchiveSource } from "../../config/create-archive-source.ts";

type ArchiveOf = (principal: string) => ArchiveSource | undefined;

/** Archives of principals, and those of them that were asked for last. */
export interface UsedArchives {
	readonly of: ArchiveOf;
	/** Those that were asked for last, each once. */
	current(): Iterable<ArchiveSource>;
}

/** Remembers which archives were asked for: the last 64, since an issuer may know any number of principals. */
export function usedArchives(of: ArchiveOf, most = 64): UsedArchives {
	const used = new Map<string, ArchiveSource>();
	return {
		of(principal) {
			const archive = of(principal);
			if (!archive) return undefined;
			used.delete(principal);
			used.set(principal, archive);
			const [first] = used.keys();
			if (used.size > most && first !== undefined) used.delete(first);
			return archive;
		},
		current: () => used.values(),
	};
}
