import { isJsonObject, type JsonObject, stringify } from "../conversation/json.ts";
import { childPath, type MediaNode, type Path, type TextNode, type WholeContent } from "../conversation/transcript.ts";
import { asCountedText, membersOf, stringAt } from "./json-values.ts";

/** The content of a result: what may be edited of it, and what is counted beside. */
export interface ToolContent {
	readonly texts: readonly TextNode[];
	readonly whole: WholeContent | undefined;
	readonly media: readonly MediaNode[];
	readonly counted: readonly string[];
}

const none: readonly never[] = [];

export const noContent: ToolContent = { texts: none, whole: undefined, media: none, counted: none };

/** Recognises a part that holds media. */
export type ReadMedia = (part: JsonObject, path: Path) => MediaNode | undefined;

/**
 * Reads a result's content in an API whose results are a string or a list of parts. What a program put there of its own
 * (an object, a list of records) is opened: its long strings may be cut, but nothing can stand for all of it.
 */
export function readToolContent(content: unknown, path: Path, readMedia: ReadMedia = noMedia): ToolContent {
	const read = readOpenContent(content, path, readMedia);
	return isJsonObject(content) ? { ...read, whole: undefined } : read;
}

/**
 * Reads a result's content that may be any JSON: a string, a list of parts that name their `type`, an object, or the
 * result of an MCP server. A list that holds only texts counts as one text. Of everything else the long strings may be
 * cut, but nothing can stand for all of it.
 */
export function readOpenContent(content: unknown, path: Path, readMedia: ReadMedia = noMedia): ToolContent {
	if (typeof content === "string") return textContent(content, path);
	if (Array.isArray(content)) return readTypedParts(content, path, readMedia);
	if (!isJsonObject(content)) return opaque(content ?? undefined);
	return readMcpResult(content, path, readMedia) ?? readJsonTexts(content, path, readMedia);
}

/**
 * Reads a result's content in an API that takes objects only, so that its users wrap a text: `{output: "…"}`,
 * `{result: "…"}`, `{error: "…"}` or the same under another name. A wrapped text can be replaced, as can the blocks of
 * a wrapped result of MCP.
 */
export function readWrappedContent(value: unknown, path: Path, readMedia: ReadMedia): ToolContent {
	if (typeof value === "string") return textContent(value, path);
	if (!isJsonObject(value)) return Array.isArray(value) ? readJsonTexts(value, path, readMedia) : opaque(value);
	const key = onlyMember(value);
	const inner = key === undefined ? undefined : value[key];
	const at = [...path, key ?? ""];
	if (typeof inner === "string") return textContent(inner, at);
	const held = isJsonObject(inner) ? readMcpResult(inner, at, readMedia) : undefined;
	return held ?? readOpenContent(value, path, readMedia);
}

/** The key of an object that holds a single value; null beside it says nothing: `{result: "…", error: null}`. */
export function onlyMember(object: JsonObject): string | undefined {
	const [key, ...others] = Object.keys(object).filter((name) => object[name] !== null);
	return others.length > 0 ? undefined : key;
}

/** A content that is one text. */
export function textContent(text: string, path: Path): ToolContent {
	return { texts: [{ path, text }], whole: { path, write: asText }, media: none, counted: none };
}

function asText(text: string): string {
	return text;
}

/** A content that is one image, recording or document. */
export function mediaContent(node: MediaNode): ToolContent {
	return { ...noContent, media: [node] };
}

/** A content that is counted and never edited. */
export function opaque(value: unknown): ToolContent {
	return value === undefined ? noContent : { ...noContent, counted: [asCountedText(value)] };
}

function noMedia(): undefined {
	return undefined;
}

interface PartRules {
	/** The key of a part's text, where the part is a text. */
	readonly textKey: (part: JsonObject) => string | undefined;
	/** Reads any other part. If it is the only one, its content is that of the list. */
	readonly readOther: (part: unknown, path: Path) => ToolContent;
	/** The part that holds `text` in the place of all parts; by default the first one with this text. */
	readonly write?: (text: string) => JsonObject;
}

