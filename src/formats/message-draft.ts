import { isJsonObject, type JsonObject } from "../conversation/json.ts";
import {
	childPath,
	type MediaNode,
	type Message,
	type Path,
	type Role,
	type ThinkingBlock,
	type ToolCall,
	type ToolResult,
} from "../conversation/transcript.ts";
import { asCountedText } from "./json-values.ts";
import { type ReadMedia, readJsonTexts, type ToolContent } from "./parts.ts";

type ReadResult = ToolContent & Pick<ToolResult, "callId"> & Partial<Pick<ToolResult, "copies" | "isError">>;

/** Reads a part of a message into its draft. */
export type ReadPart = (part: JsonObject, path: Path, draft: MessageDraft, index: number) => void;

const none: readonly never[] = [];

/** A message while a format reads its parts. */
export class MessageDraft implements Message {
	readonly role: Role;
	readonly paths: Path[];
	readonly counted: string[] = [];
	mediaTokens = 0;
	readonly calls: ToolCall[] = [];
	readonly results: ToolResult[] = [];
	readonly thinking: ThinkingBlock[] = [];

	constructor(role: Role, ...paths: readonly Path[]) {
		this.role = role;
		this.paths = [...paths];
	}

	/** Counts values that are sent: a text as it is, anything else as JSON, null not at all. */
	count(...values: readonly unknown[]): void {
		for (const value of values) {
			if (value !== undefined && value !== null) this.counted.push(asCountedText(value));
		}
	}

	/** Counts a part by its media, or as JSON if it has none. */
	countPart(part: unknown, media: MediaNode | undefined): void {
		if (!media) this.count(part);
		this.mediaTokens += media?.tokens ?? 0;
		for (const { text } of media?.texts ?? none) this.count(text);
	}

	/** Counts a value of any shape with its media; nothing in it is edited. */
	countJson(value: unknown, path: Path, readMedia: ReadMedia): void {
		const { texts, media, counted } = readJsonTexts(value, path, readMedia);
		this.count(...counted, ...texts.map(({ text }) => text));
		this.#addMedia(media);
	}

	/** Reads each object of a list of parts. Counts any other content, and any other part. */
	readParts(content: unknown, path: Path, read: ReadPart): this {
		if (!Array.isArray(content)) this.count(content);
		else {
			content.forEach((part: unknown, index) => {
				if (isJsonObject(part)) read(part, childPath(path, index), this, index);
				else this.count(part);
			});
		}
		return this;
	}

	/** Adds a reasoning block and counts its text. `isItem`: OpenAI requires it beside the call that followed it. */
	addThinking(path: Path, content: unknown, bound: boolean, isItem = false): void {
		const text = asCountedText(content);
		this.thinking.push({ path, text, bound, ...(isItem ? { fixed: true } : {}) });
		this.count(text);
	}

	/** Adds a signature on a part that has to stay. */
	addSignature(path: Path): void {
		this.thinking.push({ path, text: "", bound: true, fixed: true });
	}

	/** Adds a call. `locateCallArguments` expects the arguments to be counted right after the name. */
	addCall(id: string | undefined, name: string | undefined, input: unknown): void {
		this.calls.push({ id, name });
		this.counted.push(name ?? "", asCountedText(input));
	}

	/** Adds a result, and counts its content except for its texts. */
	addResult({ callId, texts, whole, copies = none, media, isError, counted }: ReadResult): void {
		// Much faster than spreading: conversations have thousands of results.
		this.results.push({ callId, texts, whole, copies, media, isError });
		this.counted.push(...counted);
		this.#addMedia(media);
	}

	#addMedia(media: readonly MediaNode[]): void {
		for (const { tokens } of media) this.mediaTokens += tokens;
	}
}

/** Joins the parts of one message that were written separately. */
export function joinMessages(parts: readonly [Message, ...Message[]]): Message {
	if (parts.length === 1) return parts[0];
	return {
		...parts[0],
		paths: parts.flatMap(({ paths }) => paths),
		counted: parts.flatMap(({ counted }) => counted),
		mediaTokens: parts.reduce((sum, { mediaTokens }) => sum + mediaTokens, 0),
		calls: parts.flatMap(({ calls }) => calls),
		results: parts.flatMap(({ results }) => results),
		thinking: parts.flatMap(({ thinking }) => thinking),
	};
}

/** The same message, kept by its session but no longer sent. */
export function unsent(message: Message): Message {
	return { ...message, sent: false };
}
