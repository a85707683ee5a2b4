import type { WrittenMessage } from "../conversation/apply.ts";
import { isJsonObject, type JsonObject } from "../conversation/json.ts";
import type { Message, Path, TextNode } from "../conversation/transcript.ts";
import {
	type Format,
	idOfText,
	keptFields,
	type Probed,
	plainRoles,
	probeMessages,
	readTranscript,
	roleOf,
} from "./format.ts";
import { hasMember, idAt, listOf, objectOf, objectsOf, stringAt, timeAt } from "./json-values.ts";
import { readInlineMedia, readMedia } from "./media.ts";
import { added, isMcpFailure, MessageDraft, noContent, opaque, readOpenContent } from "./parts.ts";
import { addSignature, readVercelPart } from "./vercel-model.ts";

/** UI messages since v4. Each step of an assistant message, from one `step-start` to the next, is read as a message. */
export const vercelUi: Format = {
	name: "vercel-ui",
	title: "Vercel AI SDK UIMessage",
	looksFor: "Vercel AI SDK UIMessage (`role` and `parts` with a `type` each)",
	probe: ({ messages }) => probeMessages(messages, "`parts` with a `type` each, or `toolInvocations`", probe),
	read: (located) => readTranscript("vercel-ui", located, ["system", "instructions", "tools"], readUiMessages),
	write: { message: writeMessage, appends: true },
};

function probe({ parts, content, toolInvocations, tool_calls: calls }: JsonObject, role: string) {
	if (role === "model") return "`role` system, user or assistant";
	if (parts === undefined) {
		// Before v5 the parts could be left out.
		if (content !== undefined && typeof content !== "string") return "`parts`, or `content` as a string";
		if (role === "tool" || Array.isArray(calls)) return "calls and results in `parts`";
		return listOf(toolInvocations).length > 0;
	}
	if (!Array.isArray(parts)) return "`parts` as a list";
	const isPart = (part: unknown) => isJsonObject(part) && typeof part.type === "string";
	return parts.every(isPart) ? parts.length > 0 : "`parts` with a `type` each";
}

/** The message, or the messages of its steps, with the paths of their parts. */
function readUiMessages(message: JsonObject, path: Path): Message[] {
	const role = roleOf(message, plainRoles);
	// v4 has calls here, or copies of the calls in the parts.
	const invocations = listOf(message.toolInvocations).flatMap((tool, index): Invocation[] =>
		isJsonObject(tool) ? [{ tool, path: [...path, "toolInvocations", index] }] : [],
	);
	const { parts } = message;
	const partsPath = [...path, "parts"];
	if (Array.isArray(parts) && role === "assistant") {
		const steps = splitIntoSteps(parts).flatMap((indexes) => {
			const draft = new MessageDraft(role);
			return readStep(parts, indexes, partsPath, invocations, draft) ? [draft] : [];
		});
		return steps.length === 1 ? steps.map((step) => ({ ...step, paths: [path] })) : steps;
	}
	const draft = new MessageDraft(role);
	if (Array.isArray(parts)) readStep(parts, parts.keys(), partsPath, invocations, draft);
	else {
		draft.count(stringAt(message, "reasoning"), message.content);
		for (const { tool, path: at } of invocations) readTool(tool, stringAt(tool, "toolName"), at, draft);
	}
	// v4 has files beside the user's text.
	for (const one of objectsOf(message.experimental_attachments)) {
		const mediaType = stringAt(one, "contentType");
		draft.mediaTokens += readMedia({ path, provider: "any", mediaType, data: one.url }).tokens;
	}
	return [{ ...draft, paths: [path] }];
}

interface Invocation {
	readonly tool: JsonObject;
	readonly path: Path;
}

/** The indexes of the parts of each step. Parts before the first `step-start` are a step. */
function splitIntoSteps(parts: readonly unknown[]): number[][] {
	const steps: number[][] = [];
	parts.forEach((part, index) => {
		const current = steps.at(-1);
		if (current === undefined || (isJsonObject(part) && part.type === "step-start")) steps.push([index]);
		else current.push(index);
	});
	return steps;
}

/** Reads a step and returns whether any part of it is sent. Removes the copies of its calls from `copies`. */
function readStep(
	parts: readonly unknown[],
	indexes: Iterable<number>,
	path: Path,
	copies: Invocation[],
	draft: MessageDraft,
): boolean {
	const sent: unknown[] = [];
	for (const index of indexes) {
		const part = parts[index];
		const at = [...path, index];
		draft.paths.push(at);
		if (!isJsonObject(part) || isForTheScreen(part)) continue;
		sent.push(part.type);
		readPart(part, at, copies, draft);
	}
	// Without its reasoning, such a step would be empty.
	const onlyThinks = sent.every((type) => type === "reasoning");
	if (onlyThinks) draft.thinking = draft.thinking.map((block) => ({ ...block, fixed: true as const }));
	return sent.length > 0;
}

function isForTheScreen(part: JsonObject): boolean {
	const type = stringAt(part, "type") ?? "";
	return type === "step-start" || type.startsWith("source") || type.startsWith("data-");
}

