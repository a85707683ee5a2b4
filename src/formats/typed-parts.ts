import type { Path } from "../engine/path.ts";
import type { MediaNode, TextNode, WholeContent } from "../engine/transcript.ts";
import { isLongText, type ReadMedia, readJsonTexts } from "./json-texts.ts";
import { asCountedText, isJsonObject, stringAt } from "./json-values.ts";
import { readMcpResult } from "./mcp-result.ts";

/** The content of a result: what may be edited of it, and what is counted beside. */
export interface TypedParts {
	readonly texts: readonly TextNode[];
	readonly whole: WholeContent | undefined;
	readonly media: readonly MediaNode[];
	readonly counted: readonly string[];
}

/**
 * Reads a result's content that may be any JSON: a string, a list of parts that name their `type`, an object, or what an
 * MCP server returned. A list that holds only texts counts as one text. Of everything else the long strings may be cut, but
 * nothing can stand for all of it.
 */
export function readTypedParts(content: unknown, path: Path, readMedia: ReadMedia): TypedParts {
	if (typeof content === "string") {
		return { texts: [{ path, text: content }], whole: { path, write: (text) => text }, media: [], counted: [] };
	}
	if (isJsonObject(content)) {
		const result = readMcpResult(content, path, readMedia);
		return result ?? { ...readJsonTexts(content, path, readMedia), whole: undefined };
	}
	if (!Array.isArray(content)) {
		const counted = content === undefined || content === null ? [] : [asCountedText(content)];
		return { texts: [], whole: undefined, media: [], counted };
	}
	const texts: TextNode[] = [];
	const media: MediaNode[] = [];
	const counted: string[] = [];
	let isText = content.length > 0;
	content.forEach((part: unknown, index) => {
		const at = [...path, index];
		const text = isJsonObject(part) && part.type === "text" ? stringAt(part, "text") : undefined;
		if (text !== undefined) {
			texts.push({ path: [...at, "text"], text });
			return;
		}
		isText = false;
		if (isLongText(part)) {
			texts.push({ path: at, text: part });
			return;
		}
		if (typeof part !== "object" || part === null) {
			counted.push(asCountedText(part));
			return;
		}
		const inside = readJsonTexts(part, at, readMedia);
		texts.push(...inside.texts, ...inside.media.flatMap((node) => node.texts ?? []));
		media.push(...inside.media);
		counted.push(...inside.counted);
	});
	const first: unknown = content[0];
	const whole = isText && isJsonObject(first) ? { path, write: (text: string) => [{ ...first, text }] } : undefined;
	return { texts, whole, media, counted };
}
