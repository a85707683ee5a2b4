import { compactJson, isJsonObject, type JsonObject } from "../conversation/json.ts";

/** The string at a key of the object's own, or `undefined`. */
export function stringAt(object: JsonObject, key: string): string | undefined {
	const value = Object.hasOwn(object, key) ? object[key] : undefined;
	return typeof value === "string" ? value : undefined;
}

/** The string at a key of its own where it is not empty: an empty id pairs nothing. */
export function idAt(object: JsonObject, key: string): string | undefined {
	return stringAt(object, key) || undefined;
}

export function booleanAt(object: JsonObject, key: string): boolean | undefined {
	const value = Object.hasOwn(object, key) ? object[key] : undefined;
	return typeof value === "boolean" ? value : undefined;
}

/** The member at the first of several keys that the object has of its own: SDKs differ in how they spell one. */
export function memberAt(object: JsonObject, ...keys: readonly string[]): unknown {
	const key = keys.find((one) => Object.hasOwn(object, one));
	return key === undefined ? undefined : object[key];
}

export function hasMember(object: JsonObject, ...keys: readonly string[]): boolean {
	return keys.some((key) => Object.hasOwn(object, key));
}

/** A value where it is a list; an empty list otherwise. */
export function listOf(value: unknown): readonly unknown[] {
	return Array.isArray(value) ? value : [];
}

export function objectOf(value: unknown): JsonObject {
	return isJsonObject(value) ? value : {};
}

/** The objects among the items of a list; none where it is no list. */
export function objectsOf(value: unknown): readonly JsonObject[] {
	return listOf(value).filter(isJsonObject);
}

/** The keys and values of an object or a list; none of any other value. */
export function membersOf(value: unknown): [string | number, unknown][] {
	if (Array.isArray(value)) return [...value.entries()];
	return typeof value === "object" && value !== null ? Object.entries(value) : [];
}

/** The text by which the tokens of a value are counted. */
export function asCountedText(value: unknown): string {
	return typeof value === "string" ? value : compactJson(value);
}
