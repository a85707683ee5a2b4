import type { WrittenMessage } from "../engine/conversation/apply.ts";
import { isJsonObject, type JsonObject } from "../engine/conversation/json.ts";
import { type Path, valueAt } from "../engine/conversation/paths.ts";
import type { Message, TextNode } from "../engine/conversation/transcript.ts";
import { type Format, keptFields, type LocatedMessages, probeEach, transcriptOf } from "./format.ts";
import { hasMember, idAt, listOf, memberAt, objectOf, objectsOf, stringAt, timeAt } from "./json-text/value.ts";
import { readInlineMedia } from "./media.ts";
import { MessageDraft, opaque, type ToolContent, textContent } from "./parts.ts";
import { outputCopies } from "./session-files.ts";

/** Members of a request. Any of them may be the only one left after its messages are dropped. */
const requestKeys = ["requestId", "message", "response", "result", "prompt", "completion"];

/**
 * Chats that VS Code exports or keeps in `chatSessions`. A request has the user's message, and in `result.metadata` a round for
 * each answer of the model; without rounds, the answer is in `response`, where it is for the screen otherwise.
 */
export const vscodeChat: Format = {
	name: "vscode-chat",
	title: "VS Code chat",
	looksFor: "VS Code chat (`requests` with `message.text` and `response`; calls in `result.metadata.toolCallRounds`)",
	probe: ({ messages, base }) =>
		probeEach(messages, "a request with `message.text`", (request) => {
			if (!isJsonObject(request) || !hasMember(request, ...requestKeys))
				return "an object with `message` and `response`";
			if (hasMember(request, "role", "type")) return "a request without `role` and `type`";
			const isText = stringAt(objectOf(memberAt(request, "message")), "text") !== undefined;
			const hasRounds = Array.isArray(metadataOf(request).toolCallRounds);
			return isText || hasRounds || (base.at(-1) === "requests" && stringAt(request, "prompt") !== undefined);
		}),
	read: (located) => transcriptOf("vscode-chat", readRequests(located)),
	write: { message: writeMessage, appends: false },
};

/** Only list items can be removed: parts of the user's message, rounds, and parts of a response. */
function readRequests({ messages: requests, base }: LocatedMessages): Message[] {
	return requests.flatMap((value, index): Message[] => {
		const request = objectOf(value);
		const path = [...base, index];
		const rounds = listOf(metadataOf(request).toolCallRounds);
		const answers =
			rounds.length > 0 ? rounds.map((_, round) => readRound(request, round, path)) : readResponse(request, path);
		// The last round is removed with the answer that the screen shows.
		if (rounds.length > 0) answers.at(-1)?.paths.push(...itemsOf(request.response, [...path, "response"]));
		const user = readUser(request, path);
		const [first] = answers;
		const messages = user && (user.paths.length > 0 || !first) ? [user, ...answers] : answers;
		if (user && user.paths.length === 0) {
			if (first) first.counted = [...user.counted, ...first.counted];
			else user.paths.push(path);
		}
		return messages.map((message) => message.setTime(timeAt(request, "timestamp")));
	});
}

function itemsOf(list: unknown, path: Path): Path[] {
	return listOf(list).map((_, index) => [...path, index]);
}

function metadataOf(request: JsonObject): JsonObject {
	return objectOf(objectOf(request.result).metadata);
}

function readUser(request: JsonObject, path: Path): MessageDraft | undefined {
	const { message, prompt, completion } = request;
	const parts = objectOf(message).parts;
	const draft = new MessageDraft("user", ...itemsOf(parts, [...path, "message", "parts"]));
	draft.count(isJsonObject(message) ? message.text : message, prompt, completion);
	// The message was dropped: its parts are gone.
	const isGone = Array.isArray(parts) && parts.length === 0;
	return draft.counted.length === 0 || isGone ? undefined : draft;
}

/** Reads an answer with its calls and their results. */
function readRound(request: JsonObject, index: number, path: Path): MessageDraft {
	const { toolCallRounds, toolCallResults } = metadataOf(request);
	const at = [...path, "result", "metadata"];
	const round = objectOf(listOf(toolCallRounds)[index]);
	const draft = new MessageDraft("assistant", [...at, "toolCallRounds", index]);
	const { thinking } = round;
	if (isJsonObject(thinking)) {
		const place = [...at, "toolCallRounds", index, "thinking"];
		draft.addThinking(place, thinking.text ?? "", Boolean(thinking.encrypted), true);
	}
	draft.count(stringAt(round, "response") || undefined);
	for (const call of objectsOf(round.toolCalls)) {
		const id = idAt(call, "id");
		draft.addCall(id, stringAt(call, "name"), call.arguments);
		const result = id === undefined ? undefined : memberAt(objectOf(toolCallResults), id);
		if (id === undefined || result === undefined) continue;
		const place = [...at, "toolCallResults", id];
		const content = readContent(objectOf(result).content, [...place, "content"]);
		const isError = objectOf(result).isError === true || undefined;
		draft.addResult({ callId: id, ...content, ...copiesOf(request, id, { path, content }), isError });
	}
	return draft;
}

