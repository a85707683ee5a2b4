import { isJsonObject, type JsonObject, stringify } from "../engine/conversation/json.ts";
import { childPath, type Path } from "../engine/conversation/paths.ts";
import type {
	BlockLink,
	CallUsage,
	MediaNode,
	Message,
	Role,
	TextNode,
	ThinkingBlock,
	ToolCall,
	ToolResult,
	WholeContent,
} from "../engine/conversation/transcript.ts";
import { asCountedText, membersOf, stringAt } from "./json-text/value.ts";

// Frozen, because all drafts share it.
const none = Object.freeze([]) as unknown as never[];

type ReadResult = ToolContent &
	Pick<ToolResult, "callId"> &
	Partial<Pick<ToolResult, "copies" | "mediaCopies" | "isError">>;

export type ReadPart = (part: JsonObject, path: Path, draft: MessageDraft, index: number) => void;

export class MessageDraft implements Message {
	readonly role: Role;
	readonly paths: Path[];
	counted: string[] = none;
	mediaTokens = 0;
	calls: ToolCall[] = none;
	results: ToolResult[] = none;
	thinking: ThinkingBlock[] = none;
	declare links?: BlockLink[];
	declare time?: number;
	declare endTime?: number;
	declare usage?: CallUsage;
	declare answerId?: string;

	constructor(role: Role, ...paths: Path[]) {
		this.role = role;
		this.paths = paths;
	}

	setTime(time: number | undefined): this {
		if (time !== undefined) this.time = time;
		return this;
	}

	setUsage(usage: CallUsage | undefined): this {
		if (usage !== undefined) this.usage = usage;
		return this;
	}

	/** Counts sent values: text unchanged, null not at all, anything else as JSON. */
	count(...values: readonly unknown[]): this {
		for (const value of values) {
			if (value != null) this.counted = added(this.counted, asCountedText(value));
		}
		return this;
	}

	/** Counts a part by its media, or as JSON if it has none. */
	countPart(part: unknown, media: MediaNode | undefined): void {
		if (!media) this.count(part);
		this.mediaTokens += media?.tokens ?? 0;
		for (const { text } of media?.texts ?? none) this.count(text);
	}

	/** Counts a value of any shape and its media. Nothing in it is edited. */
	countJson(value: unknown, path: Path, readMedia: ReadMedia): void {
		const { texts, media, counted } = readJsonTexts(value, path, readMedia);
		this.count(...counted, ...texts.map(({ text }) => text));
		this.mediaTokens += tokensOfMedia(media);
	}

	/** Reads each object in a list of parts. Only counts other content and other parts. */
	readParts(content: unknown, path: Path, read: ReadPart): this {
		if (!Array.isArray(content)) {
			this.count(content);
			return this;
		}
		for (let index = 0; index < content.length; index += 1) {
			const part: unknown = content[index];
			if (isJsonObject(part)) read(part, childPath(path, index), this, index);
			else this.count(part);
		}
		return this;
	}

	/** Counts a list of parts that are texts and media. */
	countParts(content: unknown, path: Path, readMedia: ReadMedia): this {
		return this.readParts(content, path, (part, at) => {
			if (part.type === "text") this.count(part.text);
			else this.countPart(part, readMedia(part, at));
		});
	}

	/** Adds a reasoning block and counts its text. `isItem`: OpenAI requires it together with the call that followed it. */
	addThinking(path: Path, content: unknown, bound: boolean, isItem = false, hiddenTokens?: number): void {
		const text = asCountedText(content);
		const hidden = hiddenTokens === undefined ? {} : { hiddenTokens };
		this.thinking = added(this.thinking, { path, text, bound, ...(isItem ? { fixed: true } : {}), ...hidden });
		this.count(text);
	}

	addSignature(path: Path): void {
		this.thinking = added(this.thinking, { path, text: "", bound: true, fixed: true });
	}

	addLink(link: BlockLink): void {
		this.links = added(this.links ?? none, link);
	}

	/** Adds a call. `locateCallArguments` expects the arguments to be counted right after the name. */
	addCall(id: string | undefined, name: string | undefined, input: unknown): this {
		this.calls = added(this.calls, { id, name });
		this.counted = added(this.counted, name ?? "", asCountedText(input));
		return this;
	}

