import crypto from "node:crypto";
import { compactJson, isJsonObject, type JsonObject } from "../../engine/conversation/json.ts";
import { jsonPointer, type Path } from "../../engine/conversation/paths.ts";

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

/** A value that is still to be read, and the one that holds it; the outermost has no parent, and its key does not count. */
export interface OpenValue {
	readonly value: unknown;
	readonly key: string | number;
	readonly parent: OpenValue | undefined;
}

function isUnsafe(value: unknown): boolean {
	return typeof value === "number" && Number.isInteger(value) && !Number.isSafeInteger(value);
}

export function pathOf(found: OpenValue): Path {
	const path: (string | number)[] = [];
	for (let at = found; at.parent; at = at.parent) path.push(at.key);
	return path.reverse();
}

/** The member at the first of the keys that the object itself has. SDKs spell keys differently. */
export function memberAt(object: JsonObject, ...keys: readonly string[]): unknown {
	const key = keys.find((one) => Object.hasOwn(object, one));
	return key === undefined ? undefined : object[key];
}

export function stringAt(object: JsonObject, key: string): string | undefined {
	const value = Object.hasOwn(object, key) ? object[key] : undefined;
	return typeof value === "string" ? value : undefined;
}

/** A non-empty string: an empty id pairs nothing. */
export function idAt(object: JsonObject, key: string): string | undefined {
	return stringAt(object, key) || undefined;
}

export function booleanAt(object: JsonObject, key: string): boolean | undefined {
	const value = memberAt(object, key);
	return typeof value === "boolean" ? value : undefined;
}

export function hasMember(object: JsonObject, ...keys: readonly string[]): boolean {
	return keys.some((key) => Object.hasOwn(object, key));
}

export function numberAt(object: JsonObject, key: string): number | undefined {
	const value = Object.hasOwn(object, key) ? object[key] : undefined;
	return typeof value === "number" && Number.isFinite(value) ? value : undefined;
}

/** Smaller numbers are seconds: as milliseconds they would be before 1973. */
const firstMilliseconds = 100_000_000_000;

/** A time in ms since 1970: an ISO text (of UTC if it names no zone), or a number of seconds or milliseconds. */
export function timeAt(object: JsonObject, key: string): number | undefined {
	const number = numberAt(object, key);
	if (number !== undefined) return number > 0 && number < firstMilliseconds ? number * 1000 : number;
	const text = stringAt(object, key);
	if (text === undefined) return undefined;
	const time = Date.parse(/T[\d:.]+$/.test(text) ? `${text}Z` : text);
	return Number.isNaN(time) ? undefined : time;
}

export function listOf(value: unknown): readonly unknown[] {
	return Array.isArray(value) ? value : [];
}

export function objectOf(value: unknown): JsonObject {
	return isJsonObject(value) ? value : {};
}

export function objectsOf(value: unknown): readonly JsonObject[] {
	return listOf(value).filter(isJsonObject);
}

export function membersOf(value: unknown): [string | number, unknown][] {
	if (Array.isArray(value)) return [...value.entries()];
	return typeof value === "object" && value !== null ? Object.entries(value) : [];
}

/** The text by which the tokens of a value are counted. */
export function asCountedText(value: unknown): string {
	return typeof value === "string" ? value : compactJson(value);
}