/** Reads parts whose value is a text, or a tree of nodes with the texts in its leaves. */
function readContent(parts: unknown, path: Path): ToolContent {
	const list = listOf(parts);
	if (!Array.isArray(parts)) return opaque(parts ?? undefined);
	const texts: TextNode[] = [];
	const others = list.flatMap((part, index) => {
		const at = [...path, index];
		const { value } = objectOf(part);
		const found =
			typeof value === "string" ? [{ path: [...at, "value"], text: value }] : leavesOf(value, [...at, "value"]);
		texts.push(...found);
		const media = found.length === 0 && isJsonObject(part) ? readInlineMedia(part, at) : undefined;
		return found.length > 0 ? [] : [{ part, media, at }];
	});
	const write = (text: string) => [writeValue(objectOf(list[0]), text)];
	return {
		texts,
		whole: others.length === 0 && texts.length > 0 ? { path, write } : undefined,
		media: others.flatMap(({ media }) => media ?? []),
		inPlaceOfMedia: others.flatMap(({ part, at }) => {
			const text = stringAt(objectOf(part), "text");
			return text === undefined ? [] : [{ path: [...at, "text"], text }];
		}),
		counted: others.flatMap(({ part, media }) => (media ? [] : opaque(part).counted)),
	};
}

/** VS Code reads the value of a part with a tree (`$mid` 23) as a tree. */
function writeValue(part: JsonObject, text: string): JsonObject {
	const { node } = objectOf(part.value);
	if (!isJsonObject(node)) return { ...part, value: text };
	const [first] = leavesOf(part.value, []);
	const leaf = objectOf(first && valueAt(part.value, first.path.slice(0, -1)));
	return { ...part, value: { ...objectOf(part.value), node: { ...node, children: [{ ...leaf, text }] } } };
}

/** Trees are searched to this depth. */
const deepest = 100;

function leavesOf(value: unknown, path: Path): TextNode[] {
	const texts: TextNode[] = [];
	const waiting = [{ node: objectOf(value).node, at: [...path, "node"] as Path }];
	for (let next = waiting.pop(); next; next = waiting.pop()) {
		const { node, at } = next;
		const text = stringAt(objectOf(node), "text");
		if (text !== undefined) texts.push({ path: [...at, "text"], text });
		if (at.length - path.length > deepest) continue;
		const children = [...listOf(objectOf(node).children).entries()].reverse();
		for (const [index, child] of children) waiting.push({ node: child, at: [...at, "children", index] });
	}
	return texts;
}

/** Copies of a call's output that the screen shows. */
function copiesOf(
	request: JsonObject,
	callId: string,
	{ path, content }: { readonly path: Path; readonly content: ToolContent },
): ReturnType<typeof outputCopies> {
	const index = listOf(request.response).findIndex((part) => objectOf(part).toolCallId === callId);
	const places = index === -1 ? [] : ["resultDetails", "toolSpecificData"].map((key) => ["response", index, key]);
	return outputCopies({ record: request, path, places, texts: content.texts });
}

/** Parts of an answer that are only shown on the screen (`IChatProgress` of VS Code). */
const shownParts: ReadonlySet<unknown> = new Set([
	...["inlineReference", "references", "usedContext", "codeCitation", "codeblockUri", "treeData", "multiDiffData"],
	...["progressMessage", "progressTask", "progressTaskSerialized", "undoStop", "prepareToolInvocation", "thinking"],
	...["textEdit", "textEditGroup", "notebookEdit", "notebookEditGroup", "workspaceEdit", "externalEdits", "move"],
	...[
		"command",
		"confirmation",
		"warning",
		"extensions",
		"pullRequest",
		"elicitation",
		"elicitationSerialized",
		"hook",
	],
	...["mcpServersStarting", "mcpServersStartingSerialized", "agentMention", "clearToPreviousToolInvocation"],
]);

