import type { Path } from "../engine/path.ts";
import type { TextNode } from "../engine/transcript.ts";
import { isJsonObject, type JsonObject } from "./json-values.ts";

/**
 * The one text of a value that is a text, or an object around one text: `{output: "…"}`, `{result: "…"}`,
 * `{error: "…"}` or the same under another name, as APIs that take only objects make their users write it.
 */
export function wrappedText(value: unknown, path: Path): TextNode | undefined {
	if (typeof value === "string") return { path, text: value };
	if (!isJsonObject(value)) return undefined;
	const key = onlyMember(value);
	const text = key === undefined ? undefined : value[key];
	return key !== undefined && typeof text === "string" ? { path: [...path, key], text } : undefined;
}

/** The key of an object that holds a single value; null beside it says nothing: `{result: "…", error: null}`. */
export function onlyMember(object: JsonObject): string | undefined {
	const [key, ...others] = Object.keys(object).filter((name) => object[name] !== null);
	return others.length > 0 ? undefined : key;
}
