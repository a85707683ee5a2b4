import { isJsonObject, type JsonObject, stringify } from "../conversation/json.ts";
import { childPath, type MediaNode, type Path, type TextNode, type WholeContent } from "../conversation/transcript.ts";
import { asCountedText, none, stringAt } from "./json-values.ts";

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

const blockTypes: ReadonlySet<unknown> = new Set(["text", "image", "audio", "resource", "resource_link"]);

/** What stands beside the `content` of a result; with `structuredContent` the same output stands there again. */
const besideContent = new Set(["content", "isError", "_meta"]);

/**
 * Reads a result that is what an MCP server returned (`CallToolResult`), as programs pass it on to APIs that take any
 * JSON: `{content: [{type: "text", text}, …], isError}`. Its blocks count as a list of parts; what stands around them
 * stays. `undefined` for any other object.
 */
export function readMcpResult(result: JsonObject, path: Path, readMedia: ReadMedia): TypedParts | undefined {
	if (!isMcpResult(result)) return undefined;
	const blocks = result.content as readonly JsonObject[];
	const read = readTypedPartList(blocks, [...path, "content"], readMedia);
	const frame = { ...result, content: blocks.map((block) => (block.type === "text" ? { ...block, text: "" } : "")) };
	return { ...read, counted: [...read.counted, asCountedText(frame)] };
}

/** Whether a result that is what an MCP server returned says that the tool failed. */
export function isMcpFailure(result: unknown): boolean {
	return isJsonObject(result) && result.isError === true && isMcpResult(result);
}

function isMcpResult(result: JsonObject): boolean {
	const { content } = result;
	if (!Array.isArray(content) || content.length === 0) return false;
	if (!Object.keys(result).every((key) => besideContent.has(key))) return false;
	return (content as unknown[]).every(
		(block) =>
			isJsonObject(block) &&
			blockTypes.has(block.type) &&
			(block.type !== "text" || stringAt(block, "text") !== undefined),
	);
}

/** The content of a result: what may be edited of it, and what is counted beside. */
export interface TypedParts {
	readonly texts: readonly TextNode[];
	readonly whole: WholeContent | undefined;
	readonly media: readonly MediaNode[];
	readonly counted: readonly string[];
}

/** Reads a list of parts that name their `type`. One that holds only texts counts as one text. */
export function readTypedPartList(content: readonly unknown[], path: Path, readMedia: ReadMedia): TypedParts {
	const texts: TextNode[] = [];
	const media: MediaNode[] = [];
	const counted: string[] = [];
	let isText = content.length > 0;
	content.forEach((part, index) => {
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
	const first = content[0];
	const whole = isText && isJsonObject(first) ? { path, write: (text: string) => [{ ...first, text }] } : undefined;
	return { texts, whole, media, counted };
}

/** Strings from this length on are outputs that may be cut; shorter ones are ids, names and the like. */
const longFrom = 500;

/** A value nested deeper than this is opaque: no tool nests its output so, and paths would cost more than they tell. */
const deepest = 64;

/** Recognises a part that holds media. */
export type ReadMedia = (part: JsonObject, path: Path) => MediaNode | undefined;

/** What stands inside a result that is an object or a list. */
export interface JsonTexts {
	/** Its long strings, in order. */
	readonly texts: readonly TextNode[];
	readonly media: readonly MediaNode[];
	/** All the rest, as it is counted. */
	readonly counted: readonly string[];
}

/** Finds the long strings and the media inside a JSON value that cannot be replaced as a whole. */
export function readJsonTexts(value: unknown, path: Path, readMedia: ReadMedia): JsonTexts {
	const texts: TextNode[] = [];
	const media: MediaNode[] = [];
	const mediaParts = new Set<unknown>();
	// A stack of its own: the nesting is untrusted.
	const waiting: { item: unknown; at: Path }[] = [{ item: value, at: path }];
	for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
		const { item, at } = next;
		if (typeof item === "string") {
			texts.push({ path: at, text: item });
			continue;
		}
		if (at.length - path.length > deepest) return { texts: [], media: [], counted: [asCountedText(value)] };
		const node = isJsonObject(item) ? readMedia(item, at) : undefined;
		if (node) {
			media.push(node);
			mediaParts.add(item);
			continue;
		}
		const children: readonly (readonly [string | number, unknown])[] = Array.isArray(item)
			? item.map((child: unknown, index) => [index, child] as const)
			: Object.entries(item as JsonObject);
		for (const [key, child] of children.toReversed()) {
			if (isLongText(child) || (typeof child === "object" && child !== null)) {
				waiting.push({ item: child, at: [...at, key] });
			}
		}
	}
	const isElsewhere = (item: unknown) => isLongText(item) || mediaParts.has(item);
	const rest = stringify(value, (_, item) => (isElsewhere(item) ? "" : item)) ?? "";
	return { texts, media, counted: mediaParts.has(value) ? [] : [rest] };
}

/** Whether a value inside a result is an output that may be cut. */
export function isLongText(value: unknown): value is string {
	return typeof value === "string" && value.length >= longFrom && !isBinary(value);
}

/** Base64 of an unknown kind (an image, what a provider encrypted): a part of it would be of no use to anyone. */
function isBinary(text: string): boolean {
	const beginning = text.slice(0, longFrom);
	if (/^data:[^,]*;base64,/.test(beginning)) return true;
	return /^[\w+/=-]+$/.test(beginning) && [/[a-z]/, /[A-Z]/, /\d/].every((kind) => kind.test(beginning));
}
