import type { PortableEdit } from "../../../src/formats/json-text/edit.ts";

/** The values of a text by the plainest reading: one, or the list of those that stand between the given places. */
export function plainValue(
	text: string,
	records?: readonly { readonly start: number; readonly end: number }[],
): unknown {
	if (records) return records.map(({ start, end }) => JSON.parse(text.slice(start, end)));
	return JSON.parse(text.replace(/^\uFEFF/, ""));
}

/** Applies edits to a parsed value in the plainest way: in place, replacements first, removals from the end. */
export function applyToValue(value: unknown, edits: readonly PortableEdit[]): unknown {
	const root = { value: structuredCopy(value) };
	const removals: { readonly list: unknown[]; readonly index: number }[] = [];
	for (const { kind, path, replacement } of edits) {
		const keys = [
			"value",
			...path
				.split("/")
				.slice(1)
				.map((key) => key.replaceAll("~1", "/").replaceAll("~0", "~")),
		];
		const last = keys.pop() ?? "";
		const parent = keys.reduce<unknown>((at, key) => (at as Record<string, unknown>)[key], root);
		if (kind === "replace") (parent as Record<string, unknown>)[last] = replacement;
		else removals.push({ list: parent as unknown[], index: Number(last) });
	}
	for (const { list, index } of removals.sort((a, b) => b.index - a.index)) list.splice(index, 1);
	return root.value;
}

/** A copy in which `__proto__` stays a key like any other, and -0 stays -0. */
function structuredCopy(value: unknown): unknown {
	if (typeof value !== "object" || value === null) return value;
	if (Array.isArray(value)) return value.map(structuredCopy);
	return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, structuredCopy(item)]));
}
