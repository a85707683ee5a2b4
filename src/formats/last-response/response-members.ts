import { isJsonObject, type JsonObject, stringAt } from "../json-values.ts";

/** The member at the first of several keys that the object has of its own: SDKs differ in how they spell one. */
export function memberAt(object: JsonObject, ...keys: readonly string[]): unknown {
	const key = keys.find((one) => Object.hasOwn(object, one));
	return key === undefined ? undefined : object[key];
}

/** Whether an object has a member of its own at one of the keys. */
export function hasMember(object: JsonObject, ...keys: readonly string[]): boolean {
	return keys.some((key) => Object.hasOwn(object, key));
}

/** The objects of a list; none where it is no list. */
export function objectsOf(list: unknown): readonly JsonObject[] {
	return Array.isArray(list) ? list.filter(isJsonObject) : [];
}

/** A content of text: a string, or what stands in its parts of type `text`. */
export function textsOf(content: unknown): string[] {
	if (typeof content === "string") return [content];
	return objectsOf(content).flatMap((part) => (part.type === "text" ? (stringAt(part, "text") ?? []) : []));
}
