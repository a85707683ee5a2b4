import { compactJson } from "./json.ts";
import { type Path, startsWith } from "./paths.ts";

/** `developer` is `system`, `model` is `assistant`. `other`: a role that no format defines; counted, never edited. */
export type Role = "system" | "user" | "assistant" | "tool" | "other";

export interface TextNode {
	readonly path: Path;
	readonly text: string;
	/** The text around it in the string at `path`: it counts with the message, and stays. */
	readonly frame?: { readonly before: string; readonly after: string };
}

/** The string at the path of a text that is replaced. */
export function inFrame({ frame }: TextNode, text: string): string {
	return frame ? frame.before + text + frame.after : text;
}

/** The text that replaced another in its frame; `undefined` if the frame is gone. */
export function withoutFrame({ frame }: TextNode, replaced: string): string | undefined {
	const { before, after } = frame ?? { before: "", after: "" };
	const isKept =
		replaced.length >= before.length + after.length && replaced.startsWith(before) && replaced.endsWith(after);
	return isKept ? replaced.slice(before.length, replaced.length - after.length) : undefined;
}

/** The content of a result that one text can replace: it is only text, or JSON without media. */
export interface WholeContent {
	readonly path: Path;
	/** The JSON value that holds `text` in the shape of this content: a string, or a list with one text part. */
	readonly write: (text: string) => unknown;
	/** Set if its text is never replaced alone, since a shortened text needs another shape. */
	readonly only?: true;
	/** Set if the content is not only text: its JSON is taken out. `rest` is what the texts of the result do not hold. */
	readonly json?: { readonly value: unknown; readonly rest: readonly string[] };
	/** JSON that stays around the text, and is counted with it: its program checks the members of the content. */
	readonly around?: () => string;
}

export interface MediaNode {
	readonly path: Path;
	readonly kind: "image" | "audio" | "video" | "document";
	readonly mediaType: string | undefined;
	/** `undefined` for a URL or an id. */
	readonly bytes: number | undefined;
	readonly dimensions: { readonly width: number; readonly height: number } | undefined;
	/** Estimate, already part of the message's `mediaTokens`. */
	readonly tokens: number;
	/** Plain text in it; a result also has it among its `texts`, and counts it there. */
	readonly texts?: readonly TextNode[];
	readonly write: (text: string) => unknown;
}

/** A reasoning block: counted, and at most removed as a whole. */
export interface ThinkingBlock {
	/** The value to remove: the block, or the record or item that has nothing else. */
	readonly path: Path;
	readonly text: string;
	/** Whether a signature or encryption binds it to the messages before it. */
	readonly bound: boolean;
	/** Set if it has to stay: a signature on a call, or reasoning that its provider requires. */
	readonly fixed?: true;
	/** Tokens of reasoning that is sent without its text: an estimate, which no count of a message contains. */
	readonly hiddenTokens?: number;
	/** Set for another record of a block that is sent once. */
	readonly repeated?: true;
}

export interface ToolCall {
	/** `undefined` if it is missing or no string. */
	readonly id: string | undefined;
	/** Untrusted. */
	readonly name: string | undefined;
	/** The arguments of a call that the message's own words hold, which count them. */
	readonly input?: string;
}

export interface ToolResult {
	/** Id of its call; `undefined` if it is missing, empty or no string. */
	readonly callId: string | undefined;
	readonly texts: readonly TextNode[];
	/** `undefined` if no text can replace all of the content. */
	readonly whole: WholeContent | undefined;
	/** Copies of the text next to the message. They are not sent. */
	readonly copies: readonly TextNode[];
	readonly media: readonly MediaNode[];
	/** Copies of the data of its media next to the message. They are not sent. */
	readonly mediaCopies?: readonly TextNode[];
	/** Texts where media of the format may stand. They count with the message, and may tell of media that were taken out. */
	readonly inPlaceOfMedia?: readonly TextNode[] | undefined;
	/** Paths of values equal to the one with the result, in a session with repeated records: they get the same edits. */
	readonly repeats?: readonly Path[];
	readonly isError: boolean | undefined;
}

/** The id of a block that others name, or that a block names. Ids of calls and results are not repeated here. */
export interface BlockLink {
	readonly kind: "opens" | "refers";
	readonly id: string;
	/** The kind of a result of the provider's own tool, such as `web_search`. */
	readonly serverResult?: string;
}

