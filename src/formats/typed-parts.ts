import type { Path } from "../engine/path.ts";
import { type ReadMedia, readJsonTexts } from "./json-texts.ts";
import { asCountedText, isJsonObject } from "./json-values.ts";
import { readMcpResult } from "./mcp-result.ts";
import { readTypedPartList, type TypedParts } from "./typed-part-list.ts";

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
	if (Array.isArray(content)) return readTypedPartList(content, path, readMedia);
	const counted = content === undefined || content === null ? [] : [asCountedText(content)];
	return { texts: [], whole: undefined, media: [], counted };
}
