/**
 * The role of a message, whatever a format calls it: `developer` is `system`, `model` is `assistant`. `other` is a role that
 * no format defines (a checkpoint, an exit notice): kept and counted, never edited.
 */
export type Role = "system" | "user" | "assistant" | "tool" | "other";

/** A text in the document that another string may replace. */
export interface TextNode {
	readonly path: Path;
	readonly text: string;
}

/** The whole content of a result that is only text, so that one text can replace all of it. */
export interface WholeContent {
	readonly path: Path;
	/** The JSON value that holds `text` in the shape of this content: a string, or a list with one text part. */
	readonly write: (text: string) => unknown;
	/** Set where its one text is never replaced alone, since a shortened text needs another shape. */
	readonly only?: true;
}

/** An image, a recording or a document inside a tool result. */
export interface MediaNode {
	readonly path: Path;
	readonly kind: "image" | "audio" | "video" | "document";
	readonly mediaType: string | undefined;
	/** `undefined` where the data is only referred to. */
	readonly bytes: number | undefined;
	readonly dimensions: { readonly width: number; readonly height: number } | undefined;
	/** Estimate, already part of the message's `mediaTokens`. */
	readonly tokens: number;
	/** Plain text that it holds; a result also has them among its `texts`, and counts them there. */
	readonly texts?: readonly TextNode[];
	/** The JSON value that holds `text` instead of this part. */
	readonly write: (text: string) => unknown;
}

/** A reasoning block: counted, never edited; at most it is taken out as a whole. */
export interface ThinkingBlock {
	/** The value that is removed to take it out: the block, or the record or item that holds nothing else. */
	readonly path: Path;
	readonly text: string;
	/** Whether a signature or encryption binds it to what stands before it. */
	readonly bound: boolean;
	/** Set where it cannot be taken out: a signature on a call, or reasoning that its provider requires. */
	readonly fixed?: true;
}

/** A call of a tool, as an assistant message (in some records, a user message) makes it. */
export interface ToolCall {
	/** `undefined` where it has none or one that is not a string. */
	readonly id: string | undefined;
	/** Untrusted; `undefined` where it has none. */
	readonly name: string | undefined;
}

/** The answer of a tool. */
export interface ToolResult {
	/** Id of the call that it answers; `undefined` where it has none or one that is not a non-empty string. */
	readonly callId: string | undefined;
	/** The texts of its content, in order. */
	readonly texts: readonly TextNode[];
	/** `undefined` where the content holds anything but text (an image, an object, nothing at all). */
	readonly whole: WholeContent | undefined;
	/** Copies of the text that a record keeps beside the message. They are sent to no model and cost no tokens. */
	readonly copies: readonly TextNode[];
	readonly media: readonly MediaNode[];
	/**
	 * Values equal to the one that holds the result, where a session has a record more than once: they get the same edits.
	 * Their paths are as long as that of the value.
	 */
	readonly repeats?: readonly Path[];
	/** The format's own error flag; `undefined` where it is not set. */
	readonly isError: boolean | undefined;
}

export interface Message {
	readonly role: Role;
	/** The JSON values that make up the message, removed together when it is dropped. */
	readonly paths: readonly Path[];
	/** Everything in it that costs tokens, tool results aside: texts, names and arguments of calls, opaque JSON. */
	readonly counted: readonly string[];
	/** By estimate. */
	readonly mediaTokens: number;
	readonly calls: readonly ToolCall[];
	readonly results: readonly ToolResult[];
	readonly thinking: readonly ThinkingBlock[];
	/**
	 * False where a session keeps the message but no longer sends it, since it was compacted. It costs nothing and is never
	 * dropped; its results are still masked, so that masked results stay masked.
	 */
	readonly sent?: boolean;
}

/** A conversation as the engine reads it: messages in order, with the places where text may be edited. */
export interface Transcript {
	readonly format: string;
	readonly messages: readonly Message[];
	/** Texts of each request beside the messages: a system prompt, tool schemas. Counted, never edited. */
	readonly surroundings: readonly string[];
	/** Whether the format's API requires a user message first. */
	readonly opensWithUser: boolean;
	/** Whether it refuses two user messages in a row. */
	readonly inTurn?: boolean;
}

/** The places in the values that repeat a result that correspond to a place in it; none for its copies. */
export function repeatedPlaces(result: ToolResult, path: Path): Path[] {
	const { repeats = [] } = result;
	if (repeats.length === 0) return [];
	const own = (result.whole ?? result.texts[0] ?? result.media[0])?.path;
	return repeats.flatMap(({ length }, index): Path[] => {
		const isWithin = own !== undefined && samePath(own.slice(0, length), path.slice(0, length));
		return isWithin ? [[...(repeats[index] ?? []), ...path.slice(length)]] : [];
	});
}