/** The input of one LLM call, as its provider billed it, in the provider's tokens. */
export interface CallUsage {
	/** All of it, with the tokens from the cache. */
	readonly inputTokens: number;
	readonly cachedTokens: number;
	/** Seconds that the provider keeps the tokens that this call wrote to its cache, if the record says so. */
	readonly cacheSeconds?: number;
	readonly model?: string;
}

export interface Message {
	readonly role: Role;
	/** The JSON values of the message, removed together when it is dropped. */
	readonly paths: readonly Path[];
	/** All counted texts except those of tool results: texts, names and arguments of calls, opaque JSON. */
	readonly counted: readonly string[];
	readonly mediaTokens: number;
	readonly calls: readonly ToolCall[];
	readonly results: readonly ToolResult[];
	readonly thinking: readonly ThinkingBlock[];
	/** Absent for none. The blocks of a link stay or go together. */
	readonly links?: readonly BlockLink[];
	/** False if a session keeps the compacted message. It costs nothing and is never dropped; its results stay masked. */
	readonly sent?: boolean;
	/** Set where the document counts its messages, so that its program refuses it when one is gone. */
	readonly stays?: true;
	/** In ms since 1970, if the record has it. An answer has the time at which it began, if that is known. */
	readonly time?: number;
	/** When the results in it were complete, if a format has calls and results in one message. */
	readonly endTime?: number;
	/** The usage of the LLM call that this message answers. */
	readonly usage?: CallUsage;
	/** The provider's id of that call, if the record has it: copies of a session keep it. */
	readonly answerId?: string;
}

export interface Transcript {
	readonly format: string;
	readonly messages: readonly Message[];
	/** Texts of each request in addition to the messages: a system prompt, tool schemas. */
	readonly surroundings: readonly string[];
	readonly opensWithUser: boolean;
	/** Whether the API refuses two user messages in a row. */
	readonly inTurn?: boolean;
	/** The same of templates of models (Mistral's), which do not count calls and results. */
	readonly plainInTurn?: boolean;
}

/** The places in the repeats of a result that correspond to a place in it; none for its copies. */
export function repeatedPlaces(result: ToolResult, path: Path): Path[] {
	const { repeats = [] } = result;
	const own = (result.whole ?? result.texts[0] ?? result.media[0])?.path;
	return repeats.flatMap((repeat): Path[] => {
		const isWithin = own !== undefined && startsWith(path, own.slice(0, repeat.length));
		return isWithin ? [[...repeat, ...path.slice(repeat.length)]] : [];
	});
}

export function editablePaths(result: ToolResult): Path[] {
	const { texts, whole, copies, media, mediaCopies = [] } = result;
	const own = [...texts, ...media, ...(whole ? [whole] : [])].map(({ path }) => path);
	return [
		...own,
		...[...copies, ...mediaCopies].map(({ path }) => path),
		...own.flatMap((path) => repeatedPlaces(result, path)),
	];
}

/** All text of a result, for reading (never for editing); JSON for a result that is not only text. */
export function resultText({ texts, whole }: ToolResult): string {
	if (whole?.json) return compactJson(whole.json.value);
	return texts.map(({ text }) => text).join("\n");
}

/** Its text without the reminders that a host puts after it, such as how many tokens are left: they are not its content. */
export function resultContent(result: ToolResult): string {
	return withoutReminders(resultText(result));
}

/** Claude Code ends results with `<system-reminder>…</system-reminder>`. */
export function withoutReminders(text: string): string {
	let content = text;
	for (let end = text.trimEnd(); end.endsWith("</system-reminder>"); end = content.trimEnd()) {
		const start = end.lastIndexOf("<system-reminder>");
		if (start === -1) break;
		content = end.slice(0, start);
	}
	return content;
}

/** Whether two results with the same texts have the same JSON around them. */
export function hasSameRest({ whole }: ToolResult, other: ToolResult): boolean {
	return whole?.json?.rest.join("\n") === other.whole?.json?.rest.join("\n");
}

export function resultCharacters({ texts, whole }: ToolResult): number {
	const characters = texts.reduce((sum, { text }) => sum + text.length, 0);
	return (whole?.json?.rest ?? []).reduce((sum, text) => sum + text.length, characters);
}
