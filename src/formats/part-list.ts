import { childPath, type Path } from "../engine/path.ts";
import type { MediaNode, TextNode, WholeContent } from "../engine/transcript.ts";
import { isJsonObject, type JsonObject, stringAt } from "./json-values.ts";

/** The editable side of a result's content: a string, or a list of `{type: "text", text}` parts among others. */
export interface ResultContent {
	readonly texts: readonly TextNode[];
	readonly whole: WholeContent | undefined;
	readonly media: readonly MediaNode[];
	/** Parts that are neither text nor media, each opaque. */
	readonly others: readonly unknown[];
}

/** Reads a part that holds media; `undefined` for all others. */
type ReadMediaPart = (part: JsonObject, path: Path) => MediaNode | undefined;

/**
 * Reads content that is a string or a list of parts, as Chat Completions and Messages have it. A list that holds only
 * text parts counts as one text; anything else (null, an object, a list with an image) cannot be written as a whole.
 */
export function readResultContent(
	content: unknown,
	path: Path,
	readMedia: ReadMediaPart = () => undefined,
): ResultContent {
	if (typeof content === "string") {
		return { texts: [{ path, text: content }], whole: { path, write: asText }, media: none, others: none };
	}
	if (!Array.isArray(content)) {
		const others = content === undefined || content === null ? none : [content];
		return { texts: none, whole: undefined, media: none, others };
	}
	const texts: TextNode[] = [];
	const media: MediaNode[] = [];
	const others: unknown[] = [];
	content.forEach((part: unknown, index) => {
		const at = childPath(path, index);
		const text = isJsonObject(part) && part.type === "text" ? stringAt(part, "text") : undefined;
		const node = isJsonObject(part) && text === undefined ? readMedia(part, at) : undefined;
		if (text !== undefined) texts.push({ path: childPath(at, "text"), text });
		else if (node) {
			media.push(node);
			texts.push(...(node.texts ?? []));
		} else others.push(part);
	});
	const first: unknown = content[0];
	const isText = texts.length > 0 && media.length + others.length === 0 && isJsonObject(first);
	const whole = isText ? { path, write: (text: string) => [{ ...first, text }] } : undefined;
	return { texts, whole, media, others };
}

function asText(text: string): string {
	return text;
}

const none: readonly never[] = [];
