import type { WrittenMessage } from "../engine/conversation/apply.ts";
import { isJsonObject, type JsonObject } from "../engine/conversation/json.ts";
import type { Path } from "../engine/conversation/paths.ts";
import type { MediaNode, Role } from "../engine/conversation/transcript.ts";
import { cacheIncludedUsage } from "./answer.ts";
import { type Format, idOfText, keptFields, probeEach, roleOf, transcriptOf } from "./format.ts";
import { readFunctionResponse, readGeminiMedia } from "./gemini.ts";
import { hasMember, idAt, listOf, objectOf, stringAt, timeAt } from "./json-text/value.ts";
import { MessageDraft, readOpenContent, type ToolContent, unsent } from "./parts.ts";
import { outputCopies } from "./session-files.ts";

const roles: Readonly<Record<string, Role>> = { user: "user", gemini: "assistant" };

/** Notices on the screen, which Gemini CLI does not send. */
const notices: ReadonlySet<unknown> = new Set(["info", "error", "warning"]);

/** `chats/session-….json` of Gemini CLI, and the records of newer `.jsonl` files. A call and its result are one value. */
export const geminiCli: Format = {
	name: "gemini-cli",
	title: "Gemini CLI chat",
	looksFor:
		"Gemini CLI chat (messages of `type` user or gemini with `content`, calls with their `result` in `toolCalls`)",
	probe: ({ messages }) => probeEach(messages, "a message of `type` gemini", probe),
	read({ messages: list, base }) {
		const records = list.flatMap((record, index) => withRewritten(record, [...base, index]));
		const { stateOf, draftsOf } = replayRecords(records.map(({ record }) => record));
		const messages = records.flatMap(({ record, path }, index) => {
			const message = readRecord(objectOf(record), path);
			// Dropped with the message: otherwise Gemini CLI would take the last draft instead.
			for (const at of draftsOf(index)) message?.paths.push(records[at]?.path as Path);
			if (!message || stateOf(index) === "draft") return [];
			return [stateOf(index) === "sent" && !isContext(objectOf(record)) ? message : unsent(message)];
		});
		return { ...transcriptOf("gemini-cli", messages), opensWithUser: true };
	},
	write: { message: writeMessage, appends: false },
};

function probe(record: unknown) {
	if (!isJsonObject(record)) return "an object with a `type`";
	const type = stringAt(record, "type");
	// The header of a file of records, and changes to earlier records.
	if (type === undefined) return hasMember(record, "sessionId", "$set", "$rewindTo") ? false : "a string `type`";
	if (!Object.hasOwn(roles, type)) return notices.has(type) ? false : "`type` user, gemini, info, error or warning";
	const { content, toolCalls } = record;
	const isContent = content === undefined || typeof content === "string" || Array.isArray(content);
	if (!isContent) return "`content` as a string or a list of parts";
	if (!listOf(toolCalls ?? []).every(isJsonObject)) return "`toolCalls` as a list of objects";
	return type === "gemini";
}

/** The record, and the messages in it if it rewrites the chat. A resumed chat replaces all earlier records this way. */
function withRewritten(record: unknown, path: Path) {
	const own = { record, path };
	if (!isRewriting(record)) return [own];
	const messages = listOf(objectOf(objectOf(record).$set).messages);
	return [own, ...messages.map((one, index) => ({ record: one, path: [...path, "$set", "messages", index] }))];
}

function isRewriting(record: unknown): boolean {
	return Array.isArray(objectOf(objectOf(record).$set).messages);
}

/**
 * A later record with the id of an earlier one takes its place. A rewind takes out a message and all after it. A draft is
 * a replaced record without calls.
 */
function replayRecords(records: readonly unknown[]) {
	const gone = new Set<number>();
	const drafts = new Map<number, readonly number[]>();
	const isDraft = new Set<number>();
	const known = new Map<string, number>();
	for (const [index, record] of records.entries()) {
		if (isRewriting(record)) for (let at = 0; at < index; at += 1) gone.add(at);
		const rewind = idAt(objectOf(record), "$rewindTo");
		const from = rewind === undefined ? undefined : known.get(rewind);
		if (from !== undefined) for (let at = from; at < index; at += 1) gone.add(at);
		const id = idAt(objectOf(record), "id");
		if (id === undefined) continue;
		const before = known.get(id);
		if (before !== undefined) {
			if (!gone.has(before) && listOf(objectOf(records[before]).toolCalls).length === 0) {
				drafts.set(index, [...(drafts.get(before) ?? []), before]);
				isDraft.add(before);
			}
			gone.add(before);
		}
		known.set(id, index);
	}
	return {
		stateOf: (index: number) => (isDraft.has(index) ? "draft" : gone.has(index) ? "gone" : "sent"),
		draftsOf: (index: number) => drafts.get(index) ?? [],
	};
}

