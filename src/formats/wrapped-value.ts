import type { Path } from "../engine/path.ts";
import { type ReadMedia, readJsonTexts } from "./json-texts.ts";
import { asCountedText, isJsonObject } from "./json-values.ts";
import { readMcpResult } from "./mcp-result.ts";
import type { TypedParts } from "./typed-part-list.ts";
import { onlyMember, wrappedText } from "./wrapped-text.ts";

/**
 * Reads the output of a tool in an API that takes any JSON for it. A text can be replaced where it stands alone or alone
 * in an object, and so can the blocks of a result of MCP; of all else the long strings may be cut.
 */
export function readWrappedValue(value: unknown, path: Path, readMedia: ReadMedia = () => undefined): TypedParts {
	const text = wrappedText(value, path);
	if (text) return { texts: [text], whole: { path: text.path, write: asText }, media: [], counted: [] };
	if (typeof value !== "object" || value === null) {
		return { texts: [], whole: undefined, media: [], counted: value === undefined ? [] : [asCountedText(value)] };
	}
	if (isJsonObject(value)) {
		const key = onlyMember(value);
		const inner = key === undefined ? undefined : value[key];
		const held = isJsonObject(inner) ? readMcpResult(inner, [...path, key as string], readMedia) : undefined;
		const result = held ?? readMcpResult(value, path, readMedia);
		if (result) return result;
	}
	return { ...readJsonTexts(value, path, readMedia), whole: undefined };
}

function asText(text: string): string {
	return text;
}
