/**
 * What a message is for, whatever a format calls it: `developer` is `system`, `model` is `assistant`. `other` is a
 * role that no format defines (a checkpoint, an exit notice): kept and counted, never edited.
 */
export type Role = "system" | "user" | "assistant" | "tool" | "other";

/** A text in the document that may be edited by putting another string in its place. */
export interface TextNode {
	readonly path: Path;
	readonly text: string;
}

/** The whole content of a result, where it is text and nothing else, so that one text can stand for all of it. */
export interface WholeContent {
	readonly path: Path;
	/** The JSON value that holds `text` in the shape of this content: a string, or a list with one text part. */
	readonly write: (text: string) => unknown;
	/** Set where its one text is never replaced alone: what is left of it has to stand in another shape. */
	readonly only?: true;
}

/** An image, a recording or a document inside a tool result. */
export interface MediaNode {
	/** The part that holds it. */
	readonly path: Path;
	readonly kind: "image" | "audio" | "video" | "document";
	/** Such as `image/png`; `undefined` where not said. */
	readonly mediaType: string | undefined;
	/** Size of the data in bytes; `undefined` where it is only referred to. */
	readonly bytes: number | undefined;
	/** Pixels; `undefined` where not known. */
	readonly dimensions: { readonly width: number; readonly height: number } | undefined;
	/** Estimate, already part of the message's `mediaTokens`. */
	readonly tokens: number;
	/** Plain text that it holds; in a result these stand among its `texts` too, and are counted there. */
	readonly texts?: readonly TextNode[];
	/** The JSON value that holds `text` in the place of this part. */
	readonly write: (text: string) => unknown;
}

/** A reasoning block. It is opaque: counted, never edited; at most it is taken out as a whole. */
export interface ThinkingBlock {
	/** What is removed to take it out: the block, or the record or item that holds nothing else. */
	readonly path: Path;
	/** What is counted of it. */
	readonly text: string;
	/** Whether a signature or encryption binds it to what stands before it. */
	readonly bound: boolean;
	/** Set where it cannot be taken out: a signature on a call, reasoning that its provider wants beside what follows. */
	readonly fixed?: true;
}

/** A call of a tool, as an assistant message (or, in some records, a user message) makes it. */
export interface ToolCall {
	/** The call's id; `undefined` where it has none or one that is not a string. */
	readonly id: string | undefined;
	/** The tool's name, untrusted; `undefined` where it has none. */
	readonly name: string | undefined;
}

/** What a tool answered. */
export interface ToolResult {
	/** Id of the call that it answers; `undefined` where it has none or one that is not a non-empty string. */
	readonly callId: string | undefined;
	/** The texts of its content, in order. */
	readonly texts: readonly TextNode[];
	/** `undefined` where the content holds anything but text (an image, an object, nothing at all). */
	readonly whole: WholeContent | undefined;
	/** Further copies of the text that a record keeps beside the message. They are sent to no model and cost no tokens. */
	readonly copies: readonly TextNode[];
	readonly media: readonly MediaNode[];
	/**
	 * Values equal to the one that holds the result, where a session has a record more than once: what is edited here is
	 * edited there likewise. Their paths are as long as that of the value. Absent: none.
	 */
	readonly repeats?: readonly Path[];
	/** The format's own error flag; `undefined` where the format has none or it is not set. */
	readonly isError: boolean | undefined;
}

/** One message of a conversation. */
export interface Message {
	readonly role: Role;
	/** The JSON values that make up the message, removed together when it is dropped. */
	readonly paths: readonly Path[];
	/** Everything in it that costs tokens, tool results aside: texts, names and arguments of calls, opaque JSON. */
	readonly counted: readonly string[];
	/** Tokens of images and other media, by estimate. */
	readonly mediaTokens: number;
	readonly calls: readonly ToolCall[];
	readonly results: readonly ToolResult[];
	readonly thinking: readonly ThinkingBlock[];
	/**
	 * False where a session records the message but sends it no longer, since a compaction took its place. It costs
	 * nothing and is never dropped; its results are masked all the same, so that what was masked once stays so.
	 */
	readonly sent?: boolean;
}

/** A conversation as the engine sees it: messages in order, with the places where text may be edited. */
export interface Transcript {
	/** The wire format it was read from. */
	readonly format: string;
	readonly messages: readonly Message[];
	/** Texts outside the messages that each request carries: a system prompt, tool schemas. Counted, never edited. */
	readonly surroundings: readonly string[];
	/** Whether the format's API wants a user message first. */
	readonly opensWithUser: boolean;
	/** Whether it wants user and assistant in turn, and refuses two user messages one after the other. */
	readonly inTurn?: boolean;
}

/** The places of the values that repeat a result's which correspond to a place in it; none for a place of its copies. */
export function repeatedPlaces(result: ToolResult, path: Path): Path[] {
	const { repeats = [] } = result;
	if (repeats.length === 0) return [];
	const own = (result.whole ?? result.texts[0] ?? result.media[0])?.path;
	return repeats.flatMap(({ length }, index): Path[] => {
		const isWithin = own !== undefined && samePath(own.slice(0, length), path.slice(0, length));
		return isWithin ? [[...(repeats[index] ?? []), ...path.slice(length)]] : [];
	});
}

/** The paths of a result that may be edited: its own, and those of what is kept of it a second time. */
export function editablePaths(result: ToolResult): Path[] {
	const { texts, whole, copies, media } = result;
	const own = [...texts, ...media, ...(whole ? [whole] : [])].map(({ path }) => path);
	return [...own, ...copies.map(({ path }) => path), ...own.flatMap((path) => repeatedPlaces(result, path))];
}

/** The text of a result whose texts belong together, for reading (never for editing). */
export function resultText(result: ToolResult): string {
	return result.texts.length === 1 ? (result.texts[0]?.text ?? "") : result.texts.map((node) => node.text).join("\n");
}

/** Characters (UTF-16 code units) of all texts of a result. */
export function resultCharacters(result: ToolResult): number {
	let characters = 0;
	for (const { text } of result.texts) characters += text.length;
	return characters;
}

/** Where a value stands in a JSON document: object keys and array indexes, from the root. */
export type Path = readonly (string | number)[];

/** The path of an item or a member, in a list of no more room than that: every message has several. */
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
		const escaped = typeof segment === "number" || !/[~/]/.test(segment) ? segment : escapeSegment(segment);
		pointer += `/${escaped}`;
	}
	return pointer;
}

function escapeSegment(segment: string): string {
	return segment.replaceAll("~", "~0").replaceAll("/", "~1");
}

/** Whether two paths lead to the same place. */
export function samePath(a: Path, b: Path): boolean {
	if (a.length !== b.length) return false;
	for (let index = 0; index < a.length; index += 1) if (a[index] !== b[index]) return false;
	return true;
}

/** The path of a JSON Pointer in a document, with numbers where it goes through lists; `undefined` where it leads nowhere. */
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

/** What tells that a place to insert at is still the same: the item there, or the last one before, or the empty list. */
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

/** Whether a path leads to an item of the list at `base`. */
export function isListed(path: Path, base: Path): boolean {
	return path.length === base.length + 1 && samePath(path.slice(0, -1), base);
}

/** The pointer of the item of the list at `base` that holds a value. */
export function recordOf(pointer: string, base: Path): string {
	const parts = pointer.split("/");
	return parts.slice(0, base.length + 2).join("/");
}