/** Context that Gemini CLI puts before the first request. It leaves this out when it resumes a chat. */
function isContext(record: JsonObject): boolean {
	const [part] = Array.isArray(record.content) ? record.content : [record.content];
	const text = isJsonObject(part) ? part.text : part;
	return record.type === "user" && typeof text === "string" && /^\s*<(?:session|hook)_context>/.test(text);
}

function readRecord(record: JsonObject, path: Path): MessageDraft | undefined {
	if (!Object.hasOwn(roles, stringAt(record, "type") ?? "")) return undefined;
	const draft = new MessageDraft(roleOf({ role: record.type }, roles), path).setTime(timeAt(record, "timestamp"));
	const { input, cached } = objectOf(record.tokens);
	draft.setUsage(cacheIncludedUsage({ input, cached, model: record.model }));
	draft.readParts(record.content, [...path, "content"], (part, at) => {
		const { functionCall: call, functionResponse: response } = part;
		// Newer versions record a result as a message too, and send both when they resume a chat (0.61.0).
		if (isJsonObject(call)) draft.addCall(idAt(call, "id"), stringAt(call, "name"), call.args);
		else if (isJsonObject(response)) {
			const content = readFunctionResponse(response, [...at, "functionResponse"]);
			draft.addResult({ callId: idAt(response, "id"), ...content });
		} else if (typeof part.text === "string") draft.count(part.text);
		else draft.countPart(part, readGeminiMedia(part, at));
	});
	const known = new Set(draft.calls.map(({ id }) => id));
	for (const [index, call] of listOf(record.toolCalls).entries()) {
		if (isJsonObject(call)) readCall(call, [...path, "toolCalls", index], { draft, known });
	}
	return draft;
}

/** `known` has the ids of calls that are also in the content. */
function readCall(
	call: JsonObject,
	path: Path,
	{ draft, known }: { readonly draft: MessageDraft; readonly known: ReadonlySet<string | undefined> },
): void {
	const callId = idAt(call, "id");
	if (callId === undefined || !known.has(callId)) draft.addCall(callId, stringAt(call, "name"), call.args);
	const { result, status } = call;
	if (result == null) return;
	const at = [...path, "result"];
	const [response] = listOf(result).map((part) => objectOf(part).functionResponse);
	const held = isJsonObject(response) ? readFunctionResponse(response, [...at, 0, "functionResponse"]) : undefined;
	const content: ToolContent = held ? withOtherParts(held, listOf(result), at) : readOpenContent(result, at);
	const search = { record: call, path, places: [["resultDisplay"]], texts: content.texts };
	const copies = outputCopies({ ...search, ofTheCall: new Set(Object.values(objectOf(call.args))) });
	const isError = status === "error" || status === "cancelled" || held?.isError;
	draft.addResult({ callId, ...content, ...copies, isError: isError || undefined });
}

/** Files and texts next to the response of a call. */
function withOtherParts(content: ToolContent, parts: readonly unknown[], path: Path): ToolContent {
	if (parts.length === 1) return content;
	const media: MediaNode[] = [];
	const inPlaceOfMedia = [...(content.inPlaceOfMedia ?? [])];
	const counted: string[] = [];
	for (const [index, part] of parts.entries()) {
		const node = isJsonObject(part) && index > 0 ? readGeminiMedia(part, [...path, index]) : undefined;
		if (node) media.push(node);
		else if (index > 0) counted.push(JSON.stringify(part));
		const text = index > 0 ? stringAt(objectOf(part), "text") : undefined;
		if (text !== undefined) inPlaceOfMedia.push({ path: [...path, index, "text"], text });
	}
	return {
		...content,
		whole: undefined,
		media: [...content.media, ...media],
		inPlaceOfMedia,
		counted: [...content.counted, ...counted],
	};
}

function writeMessage({ role, text, instead }: WrittenMessage) {
	return {
		id: idOfText(`${role}\n${text}`),
		...keptFields(instead, ["id", "timestamp"]),
		type: role === "user" ? "user" : "gemini",
		content: text,
	};
}
