/** Where a value stands in a JSON document: object keys and array indexes, from the root. */
export type Path = readonly (string | number)[];

/** The path of an item or a member, in a list of no more room than that: every message has several. */
export function childPath(path: Path, segment: string | number): Path {
	switch (path.length) {
		case 0:
			return [segment];
		case 1:
			return [path[0] as string | number, segment];
		case 2:
			return [path[0] as string | number, path[1] as string | number, segment];
		case 3:
			return [path[0] as string | number, path[1] as string | number, path[2] as string | number, segment];
		default:
			return [...path, segment];
	}
}

/** A path as a JSON Pointer (RFC 6901), the form in which paths leave the engine. */
export function jsonPointer(path: Path): string {
	let pointer = "";
	for (const segment of path) {
		const escaped = typeof segment === "number" || !/[~/]/.test(segment) ? segment : escapeSegment(segment);
		pointer += `/${escaped}`;
	}
	return pointer;
}

function escapeSegment(segment: string): string {
	return segment.replaceAll("~", "~0").replaceAll("/", "~1");
}

/** Whether two paths lead to the same place. */
export function samePath(a: Path, b: Path): boolean {
	if (a.length !== b.length) return false;
	for (let index = 0; index < a.length; index += 1) if (a[index] !== b[index]) return false;
	return true;
}

/** The path of a JSON Pointer in a document, with numbers where it goes through lists; `undefined` where it leads nowhere. */
export function parseJsonPointer(pointer: string, document: unknown): Path | undefined {
	if (pointer === "") return [];
	if (!pointer.startsWith("/")) return undefined;
	const path: (string | number)[] = [];
	let value = document;
	for (const escaped of pointer.slice(1).split("/")) {
		const name = escaped.replaceAll("~1", "/").replaceAll("~0", "~");
		if (typeof value !== "object" || value === null || !Object.hasOwn(value, name)) return undefined;
		if (Array.isArray(value) && !/^(?:0|[1-9]\d*)$/.test(name)) return undefined;
		path.push(Array.isArray(value) ? Number(name) : name);
		value = (value as Record<string, unknown>)[name];
	}
	return path;
}

/** The same for a place to insert at, whose last segment may be the length of its list. */
export function parseInsertPointer(pointer: string, document: unknown): Path | undefined {
	const end = pointer.lastIndexOf("/");
	if (end === -1) return undefined;
	const list = parseJsonPointer(pointer.slice(0, end), document);
	const items = list && valueAt(document, list);
	const name = pointer.slice(end + 1);
	if (!list || !Array.isArray(items) || !/^(?:0|[1-9]\d*)$/.test(name) || Number(name) > items.length) return undefined;
	return [...list, Number(name)];
}

/** What tells that a place to insert at is still the same: the item there, or the last one before, or the empty list. */
export function itemBeside(document: unknown, path: Path): unknown {
	const list = valueAt(document, path.slice(0, -1));
	if (!Array.isArray(list)) return undefined;
	return list.length === 0 ? list : list[Math.min(Number(path.at(-1)), list.length - 1)];
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

/** Whether a path leads to an item of the list at `base`. */
export function isListed(path: Path, base: Path): boolean {
	return path.length === base.length + 1 && samePath(path.slice(0, -1), base);
}

/** The pointer of the item of the list at `base` that holds a value. */
export function recordOf(pointer: string, base: Path): string {
	const parts = pointer.split("/");
	return parts.slice(0, base.length + 2).join("/");
}
