import type { LocatedMessages } from "./format.ts";
import { asCountedText, isJsonObject } from "./json-values.ts";

/** The texts of a request body's own fields that each call sends along: tool schemas, a system prompt beside the messages. */
export function readSurroundings({ document }: LocatedMessages, keys: readonly string[]): string[] {
	if (!isJsonObject(document)) return [];
	return keys.flatMap((key) => {
		const value = Object.hasOwn(document, key) ? document[key] : undefined;
		return value === undefined || value === null ? [] : [asCountedText(value)];
	});
}
