import { jsonPointer, type Path } from "../engine/path.ts";

/** Most places that are told. */
const mostPlaces = 10;

interface OpenValue {
	readonly value: unknown;
	readonly key: string;
	readonly parent: OpenValue | undefined;
}

/**
 * Places (JSON Pointers, at most 10) of integers beyond 2^53 in a parsed document: such a number may differ from the one
 * that was written. Walks without recursion and keeps no path but on a find, since depth is the sender's choice.
 */
export function unsafeIntegers(document: unknown): string[] {
	return holdsUnsafe(document) ? findUnsafe(document) : [];
}

/** Tells without keeping where it is: hardly any document holds such a number. */
function holdsUnsafe(document: unknown): boolean {
	const open: unknown[] = [document];
	while (open.length > 0) {
		const value = open.pop();
		if (isUnsafe(value)) return true;
		if (Array.isArray(value)) {
			for (let index = 0; index < value.length; index += 1)
				if (typeof value[index] !== "string") open.push(value[index]);
		} else if (typeof value === "object" && value !== null) {
			// Without a list of the keys; those that it inherits are looked at too, which finds no fewer.
			for (const key in value) {
				const item = (value as Record<string, unknown>)[key];
				if (typeof item === "number" || typeof item === "object") open.push(item);
			}
		}
	}
	return false;
}

function isUnsafe(value: unknown): boolean {
	return typeof value === "number" && Number.isInteger(value) && !Number.isSafeInteger(value);
}

function findUnsafe(document: unknown): string[] {
	const places: string[] = [];
	const open: OpenValue[] = [{ value: document, key: "", parent: undefined }];
	for (let next = open.pop(); next && places.length < mostPlaces; next = open.pop()) {
		const { value } = next;
		if (isUnsafe(value)) places.push(jsonPointer(pathOf(next)));
		if (typeof value !== "object" || value === null) continue;
		const keys = Object.keys(value);
		// Backwards, so that the first one is looked at first.
		for (let index = keys.length - 1; index >= 0; index -= 1) {
			const key = keys[index] as string;
			const item = (value as Record<string, unknown>)[key];
			// Strings are most of a conversation and never what is looked for.
			if (typeof item === "number" || (typeof item === "object" && item !== null)) {
				open.push({ value: item, key, parent: next });
			}
		}
	}
	return places;
}

function pathOf(found: OpenValue): Path {
	const path: string[] = [];
	for (let at: OpenValue | undefined = found; at?.parent; at = at.parent) path.push(at.key);
	return path.reverse();
}
