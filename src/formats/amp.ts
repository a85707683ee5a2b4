import type { WrittenMessage } from "../engine/conversation/apply.ts";
import { isJsonObject, type JsonObject } from "../engine/conversation/json.ts";
import type { Path } from "../engine/conversation/paths.ts";
import type { Message } from "../engine/conversation/transcript.ts";
import { cacheApartUsage } from "./answer.ts";
import { readAnthropicMedia } from "./anthropic.ts";
import { type Format, keptFields, plainRoles, probeMessages, readTranscript, roleOf } from "./format.ts";
import { hiddenTokens } from "./hidden-reasoning.ts";
import { asCountedText, hasMember, idAt, objectOf, stringAt, timeAt } from "./json-text/value.ts";
import { readInlineMedia, readMedia } from "./media.ts";
import { MessageDraft, mediaContent, readOpenContent, type ToolContent, textContent } from "./parts.ts";

/** Members of a message that only Amp has. */
const ownMembers = ["messageId", "dtwMessageID"];

/** Threads of Amp (`amp threads export`, `~/.local/share/amp/threads`): the output of a tool is in the `run` of its result. */
export const amp: Format = {
	name: "amp",
	title: "Amp thread",
	looksFor: "Amp thread (`messages` with `messageId`, results with `toolUseID` and `run`)",
	probe: ({ messages }) =>
		probeMessages(messages, "`messageId` in a message, or `toolUseID` and `run` in a result", probe),
	read: (located) => ({ ...readTranscript("amp", located, [], readMessage), opensWithUser: true }),
	write: { message: writeMessage, appends: false },
};

function probe(message: JsonObject) {
	const { content } = message;
	if (!Array.isArray(content)) return "`content` as a list of blocks";
	for (const block of content as readonly unknown[]) {
		if (!isJsonObject(block) || typeof block.type !== "string") return "blocks with a `type`";
		if (block.type === "tool_result" && !hasMember(block, "toolUseID")) return "`toolUseID` in each `tool_result`";
	}
	const hasResult = (content as readonly JsonObject[]).some(({ type }) => type === "tool_result");
	return hasResult || hasMember(message, ...ownMembers);
}

function readMessage(message: JsonObject, path: Path): Message {
	const draft = new MessageDraft(roleOf(message, plainRoles), path).setTime(timeAt(objectOf(message.meta), "sentAt"));
	const { inputTokens: input, cacheReadInputTokens: cacheRead, ...usage } = objectOf(message.usage);
	const cacheWrite = usage.cacheCreationInputTokens;
	if (draft.role === "assistant") draft.setUsage(cacheApartUsage({ input, cacheRead, cacheWrite, model: usage.model }));
	return draft.readParts(message.content, [...path, "content"], readBlock);
}

function readBlock(block: JsonObject, path: Path, draft: MessageDraft): void {
	const { type } = block;
	if (type === "text") draft.count(block.text);
	else if (type === "thinking") {
		const hidden = hiddenTokens(block.thinking, block.signature);
		draft.addThinking(path, block.thinking, typeof block.signature === "string", false, hidden);
	} else if (type === "redacted_thinking") draft.addThinking(path, block, true, false, hiddenTokens("", block.data));
	else if (type === "tool_use") draft.addCall(idAt(block, "id"), stringAt(block, "name"), block.input);
	else if (type === "tool_result") readRun(block, path, draft);
	else if (type === "summary") draft.count(stringAt(objectOf(block.summary), "summary") ?? block.summary);
	else draft.countPart(block, readAnthropicMedia(block, path));
}

/** A run has a `result` of any JSON, or the `error` of a call that failed. */
function readRun(block: JsonObject, path: Path, draft: MessageDraft): void {
	const run = objectOf(block.run);
	const { status } = run;
	const key = hasMember(run, "result") ? ["result"] : isJsonObject(run.error) ? ["error", "message"] : ["error"];
	const value = key.reduce<unknown>((held, one) => objectOf(held)[one], run);
	const content = readResult(value, [...path, "run", ...key]);
	const isError = (typeof status === "string" && failures.has(status)) || undefined;
	draft.addResult({ callId: idAt(block, "toolUseID"), ...content, isError });
}

/** The members in which Amp's own tools have their text, next to an exit code or a path. */
const textKeys = ["output", "content", "stdout"];

function readResult(value: unknown, path: Path): ToolContent {
	const held = objectOf(value);
	// What Amp read from an image.
	if (held.isImage === true && isBase64(held.content)) {
		const mediaType = stringAt(objectOf(held.imageInfo), "mimeType");
		const node = readMedia({
			path: [...path, "content"],
			provider: "any",
			data: held.content,
			mediaType,
			kind: "image",
			write: (text) => text,
		});
		return { ...mediaContent(node), counted: [asCountedText({ ...held, content: "" })] };
	}
	const key = textKeys.find((one) => stringAt(held, one) !== undefined);
	if (key === undefined) return readOpenContent(value, path, readInlineMedia);
	const text = textContent(stringAt(held, key) ?? "", [...path, key]);
	return { ...text, counted: [asCountedText({ ...held, [key]: "" })] };
}

function isBase64(content: unknown): boolean {
	return typeof content === "string" && /^[\w+/]+=*$/.test(content);
}

const failures: ReadonlySet<string> = new Set(["error", "cancelled", "rejected-by-user"]);

function writeMessage({ role, text, instead }: WrittenMessage) {
	const state = role === "assistant" ? { state: { type: "complete", stopReason: "end_turn" } } : {};
	return { role, ...keptFields(instead, [...ownMembers, "meta"]), content: [{ type: "text", text }], ...state };
}
