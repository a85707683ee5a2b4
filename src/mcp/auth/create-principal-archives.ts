import type { ArchiveLocation } from "../../archive/open-archive-of-policy.ts";
import { type ArchiveSource, createArchiveSource } from "../../config/create-archive-source.ts";
import type { Policy } from "../../policy/schema.ts";
import { namespaceOfPrincipal } from "./namespace-of-principal.ts";

/** The archives of one server's principals, each in a namespace of its own. */
export interface PrincipalArchives {
	/** The archive of a principal, opened when it is first used; `undefined` where nothing is kept. */
	of(principal: string): ArchiveSource | undefined;
	/** Closes all of them once nothing uses them. */
	end(): void;
}

/** Open at the same time, as a rule: with Redis each holds a connection. */
const mostOpen = 64;

/** Makes the archives of principals; opens none yet. */
export function createPrincipalArchives(what: {
	readonly location: ArchiveLocation;
	readonly policy: () => Policy;
}): PrincipalArchives {
	const { location, policy } = what;
	const sources = new Map<string, ArchiveSource | undefined>();
	return {
		of(principal) {
			const namespace = namespaceOfPrincipal(location.namespace, principal);
			const known = sources.get(namespace);
			const source = known ?? createArchiveSource({ location: { ...location, namespace }, policy });
			sources.delete(namespace);
			sources.set(namespace, source);
			const [longestUnused] = sources.keys();
			// One in memory would lose what it keeps; another one is opened again where it is still wanted.
			if (sources.size > mostOpen && longestUnused !== undefined && location.where !== "memory") {
				sources.get(longestUnused)?.end();
				sources.delete(longestUnused);
			}
			return source;
		},
		end() {
			for (const source of sources.values()) source?.end();
			sources.clear();
		},
	};
}
