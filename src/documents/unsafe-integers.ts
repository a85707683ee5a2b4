import { jsonPointer, type Path } from "../engine/path.ts";

/** Most places that are told. */
const mostPlaces = 10;

/**
 * Places (JSON Pointers, at most 10) of integers beyond 2^53 in a parsed document: such a number may differ from the one
 * that was written. Walks without recursion, since depth is the sender's choice.
 */
export function unsafeIntegers(document: unknown): string[] {
	const places: string[] = [];
	const open: { value: unknown; path: Path }[] = [{ value: document, path: [] }];
	for (let next = open.pop(); next && places.length < mostPlaces; next = open.pop()) {
		const { value, path } = next;
		if (typeof value === "number" && Number.isInteger(value) && !Number.isSafeInteger(value))
			places.push(jsonPointer(path));
		if (typeof value !== "object" || value === null) continue;
		for (const [key, item] of Object.entries(value)) {
			// Strings are most of a conversation and never what is looked for.
			if (typeof item === "string") continue;
			open.push({ value: item, path: [...path, Array.isArray(value) ? Number(key) : key] });
		}
	}
	return places.reverse();
}
