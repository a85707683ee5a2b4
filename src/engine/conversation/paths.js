/** The path of an item or a member, in a list without spare room: every message has several. */
export function childPath(path, segment) {
	const [first, second, third] = path;
	if (path.length === 1) return [first, segment];
	if (path.length === 2) return [first, second, segment];
	return path.length === 3 ? [first, second, third, segment] : [...path, segment];
}
/** RFC 6901. */
export function jsonPointer(path) {
	let pointer = "";
	for (const segment of path) pointer += `/${typeof segment === "number" ? segment : escapeSegment(segment)}`;
	return pointer;
}
function escapeSegment(segment) {
	// Few keys have one of these, and replacing takes longer than looking.
	if (!segment.includes("~") && !segment.includes("/")) return segment;
	return segment.replaceAll("~", "~0").replaceAll("/", "~1");
}
export function startsWith(path, start) {
	return start.every((segment, index) => segment === path[index]);
}
export function equalsPath(path, other) {
	return path.length === other.length && startsWith(path, other);
}
/** The path of a JSON Pointer in a document, with numbers for items of lists; `undefined` if there is no such value. */
export function parseJsonPointer(pointer, document) {
	if (pointer === "") return [];
	if (!pointer.startsWith("/")) return undefined;
	const path = [];
	let value = document;
	for (const escaped of pointer.slice(1).split("/")) {
		const name = escaped.replaceAll("~1", "/").replaceAll("~0", "~");
		if (typeof value !== "object" || value === null || !Object.hasOwn(value, name)) return undefined;
		if (Array.isArray(value) && !/^(?:0|[1-9]\d*)$/.test(name)) return undefined;
		path.push(Array.isArray(value) ? Number(name) : name);
		value = value[name];
	}
	return path;
}
/** The same for an insert, whose last segment may be the length of its list. */
export function parseInsertPointer(pointer, document) {
	const end = pointer.lastIndexOf("/");
	if (end === -1) return undefined;
	const list = parseJsonPointer(pointer.slice(0, end), document);
	const items = list && valueAt(document, list);
	const name = pointer.slice(end + 1);
	if (!list || !Array.isArray(items) || !/^(?:0|[1-9]\d*)$/.test(name) || Number(name) > items.length) return undefined;
	return [...list, Number(name)];
}
/** The value whose hash identifies the place of an insert: the item there, or the last one, or the empty list. */
export function itemBeside(document, path) {
	const list = valueAt(document, path.slice(0, -1));
	if (!Array.isArray(list)) return undefined;
	return list.length === 0 ? list : list[Math.min(Number(path.at(-1)), list.length - 1)];
}
/** Reads own properties only. */
export function valueAt(document, path) {
	let value = document;
	for (const segment of path) {
		if (typeof value !== "object" || value === null || !Object.hasOwn(value, segment)) return undefined;
		value = value[segment];
	}
	return value;
}
export function isListed(path, base) {
	return path.length === base.length + 1 && startsWith(path, base);
}
/** The pointer of the item of the list at `base` that contains a value. */
export function recordOf(pointer, base) {
	return pointer
		.split("/")
		.slice(0, base.length + 2)
		.join("/");
}