	/** Adds a result, and counts its content except for its texts. */
	addResult(read: ReadResult): this {
		const { callId, texts, whole, copies = none, mediaCopies = none, media, inPlaceOfMedia, isError, counted } = read;
		// Much faster than spreading: conversations have thousands of results.
		this.results = added(this.results, { callId, texts, whole, copies, media, mediaCopies, inPlaceOfMedia, isError });
		this.counted = added(this.counted, ...counted);
		this.mediaTokens += tokensOfMedia(media);
		return this;
	}
}

/** Adds items to a list of a draft. Drafts share one empty list, since V8 gives a list that grows room for 17 items. */
export function added<Item>(list: Item[], ...items: Item[]): Item[] {
	if (list.length === 0) return items.length === 0 ? list : items;
	list.push(...items);
	return list;
}

/** Joins the parts of one message that were written separately. */
export function joinMessages(parts: readonly Message[]): Message {
	const [first] = parts as readonly [Message];
	if (parts.length === 1) return first;
	// The first records of a streamed answer may have only the usage so far.
	const usage = parts.findLast((part) => part.usage)?.usage;
	const links = parts.flatMap((part) => part.links ?? []);
	return {
		...first,
		paths: parts.flatMap(({ paths }) => paths),
		counted: parts.flatMap(({ counted }) => counted),
		mediaTokens: parts.reduce((sum, { mediaTokens }) => sum + mediaTokens, 0),
		calls: parts.flatMap(({ calls }) => calls),
		results: parts.flatMap(({ results }) => results),
		thinking: parts.flatMap(({ thinking }) => thinking),
		...(links.length > 0 ? { links } : {}),
		...(usage ? { usage } : {}),
	};
}

export function tokensOfMedia(media: readonly MediaNode[]): number {
	return media.reduce((sum, { tokens }) => sum + tokens, 0);
}

/** Marks a message that its session keeps but no longer sends. */
export function unsent(message: Message): Message {
	return { ...message, sent: false };
}

/** The content of a result; `counted` is the rest of it, which is never edited. */
export interface ToolContent {
	readonly texts: readonly TextNode[];
	readonly whole: WholeContent | undefined;
	readonly media: readonly MediaNode[];
	readonly inPlaceOfMedia?: readonly TextNode[];
	readonly counted: readonly string[];
}

export const noContent: ToolContent = { texts: none, whole: undefined, media: none, counted: none };

type ReadMedia = (part: JsonObject, path: Path) => MediaNode | undefined;

const asText = (text: string) => text;

/** For results that are a string or a list of parts. In other JSON only long strings may be cut. */
export function readToolContent(content: unknown, path: Path, readMedia?: ReadMedia): ToolContent {
	const read = readOpenContent(content, path, readMedia);
	return isJsonObject(content) ? { ...read, whole: undefined } : read;
}

/** For results of any JSON. A text can replace strings, text parts and MCP results; in other JSON long strings may be cut. */
export function readOpenContent(content: unknown, path: Path, readMedia: ReadMedia = () => undefined): ToolContent {
	if (typeof content === "string") return textContent(content, path);
	if (Array.isArray(content)) return readTypedParts(content, path, readMedia);
	if (!isJsonObject(content)) return opaque(content ?? undefined);
	return readMcpResult(content, path, readMedia) ?? readJsonTexts(content, path, readMedia);
}

/** For results of any JSON: a text can replace all of it, unless there are media in it. */
export function readJsonContent(
	value: unknown,
	path: Path,
	readMedia: ReadMedia,
	write: WholeContent["write"] = asText,
): ToolContent {
	return asWhole(readOpenContent(value, path, readMedia), { value, path, write });
}

/** Lets a text replace all of the object or list `value`, at `path` and as `write` puts it. */
export function asWhole(
	read: ToolContent,
	{ value, path, write }: Pick<WholeContent, "path" | "write"> & { readonly value: unknown },
): ToolContent {
	const { whole, media, counted } = read;
	const hasMembers = typeof value === "object" && value !== null && Object.keys(value).length > 0;
	if (whole || media.length > 0 || !hasMembers) return read;
	return { ...read, counted: none, whole: { path, write, json: { value, rest: counted } } };
}

/** For APIs whose results must be objects, so that users wrap a text: `{output: "…"}`. */
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

