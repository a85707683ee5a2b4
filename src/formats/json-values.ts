import { compactJson, isJsonObject, type JsonObject } from "../conversation/json.ts";

/** The own member at the first of several keys that an object has: SDKs differ in their spelling. */
export function memberAt(object: JsonObject, ...keys: readonly string[]): unknown {
	const key = keys.find((one) => Object.hasOwn(object, one));
	return key === undefined ? undefined : object[key];
}

export function stringAt(object: JsonObject, key: string): string | undefined {
	const value = Object.hasOwn(object, key) ? object[key] : undefined;
	return typeof value === "string" ? value : undefined;
}

/** A string that is not empty: an empty id pairs nothing. */
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
