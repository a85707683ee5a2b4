import crypto from "node:crypto";
import { compactJson, type JsonObject } from "../conversation/json.ts";
import { jsonPointer, type Path } from "../conversation/transcript.ts";

// This file does not load jsonc-parser: the server and the hooks start without it.

/** SHA-256 (hex) of a string's UTF-8, or of any other value's compact JSON. */
export function sha256Of(value: unknown): string {
	return crypto.hash("sha256", typeof value === "string" ? value : compactJson(value), "hex");
}

const mostPlaces = 10;

/** Pointers (at most 10) of integers beyond 2^53: the text may differ. No recursion, since the depth is untrusted. */
export function unsafeIntegers(document: unknown): string[] {
	const places: string[] = [];
	const open: OpenValue[] = [{ value: document, key: "", parent: undefined }];
	for (let next = open.pop(); next && places.length < mostPlaces; next = open.pop()) {
		const { value } = next;
		if (isUnsafe(value)) places.push(jsonPointer(pathOf(next)));
		if (typeof value !== "object" || value === null) continue;
		const keys = Object.keys(value);
		// Backwards, so that the first one is popped first.
		for (let index = keys.length - 1; index >= 0; index -= 1) {
			const key = keys[index] as string;
			const member = (value as JsonObject)[key];
			if (isUnsafe(member) || (typeof member === "object" && member !== null)) {
				open.push({ value: member, key, parent: next });
			}
		}
	}
	return places;
}

interface OpenValue {
	readonly value: unknown;
	readonly key: string;
	readonly parent: OpenValue | undefined;
}

function isUnsafe(value: unknown): boolean {
	return typeof value === "number" && Number.isInteger(value) && !Number.isSafeInteger(value);
}

function pathOf(found: OpenValue): Path {
	const path: string[] = [];
	for (let at: OpenValue | undefined = found; at?.parent; at = at.parent) path.push(at.key);
	return path.reverse();
}