/** The key of the only member that is not null, as in `{result: "…", error: null}`. */
export function onlyMember(object: JsonObject): string | undefined {
	const [key, ...others] = Object.keys(object).filter((name) => object[name] !== null);
	return others.length > 0 ? undefined : key;
}

export function textContent(text: string, path: Path): ToolContent {
	return { texts: [{ path, text }], whole: { path, write: asText }, media: none, counted: none };
}

export function mediaContent(node: MediaNode): ToolContent {
	return { ...noContent, media: [node] };
}

/** A content that is counted and never edited. */
export function opaque(value: unknown): ToolContent {
	return value === undefined ? noContent : { ...noContent, counted: [asCountedText(value)] };
}

interface PartRules {
	readonly textKey: (part: JsonObject) => string | undefined;
	readonly readOther: (part: unknown, path: Path) => ToolContent;
	/** Counted with a text part. */
	readonly beside?: (part: JsonObject) => readonly string[];
	/** Writes a text part; by default the first part with this text. */
	readonly write?: (text: string) => JsonObject;
}

/** Reads a list of parts. One text can replace all of them if they are only texts. */
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
			counted.push(...(rules.beside?.(part as JsonObject) ?? none));
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
		// Programs have types of their own for texts, such as `tool_output`, or none.
		textKey: (part) => {
			const hasText = ["undefined", "string"].includes(typeof part.type) && stringAt(part, "text") !== undefined;
			return hasText && (part.type === "text" || !hasMoreThanText(part, path, readMedia)) ? "text" : undefined;
		},
		beside: ({ type, text: _, ...others }) =>
			type === undefined && Object.keys(others).length > 0 ? [asCountedText(others)] : none,
		readOther(part, at) {
			if (isLongText(part)) return { ...noContent, texts: [{ path: at, text: part }] };
			return typeof part === "object" && part !== null ? readJsonTexts(part, at, readMedia) : opaque(part);
		},
	});
}

/** Whether a part has media, or another long value beside its text. */
function hasMoreThanText(part: JsonObject, path: Path, readMedia: ReadMedia): boolean {
	const { text: _, ...others } = part;
	return readMedia(part, path) !== undefined || readJsonTexts(others, path, readMedia).texts.length > 0;
}

const mcpBlockTypes: ReadonlySet<unknown> = new Set(["text", "image", "audio", "resource", "resource_link"]);

/** Without `structuredContent`, which would repeat the output. */
const mcpMembers = new Set(["content", "isError", "_meta"]);

/** Reads the result of an MCP server (`CallToolResult`), which programs pass on to APIs that accept any JSON. */
function readMcpResult(result: JsonObject, path: Path, readMedia: ReadMedia): ToolContent | undefined {
	if (!isMcpResult(result)) return undefined;
	const blocks = result.content as readonly JsonObject[];
	const read = readTypedParts(blocks, [...path, "content"], readMedia);
	const frame = { ...result, content: blocks.map((block) => (block.type === "text" ? { ...block, text: "" } : "")) };
	return { ...read, counted: [...read.counted, asCountedText(frame)] };
}

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

/** A value nested deeper than this is opaque. */
const deepest = 64;

/** Finds the long strings and the media inside a JSON value. */
export function readJsonTexts(value: unknown, path: Path, readMedia: ReadMedia): ToolContent {
	const texts: TextNode[] = [];
	const media: MediaNode[] = [];
	const mediaParts = new Set<unknown>();
	// Without recursion: the nesting is untrusted.
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

/** Strings from this length on are outputs that may be cut; shorter ones are ids and names. */
const longFrom = 500;

/** A shorter output that was cut or masked names its original, so it can be restored. */
const cutMark = /\br[ée]f=[0-9a-z]{8}| #[0-9a-z]{8,}\]$/;

function isLongText(value: unknown): value is string {
	return typeof value === "string" && (value.length >= longFrom || cutMark.test(value)) && !isBinary(value);
}

/** Base64, such as an image or an encrypted value, is useless in part. */
export function isBinary(text: string): boolean {
	const beginning = text.slice(0, longFrom);
	if (/^data:[^,]*;base64,/.test(beginning)) return true;
	return /^[\w+/=-]+$/.test(beginning) && [/[a-z]/, /[A-Z]/, /\d/].every((kind) => kind.test(beginning));
}
