/** Where a value stands in a JSON document: object keys and array indexes, from the root. */
export type Path = readonly (string | number)[];

/** A path as a JSON Pointer (RFC 6901), the form in which paths leave the engine. */
export function jsonPointer(path: Path): string {
	return path.map((segment) => `/${String(segment).replaceAll("~", "~0").replaceAll("/", "~1")}`).join("");
}

/** The value at a path, or `undefined` where there is none. Reads own properties only. */
export function valueAt(document: unknown, path: Path): unknown {
	let value = document;
	for (const segment of path) {
		if (typeof value !== "object" || value === null || !Object.hasOwn(value, segment)) return undefined;
		value = (value as Record<string | number, unknown>)[segment];
	}
	return value;
}
