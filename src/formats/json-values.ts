import { compactJson, type JsonObject } from "../conversation/json.ts";

/** The string at a key of its own, or `undefined`. */
export function stringAt(object: JsonObject, key: string): string | undefined {
	const value = Object.hasOwn(object, key) ? object[key] : undefined;
	return typeof value === "string" ? value : undefined;
}

/** The string at a key of its own where it is not empty: an id has to be one to pair by. */
export function idAt(object: JsonObject, key: string): string | undefined {
	return stringAt(object, key) || undefined;
}

/** A value as the text that stands for it when tokens are counted. */
export function asCountedText(value: unknown): string {
	if (typeof value === "string") return value;
	return compactJson(value);
}

/** One list for all that have no items, since most parts of most messages have none. */
export const none: readonly never[] = [];
