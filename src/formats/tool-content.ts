import type { Path } from "../engine/path.ts";
import type { ReadMedia } from "./json-texts.ts";
import { readResultContent } from "./part-list.ts";
import type { TypedParts } from "./typed-part-list.ts";
import { readTypedParts } from "./typed-parts.ts";

/**
 * Reads the content of a tool's result in an API whose results are a string or a list of parts, as Chat Completions and
 * Messages have it. What a program put there of its own (an object, a list of records or of strings) is opened: its long
 * strings may be cut, though nothing can stand for all of it.
 */
export function readToolContent(content: unknown, path: Path, readMedia: ReadMedia): TypedParts {
	const { texts, whole, media, others } = readResultContent(content, path, readMedia);
	if (others.length > 0) return { ...readTypedParts(content, path, readMedia), whole: undefined };
	return { texts, whole, media, counted: none };
}

const none: readonly never[] = [];
