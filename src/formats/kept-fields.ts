import { isJsonObject, type JsonObject } from "./json-values.ts";

/** Of what a value holds under the given keys, all that is its own: what a record put in its place takes over. */
export function keptFields(value: unknown, keys: readonly string[]): JsonObject {
	if (!isJsonObject(value)) return {};
	return Object.fromEntries(keys.filter((key) => Object.hasOwn(value, key)).map((key) => [key, value[key]]));
}
