import type { Path } from "../engine/path.ts";
import type { TextNode, WholeContent } from "../engine/transcript.ts";
import { isJsonObject, stringAt } from "./json-values.ts";

/** The editable side of a result's content: a string, or a list of `{type: "text", text}` parts among others. */
export interface ResultContent {
	readonly texts: readonly TextNode[];
	readonly whole: WholeContent | undefined;
	/** Parts that are not text, each opaque. */
	readonly others: readonly unknown[];
}

/**
 * Reads content that is a string or a list of parts, as Chat Completions and Messages have it. A list that holds only
 * text parts counts as one text; anything else (null, an object, a list with an image) cannot be written as a whole.
 */
export function readResultContent(content: unknown, path: Path): ResultContent {
	if (typeof content === "string") {
		return { texts: [{ path, text: content }], whole: { path, write: (text) => text }, others: [] };
	}
	if (!Array.isArray(content)) {
		return { texts: [], whole: undefined, others: content === undefined || content === null ? [] : [content] };
	}
	const texts: TextNode[] = [];
	const others: unknown[] = [];
	content.forEach((part: unknown, index) => {
		const text = isJsonObject(part) && part.type === "text" ? stringAt(part, "text") : undefined;
		if (text === undefined) others.push(part);
		else texts.push({ path: [...path, index, "text"], text });
	});
	const first: unknown = content[0];
	const isText = texts.length > 0 && others.length === 0 && isJsonObject(first);
	const whole = isText ? { path, write: (text: string) => [{ ...first, text }] } : undefined;
	return { texts, whole, others };
}
