import type { Path } from "../engine/path.ts";
import type { TextNode } from "../engine/transcript.ts";
import { isJsonObject } from "./json-values.ts";

/**
 * The one text of a value that is a text, or an object around one text: `{output: "…"}`, `{result: "…"}`,
 * `{error: "…"}` or the same under another name, as APIs that take only objects make their users write it.
 */
export function wrappedText(value: unknown, path: Path): TextNode | undefined {
	if (typeof value === "string") return { path, text: value };
	if (!isJsonObject(value)) return undefined;
	const [key, ...others] = Object.keys(value);
	if (key === undefined || others.length > 0) return undefined;
	const text = value[key];
	return typeof text === "string" ? { path: [...path, key], text } : undefined;
}
