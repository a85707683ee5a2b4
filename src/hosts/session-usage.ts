import { isJsonObject, type JsonObject } from "../engine/conversation/json.ts";
import type { ValueEdit } from "../formats/json-text/edit.ts";
import { listOf, numberAt, objectOf, stringAt } from "../formats/json-text/value.ts";

// What hosts share whose sessions are copied: the last text under a key, and the usage of the last answer.

export type Place = readonly (string | number)[];

export function lastText(document: unknown, key: string): string | undefined {
	const record = listOf(document).findLast((one) => stringAt(objectOf(one), key) !== undefined);
	return stringAt(objectOf(record), key);
}

/** Nothing if there is no usage. Sets only members that it has. */
export function replaceUsage(path: Place, before: unknown, changed: (usage: JsonObject) => JsonObject): ValueEdit[] {
	if (!isJsonObject(before)) return [];
	const known = Object.entries(changed(before)).filter(([key]) => Object.hasOwn(before, key));
	return [{ kind: "replace", path, replacement: { ...before, ...Object.fromEntries(known) } }];
}

export const outputIn = (usage: JsonObject, key = "output") => numberAt(usage, key) ?? 0;