/** Reads a list of parts. One that holds only texts counts as one text. */
export function readPartList(parts: readonly unknown[], path: Path, rules: PartRules): ToolContent {
	const texts: TextNode[] = [];
	const media: MediaNode[] = [];
	const counted: string[] = [];
	let firstKey: string | undefined;
	let isText = parts.length > 0;
	for (const [index, part] of parts.entries()) {
		const at = childPath(path, index);
		const key = isJsonObject(part) ? rules.textKey(part) : undefined;
		if (key !== undefined) {
			firstKey ??= key;
			texts.push({ path: childPath(at, key), text: (part as JsonObject)[key] as string });
			continue;
		}
		isText = false;
		const other = rules.readOther(part, at);
		if (parts.length === 1) return other;
		texts.push(...other.texts);
		media.push(...other.media);
		counted.push(...other.counted);
	}
	const write = rules.write ?? ((text: string) => ({ ...(parts[0] as JsonObject), [firstKey ?? "text"]: text }));
	return { texts, whole: isText ? { path, write: (text) => [write(text)] } : undefined, media, counted };
}

function readTypedParts(parts: readonly unknown[], path: Path, readMedia: ReadMedia): ToolContent {
	return readPartList(parts, path, {
		textKey: (part) => (part.type === "text" && stringAt(part, "text") !== undefined ? "text" : undefined),
		readOther(part, at) {
			if (isLongText(part)) return { ...noContent, texts: [{ path: at, text: part }] };
			return typeof part === "object" && part !== null ? readJsonTexts(part, at, readMedia) : opaque(part);
		},
	});
}

const mcpBlockTypes: ReadonlySet<unknown> = new Set(["text", "image", "audio", "resource", "resource_link"]);

/** Members of an MCP result beside its blocks. With `structuredContent` the same output would be there again. */
const mcpMembers = new Set(["content", "isError", "_meta"]);

/**
 * Reads what an MCP server returned (`CallToolResult`), as programs pass it on to APIs that take any JSON:
 * `{content: [{type: "text", text}, …], isError}`. `undefined` for any other object.
 */
function readMcpResult(result: JsonObject, path: Path, readMedia: ReadMedia): ToolContent | undefined {
	if (!isMcpResult(result)) return undefined;
	const blocks = result.content as readonly JsonObject[];
	const read = readTypedParts(blocks, [...path, "content"], readMedia);
	const frame = { ...result, content: blocks.map((block) => (block.type === "text" ? { ...block, text: "" } : "")) };
	return { ...read, counted: [...read.counted, asCountedText(frame)] };
}

/** Whether a result is one of an MCP server which says that the tool failed. */
export function isMcpFailure(result: unknown): boolean {
	return isJsonObject(result) && result.isError === true && isMcpResult(result);
}

function isMcpResult(result: JsonObject): boolean {
	const { content } = result;
	if (!Array.isArray(content) || content.length === 0) return false;
	if (!Object.keys(result).every((key) => mcpMembers.has(key))) return false;
	return (content as unknown[]).every(
		(block) =>
			isJsonObject(block) &&
			mcpBlockTypes.has(block.type) &&
			(block.type !== "text" || stringAt(block, "text") !== undefined),
	);
}

/** A value nested deeper than this is opaque: no tool nests its output so, and paths would cost more than they tell. */
const deepest = 64;

/** Finds the long strings and the media inside a JSON value that cannot be replaced as a whole. */
export function readJsonTexts(value: unknown, path: Path, readMedia: ReadMedia): ToolContent {
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
		if (at.length - path.length > deepest) return opaque(value);
		const node = isJsonObject(item) ? readMedia(item, at) : undefined;
		if (node) {
			media.push(node);
			texts.push(...(node.texts ?? []));
			mediaParts.add(item);
			continue;
		}
		for (const [key, child] of membersOf(item).reverse()) {
			if (isLongText(child) || (typeof child === "object" && child !== null)) {
				waiting.push({ item: child, at: [...at, key] });
			}
		}
	}
	const isElsewhere = (item: unknown) => isLongText(item) || mediaParts.has(item);
	const rest = stringify(value, (_, item) => (isElsewhere(item) ? "" : item)) ?? "";
	return { texts, whole: undefined, media, counted: mediaParts.has(value) ? [] : [rest] };
}

/** Strings from this length on are outputs that may be cut; shorter ones are ids, names and the like. */
const longFrom = 500;

function isLongText(value: unknown): value is string {
	return typeof value === "string" && value.length >= longFrom && !isBinary(value);
}

/** Base64 of an unknown kind (an image, an encrypted value): a part of it would be of no use to anyone. */
function isBinary(text: string): boolean {
	const beginning = text.slice(0, longFrom);
	if (/^data:[^,]*;base64,/.test(beginning)) return true;
	return /^[\w+/=-]+$/.test(beginning) && [/[a-z]/, /[A-Z]/, /\d/].every((kind) => kind.test(beginning));
}