/** The paths of a result that may be edited: its own and those of its copies and repeats. */
export function editablePaths(result: ToolResult): Path[] {
	const { texts, whole, copies, media } = result;
	const own = [...texts, ...media, ...(whole ? [whole] : [])].map(({ path }) => path);
	return [...own, ...copies.map(({ path }) => path), ...own.flatMap((path) => repeatedPlaces(result, path))];
}

/** All text of a result, for reading (never for editing). */
export function resultText(result: ToolResult): string {
	return result.texts.length === 1 ? (result.texts[0]?.text ?? "") : result.texts.map((node) => node.text).join("\n");
}

export function resultCharacters(result: ToolResult): number {
	let characters = 0;
	for (const { text } of result.texts) characters += text.length;
	return characters;
}

/** A place in a JSON document: object keys and array indexes, from the root. */
export type Path = readonly (string | number)[];

/** The path of an item or a member, in a list without spare room: every message has several. */
export function childPath(path: Path, segment: string | number): Path {
	switch (path.length) {
		case 0:
			return [segment];
		case 1:
			return [path[0] as string | number, segment];
		case 2:
			return [path[0] as string | number, path[1] as string | number, segment];
		case 3:
			return [path[0] as string | number, path[1] as string | number, path[2] as string | number, segment];
		default:
			return [...path, segment];
	}
}

/** A path as a JSON Pointer (RFC 6901), the form in which paths leave the engine. */
export function jsonPointer(path: Path): string {
	let pointer = "";
	for (const segment of path) {
		const escaped =
			typeof segment === "number" || !/[~/]/.test(segment)
				? segment
				: segment.replaceAll("~", "~0").replaceAll("/", "~1");
		pointer += `/${escaped}`;
	}
	return pointer;
}

export function samePath(a: Path, b: Path): boolean {
	if (a.length !== b.length) return false;
	for (let index = 0; index < a.length; index += 1) if (a[index] !== b[index]) return false;
	return true;
}

/** The path of a JSON Pointer in a document, with numbers for items of lists; `undefined` where it leads nowhere. */
export function parseJsonPointer(pointer: string, document: unknown): Path | undefined {
	if (pointer === "") return [];
	if (!pointer.startsWith("/")) return undefined;
	const path: (string | number)[] = [];
	let value = document;
	for (const escaped of pointer.slice(1).split("/")) {
		const name = escaped.replaceAll("~1", "/").replaceAll("~0", "~");
		if (typeof value !== "object" || value === null || !Object.hasOwn(value, name)) return undefined;
		if (Array.isArray(value) && !/^(?:0|[1-9]\d*)$/.test(name)) return undefined;
		path.push(Array.isArray(value) ? Number(name) : name);
		value = (value as Record<string, unknown>)[name];
	}
	return path;
}

/** The same for a place to insert at, whose last segment may be the length of its list. */
export function parseInsertPointer(pointer: string, document: unknown): Path | undefined {
	const end = pointer.lastIndexOf("/");
	if (end === -1) return undefined;
	const list = parseJsonPointer(pointer.slice(0, end), document);
	const items = list && valueAt(document, list);
	const name = pointer.slice(end + 1);
	if (!list || !Array.isArray(items) || !/^(?:0|[1-9]\d*)$/.test(name) || Number(name) > items.length) return undefined;
	return [...list, Number(name)];
}

/** The item by which a place to insert at is recognised: the one there, or the last one, or the empty list. */
export function itemBeside(document: unknown, path: Path): unknown {
	const list = valueAt(document, path.slice(0, -1));
	if (!Array.isArray(list)) return undefined;
	return list.length === 0 ? list : list[Math.min(Number(path.at(-1)), list.length - 1)];
}

/** The value at a path, or `undefined` where there is none. Reads own properties only. */
export function valueAt(document: unknown, path: Path): unknown {
	let value = document;
	for (const segment of path) {
		if (typeof value !== "object" || value === null || !Object.hasOwn(value, segment)) return undefined;
		value = (value as Record<string | number, unknown>)[segment];
	}
	return value;
}

/** Whether a path is that of an item of the list at `base`. */
export function isListed(path: Path, base: Path): boolean {
	return path.length === base.length + 1 && samePath(path.slice(0, -1), base);
}

/** The pointer of the item of the list at `base` that holds a value. */
export function recordOf(pointer: string, base: Path): string {
	return pointer
		.split("/")
		.slice(0, base.length + 2)
		.join("/");
}