/** Reads the answer from the parts shown on the screen. */
function readResponse(request: JsonObject, path: Path): MessageDraft[] {
	const parts = request.response;
	if (listOf(parts).length === 0) return [];
	const draft = new MessageDraft("assistant", ...itemsOf(parts, [...path, "response"]));
	for (const [index, part] of listOf(parts).entries()) {
		if (!isJsonObject(part)) continue;
		const at = [...path, "response", index];
		if (part.kind === "toolInvocationSerialized") readInvocation(part, at, draft);
		else if (!shownParts.has(part.kind)) {
			draft.count(stringAt(part, "value") ?? stringAt(objectOf(part.value ?? part.content), "value") ?? part);
		}
	}
	return [draft];
}

function readInvocation(part: JsonObject, path: Path, draft: MessageDraft): void {
	const callId = idAt(part, "toolCallId");
	const [details, data] = [objectOf(part.resultDetails), objectOf(part.toolSpecificData)];
	draft.addCall(callId, stringAt(part, "toolId"), details.input ?? data.commandLine ?? data.command ?? "");
	const printed = stringAt(objectOf(data.terminalCommandOutput), "text");
	const isError = details.isError === true || undefined;
	if (Array.isArray(details.output)) {
		draft.addResult({ callId, ...readContent(details.output, [...path, "resultDetails", "output"]), isError });
	} else if (printed !== undefined) {
		const place = [...path, "toolSpecificData", "terminalCommandOutput", "text"];
		draft.addResult({ callId, ...textContent(printed, place), isError });
	}
}

function writeMessage({ role, text, instead }: WrittenMessage) {
	const kept = keptFields(instead, ["requestId", "timestamp"]);
	if (role === "user") return { ...kept, message: { text, parts: [{ text, kind: "text" }] }, response: [] };
	return { ...kept, response: [{ value: text }] };
}

/**
 * The chat of a `chatSessions/….jsonl` of VS Code: a snapshot (`kind` 0), then changes of it, as `objectMutationLog.ts` of
 * VS Code replays them. `undefined` for any other list.
 */
export function readChatLog(records: unknown): JsonObject | undefined {
	if (!Array.isArray(records) || !isChange(records[0]) || records[0].kind !== 0) return undefined;
	const root: Writable = { chat: undefined };
	const own = new WeakSet<object>([root]);
	for (const record of records as readonly unknown[]) {
		if (!isChange(record)) return undefined;
		if (record.kind === 0) root.chat = record.v;
		else change(root, record, own);
	}
	const chat = objectOf(root.chat);
	return Array.isArray(chat.requests) ? chat : undefined;
}

type Writable = Record<string | number, unknown>;

/** `kind` 1 sets the value at the path `k`, 2 cuts a list at `i` and adds to it, 3 takes a value out. */
function isChange(record: unknown): record is JsonObject {
	if (!isJsonObject(record)) return false;
	if (record.kind === 0) return isJsonObject(record.v);
	return [1, 2, 3].includes(record.kind as number) && listOf(record.k).length > 0;
}

/** Copies the values on the path before it changes them, since they belong to the records. A wrong path changes nothing. */
function change(root: Writable, { kind, k, v, i }: JsonObject, own: WeakSet<object>): void {
	let holder = root;
	const path = ["chat", ...listOf(k)];
	for (const key of path.slice(0, -1)) {
		const next = copied(valueIn(holder, key), own);
		if (!next) return;
		holder[key as string] = next;
		holder = next;
	}
	const last = path.at(-1);
	if (!isKey(holder, last)) return;
	if (kind !== 2) {
		holder[last] = kind === 1 ? v : undefined;
		return;
	}
	const list = copied(valueIn(holder, last) ?? [], own);
	if (!Array.isArray(list)) return;
	if (typeof i === "number" && i >= 0 && i < list.length) list.length = Math.floor(i);
	for (const item of listOf(v)) list.push(item);
	holder[last] = list;
}

function valueIn(holder: Writable, key: unknown): unknown {
	return isKey(holder, key) && Object.hasOwn(holder, key) ? holder[key] : undefined;
}

/** Keys are untrusted: no names of prototypes, and no index that leaves a gap in a list. */
function isKey(holder: Writable, key: unknown): key is string | number {
	if (Array.isArray(holder)) return Number.isInteger(key) && (key as number) >= 0 && (key as number) <= holder.length;
	return (typeof key === "string" && key !== "__proto__") || typeof key === "number";
}

function copied(value: unknown, own: WeakSet<object>): Writable | undefined {
	if (typeof value !== "object" || value === null) return undefined;
	if (own.has(value)) return value as Writable;
	const copy = (Array.isArray(value) ? [...(value as unknown[])] : { ...value }) as Writable;
	own.add(copy);
	return copy;
}
