import type { Path } from "../../engine/path.ts";
import type { MediaNode, TextNode, ThinkingBlock, ToolCall, ToolResult } from "../../engine/transcript.ts";
import { asCountedText, idAt, isJsonObject, type JsonObject, stringAt } from "../json-values.ts";
import { readMedia } from "../media/read-media.ts";
import { readResultContent } from "../part-list.ts";

/** What opencode sends in the place of an output that it has cleared itself. */
const clearedText = "[Old tool result content cleared]";
/** What opencode sends where a call was never answered. */
const interruptedText = "[Tool execution was interrupted]";

/** Where `state.metadata` repeats the output or its beginning, for display. */
const copyKeys = ["output", "preview", "stdout", "stderr"];

/** What is read of one message while its parts are gone through. */
export interface Reading {
	readonly counted: string[];
	readonly calls: ToolCall[];
	readonly results: ToolResult[];
	readonly media: MediaNode[];
	readonly thinking: ThinkingBlock[];
}

/** Reads a tool part: the call, and its result where there is one. */
export function readOpencodeTool(part: JsonObject, path: Path, reading: Reading): void {
	const state = isJsonObject(part.state) ? part.state : {};
	const name = stringAt(part, "tool");
	const callId = idAt(part, "callID");
	reading.calls.push({ id: callId, name });
	reading.counted.push(name ?? "", asCountedText(state.input));
	if (state.status === "completed") readOutput(state, [...path, "state"], callId, reading);
	else if (state.status === "error") readError(state, [...path, "state"], callId, reading);
	else reading.counted.push(interruptedText);
}

function readOutput(state: JsonObject, path: Path, callId: string | undefined, reading: Reading): void {
	const { counted, results } = reading;
	if (isJsonObject(state.time) && state.time.compacted) {
		counted.push(clearedText);
		results.push({ callId, texts: [], whole: undefined, copies: [], media: [], isError: false });
		return;
	}
	const content = readResultContent(state.output, [...path, "output"]);
	counted.push(...content.others.map(asCountedText));
	const attachments = Array.isArray(state.attachments) ? (state.attachments as unknown[]) : [];
	const media: MediaNode[] = [];
	for (const [index, attachment] of attachments.entries()) {
		const text = textOfAttachment(attachment);
		if (text === undefined) media.push(readOpencodeFile(attachment as JsonObject, [...path, "attachments", index]));
		else counted.push(text);
	}
	reading.media.push(...media);
	const whole = attachments.length > 0 ? undefined : content.whole;
	const copies = copiesIn(state.metadata, [...path, "metadata"], copyKeys);
	results.push({ callId, texts: content.texts, whole, copies, media, isError: false });
}

/** A call that was aborted keeps what it had put out by then in `metadata.output`; the model is sent that instead. */
function readError(state: JsonObject, path: Path, callId: string | undefined, reading: Reading): void {
	const { metadata } = state;
	const partial = isJsonObject(metadata) && metadata.interrupted === true ? stringAt(metadata, "output") : undefined;
	const content =
		partial === undefined
			? readResultContent(state.error, [...path, "error"])
			: readResultContent(partial, [...path, "metadata", "output"]);
	reading.counted.push(...content.others.map(asCountedText));
	const keys = partial === undefined ? copyKeys : copyKeys.slice(1);
	const copies = copiesIn(metadata, [...path, "metadata"], keys);
	reading.results.push({ callId, texts: content.texts, whole: content.whole, copies, media: [], isError: true });
}

function copiesIn(metadata: unknown, path: Path, keys: readonly string[]): TextNode[] {
	if (!isJsonObject(metadata)) return [];
	return keys.flatMap((key) => {
		const text = stringAt(metadata, key);
		return text ? [{ path: [...path, key], text }] : [];
	});
}

/** A file as opencode attaches it to a message or a result. In its place a text is a file of plain text. */
export function readOpencodeFile(file: JsonObject, path: Path): MediaNode {
	const write = (text: string) => ({
		...file,
		mime: "text/plain",
		url: `data:text/plain;base64,${Buffer.from(text).toString("base64")}`,
	});
	return readMedia({ path, provider: "any", data: stringAt(file, "url"), mediaType: stringAt(file, "mime"), write });
}

/** The text of an attachment that is no media: a file of plain text, or what is no file at all. */
function textOfAttachment(attachment: unknown): string | undefined {
	if (!isJsonObject(attachment)) return asCountedText(attachment);
	if (stringAt(attachment, "mime") !== "text/plain") return undefined;
	const url = stringAt(attachment, "url") ?? "";
	const data = url.slice(url.indexOf(",") + 1);
	return url.startsWith("data:text/plain;base64,") ? Buffer.from(data, "base64").toString("utf8") : url;
}
