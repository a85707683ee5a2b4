import { createHash } from "node:crypto";
import type { ArchiveLocation } from "../archive/open.ts";
import { checkNamespace } from "../archive/reference.ts";
import { type ArchiveSource, createArchiveSource } from "../config/archive.ts";
import type { Policy } from "../policy/schema.ts";

/** Makes archives by location, each opened at its first use. As a rule `mostOpen` stay open: each may hold a connection. */
export function createArchives({ mostOpen, policy }: { readonly mostOpen: number; readonly policy: () => Policy }) {
	// In the order of the last use.
	const sources = new Map<string, ArchiveSource>();
	return {
		/** `undefined` if nothing is kept there. */
		of(location: ArchiveLocation): ArchiveSource | undefined {
			const key = JSON.stringify(location);
			const source = sources.get(key) ?? createArchiveSource({ location, policy });
			if (!source) return undefined;
			sources.delete(key);
			sources.set(key, source);
			const [longestUnused] = sources.keys();
			// An archive in memory would lose its originals. Any other one is opened again at its next use.
			if (sources.size > mostOpen && longestUnused !== undefined && location.where !== "memory") {
				sources.get(longestUnused)?.end();
				sources.delete(longestUnused);
			}
			return source;
		},
		/** The archives that were asked for last, `mostOpen` at most. */
		current: () => [...sources.values()].slice(-mostOpen),
		/** Closes all of them once nothing uses them. */
		end(): void {
			for (const source of sources.values()) source.end();
			sources.clear();
		},
	};
}

/** An issuer may know any number of principals. */
const mostOpenOfPrincipals = 64;

/** Makes the archives of one server's principals, each in its own namespace; opens none yet. */
export function createPrincipalArchives({
	location,
	policy,
}: {
	readonly location: ArchiveLocation;
	readonly policy: () => Policy;
}) {
	const { of, current, end } = createArchives({ mostOpen: mostOpenOfPrincipals, policy });
	return { of: (principal: string) => of(locationOfPrincipal(location, principal)), current, end };
}

/** The place of a principal's originals: a namespace of its own within the operator's. */
export function locationOfPrincipal(location: ArchiveLocation, principal: string): ArchiveLocation {
	return { ...location, namespace: namespaceOfPrincipal(location.namespace, principal) };
}

/**
 * The namespace of a principal within the operator's. 128 bits of SHA-256 over both names make it unique to the principal;
 * the words in front are for people who look at folders.
 */
export function namespaceOfPrincipal(operators: string, principal: string): string {
	const hash = createHash("sha256")
		.update(JSON.stringify([operators, principal]))
		.digest("hex")
		.slice(0, 32);
	const name = principal.slice(principal.lastIndexOf(" ") + 1);
	const words = name.toLowerCase().replace(/[^a-z0-9]+/g, "-");
	return checkNamespace(`${operators.slice(0, 14)}-${words.slice(0, 16)}-${hash}`);
}