function readPart(part: JsonObject, path: Path, copies: Invocation[], draft: MessageDraft): void {
	const type = stringAt(part, "type") ?? "";
	if (type === "tool-invocation" && isJsonObject(part.toolInvocation)) {
		const tool = part.toolInvocation;
		const id = idAt(tool, "toolCallId");
		const position = copies.findIndex((copy) => id !== undefined && idAt(copy.tool, "toolCallId") === id);
		const [copy] = position === -1 ? [] : copies.splice(position, 1);
		// The copy is dropped with the part.
		if (copy) draft.paths.push(copy.path);
		const text = copy && stringAt(copy.tool, "result");
		const texts = copy && text !== undefined ? [{ path: [...copy.path, "result"], text }] : [];
		readTool(tool, stringAt(tool, "toolName"), [...path, "toolInvocation"], draft, texts);
	} else if (type === "dynamic-tool") {
		readTool(part, stringAt(part, "toolName"), path, draft);
	} else if (type.startsWith("tool-")) {
		readTool(part, type.slice("tool-".length), path, draft);
	} else readVercelPart(part, path, draft);
}

/** The key of the result in each state that has one. */
const resultKeys: Readonly<Record<string, string>> = {
	"output-available": "output",
	"output-error": "errorText",
	result: "result",
};

/** Reads a call with its result: `input` and `output` or `errorText` (v5 and later), or `args` and `result` (v4). */
function readTool(
	tool: JsonObject,
	name: string | undefined,
	path: Path,
	draft: MessageDraft,
	copies: readonly TextNode[] = [],
): void {
	const callId = idAt(tool, "toolCallId");
	const state = stringAt(tool, "state") ?? "";
	addSignature(tool, path, draft);
	// A call with incomplete arguments is not sent.
	const isUnfinished = state === "input-streaming" || state === "partial-call";
	if (isUnfinished) draft.calls = added(draft.calls, { id: callId, name: name || undefined });
	else draft.addCall(callId, name || undefined, tool.input ?? tool.args ?? tool.rawInput);
	const key = Object.hasOwn(resultKeys, state) ? resultKeys[state] : undefined;
	if (key !== undefined) {
		const content = readOpenContent(tool[key], [...path, key], readInlineMedia);
		const isError = key === "errorText" || isMcpFailure(tool[key]) || undefined;
		draft.addResult({ callId, ...content, copies, isError });
	} else if (state === "output-denied") {
		const reason = isJsonObject(tool.approval) ? stringAt(tool.approval, "reason") : undefined;
		draft.addResult({ callId, ...(reason === undefined ? noContent : opaque(reason)) });
	}
}

/** v4 also requires the text as `content`, and keeps the time of a message. */
function writeMessage({ role, text, instead }: WrittenMessage) {
	const isOld = isJsonObject(instead) && stringAt(instead, "content") !== undefined;
	return {
		id: idOfText(`${role}\n${text}`),
		...keptFields(instead, ["id"]),
		...(isOld ? { ...keptFields(instead, ["createdAt"]), content: text } : {}),
		role,
		parts: [{ type: "text", text }],
	};
}

/** Messages as Mastra's storage keeps them: `content` of format 2 has the parts of a UI message of the Vercel AI SDK. */
export const mastra: Format = {
	name: "mastra",
	title: "Mastra messages",
	looksFor: "Mastra messages (`role`, and `content` with `format: 2` and `parts` with a `type` each)",
	probe: ({ messages }) => probeMessages(messages, "`content` with `format: 2` and `parts`", probeStored),
	read: (located) => readTranscript("mastra", located, ["instructions", "tools"], readStored),
	write: { message: writeStored, appends: true },
};

function probeStored({ content }: JsonObject): Probed {
	if (!isJsonObject(content)) return "`content` as an object";
	const { format, parts } = content;
	const isPart = (part: unknown) => isJsonObject(part) && typeof part.type === "string";
	return (format === 2 && Array.isArray(parts) && parts.every(isPart)) || "`format: 2` and `parts` with a `type` each";
}

/** Whether a value is a row of Mastra's tables: its content is JSON as a text, which cannot be edited in place. */
export function isStoredRow(value: unknown): boolean {
	if (!isJsonObject(value) || !hasMember(value, "thread_id", "threadId")) return false;
	return /^\s*\{\s*"format"\s*:\s*2\b/.test(stringAt(value, "content") ?? "");
}

function readStored(message: JsonObject, path: Path): Message[] {
	const at = [...path, "content"];
	const time = timeAt(message, "createdAt");
	return readUiMessages({ ...objectOf(message.content), role: message.role }, at).map((read) => ({
		...read,
		paths: read.paths.map((one) => (one.length === at.length ? path : one)),
		...(time === undefined ? {} : { time }),
	}));
}

function writeStored({ role, text, instead }: WrittenMessage) {
	return {
		id: idOfText(`${role}\n${text}`),
		...keptFields(instead, ["id", "createdAt", "threadId", "resourceId"]),
		role,
		content: { format: 2, parts: [{ type: "text", text }] },
	};
}
