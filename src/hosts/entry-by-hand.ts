import type { Host, ServerStart } from "./host.ts";

/** The lines that a user puts into a YAML configuration, the server's entry with the keys above it. */
export function entryByHand({ key, entry }: Host, start: ServerStart): string {
	const nested = key.reduceRight<unknown>((inner, name) => ({ [name]: inner }), entry(start));
	return yamlOf(nested as Readonly<Record<string, unknown>>, "");
}

/** Scalars and lists as JSON, which YAML takes. */
function yamlOf(value: Readonly<Record<string, unknown>>, indent: string): string {
	const lines = Object.entries(value).map(([name, inner]) =>
		typeof inner === "object" && inner !== null && !Array.isArray(inner) && Object.keys(inner).length > 0
			? `${indent}${name}:\n${yamlOf(inner as Readonly<Record<string, unknown>>, `${indent}  `)}`
			: `${indent}${name}: ${JSON.stringify(inner)}\n`,
	);
	return lines.join("");
}
