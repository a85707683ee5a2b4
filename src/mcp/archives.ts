import { createHash } from "node:crypto";
import { type ArchiveLocation, type ArchiveSource, createArchiveSource } from "../archive/open.ts";
import { checkNamespace } from "../archive/reference.ts";
import type { Policy } from "../policy/schema.ts";

/** Opens archives by location at their first use. Keeps `mostOpen` of them open, since each may hold a connection. */
export function createArchives({ mostOpen, policy }: { readonly mostOpen: number; readonly policy: () => Policy }) {
	const sources = new Map<string, ArchiveSource>();
	return {
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
		end(): void {
			for (const source of sources.values()) source.end();
			sources.clear();
		},
	};
}

export function createPrincipalArchives(from: { readonly location: ArchiveLocation; readonly policy: () => Policy }) {
	const { of, end } = createArchives({ mostOpen: 64, policy: from.policy });
	return { of: (principal: string) => of(locationOfPrincipal(from.location, principal)), end };
}

export function locationOfPrincipal(location: ArchiveLocation, principal: string): ArchiveLocation {
	return { ...location, namespace: namespaceOfPrincipal(location.namespace, principal) };
}

/** The hash over both names makes it unique to the principal; the words are for people who look at folders. */
export function namespaceOfPrincipal(operators: string, principal: string): string {
	const hash = createHash("sha256").update(JSON.stringify([operators, principal]));
	const name = principal.slice(principal.lastIndexOf(" ") + 1);
	const words = name.toLowerCase().replace(/[^a-z0-9]+/g, "-");
	return checkNamespace(`${operators.slice(0, 14)}-${words.slice(0, 16)}-${hash.digest("hex").slice(0, 32)}`);
}
