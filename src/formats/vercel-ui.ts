import type { WrittenMessage } from "../engine/conversation/apply.ts";
import { isJsonObject, type JsonObject } from "../engine/conversation/json.ts";
import type { Path } from "../engine/conversation/paths.ts";
import type { Message, TextNode } from "../engine/conversation/transcript.ts";
import { linkCaller } from "./block-links.ts";
import {
	contentPart,
	type Format,
	idOfText,
	keptFields,
	plainRoles,
	probeMessages,
	readTranscript,
	roleOf,
} from "./format.ts";
import { asCountedText, hasMember, idAt, listOf, objectOf, objectsOf, stringAt } from "./json-text/value.ts";
import { readInlineMedia, readMedia } from "./media.ts";
import {
	added,
	isBinary,
	isMcpFailure,
	MessageDraft,
	noContent,
	opaque,
	readJsonContent,
	type ToolContent,
} from "./parts.ts";
import { type Copies, joinCopies, outputCopies } from "./session-files.ts";
import { addSignature, isOutput, readGivenOutput, readVercelPart } from "./vercel-model.ts";

/** UI messages since v4. Each step of an assistant message, from one `step-start` to the next, is read as a message. */
export const vercelUi: Format = {
	name: "vercel-ui",
	title: "Vercel AI SDK UIMessage",
	looksFor: "Vercel AI SDK UIMessage (`role` and `parts` with a `type` each)",
	probe: ({ messages }) => probeMessages(messages, "`parts` with a `type` each, or `toolInvocations`", probeUi),
	read: (located) => readTranscript("vercel-ui", located, ["system", "instructions", "tools"], readUiMessages),
	write: { message: writeMessage, part: { ...contentPart, lists: [["parts"]] }, appends: true },
};

function probeUi({ parts, content, toolInvocations, tool_calls: calls }: JsonObject, role: string) {
	if (role === "model") return "`role` system, user or assistant";
	if (parts === undefined) {
		// Before v5 the parts could be left out.
		if (content !== undefined && typeof content !== "string") return "`parts`, or `content` as a string";
		if (role === "tool" || Array.isArray(calls)) return "calls and results in `parts`";
		return listOf(toolInvocations).length > 0;
	}
	if (!Array.isArray(parts)) return "`parts` as a list";
	return parts.every(isPart) ? parts.length > 0 : "`parts` with a `type` each";
}

/** OpenTelemetry has parts too: calls of other types, and texts in `content`. */
export const isPart = (part: unknown) =>
	isJsonObject(part) &&
	typeof part.type === "string" &&
	!/^(?:server_)?tool_call/.test(part.type) &&
	!(part.type === "text" && !hasMember(part, "text"));

/** The message, or the messages of its steps, with the paths of their parts. */
export function readUiMessages(message: JsonObject, path: Path): Message[] {
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
	// v4 has files next to the user's text.
	for (const one of objectsOf(message.experimental_attachments)) {
		const mediaType = stringAt(one, "contentType");
		draft.mediaTokens += readMedia({ path, provider: "any", mediaType, data: one.url }).tokens;
	}
	return [{ ...draft, paths: [path] }];
}

type Invocation = { readonly tool: JsonObject; readonly path: Path };

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
		const [at, name] = [[...path, "toolInvocation"], stringAt(tool, "toolName")];
		const given = objectOf(objectOf(objectOf(part.providerMetadata).mastra).modelOutput);
		if (isOutput(given)) {
			// Mastra sends what a tool's `toModelOutput` made of its result, which stays beside it.
			readTool({ ...tool, state: "call" }, name, at, draft);
			const sent = readGivenOutput(given, [...path, "providerMetadata", "mastra", "modelOutput"]);
			const holders = [{ tool, path: at }, ...(copy ? [copy] : [])];
			const copies = joinCopies(holders.map((holder) => copiesOf(holder, sent.texts)));
			draft.addResult({ callId: id, ...sent, ...copies });
			return;
		}
		const { texts } = readOutput(tool.result, [...at, "result"]);
		readTool(tool, name, at, draft, copy && copiesOf(copy, texts));
	} else if (type === "dynamic-tool" || type.startsWith("tool-")) {
		readTool(part, type === "dynamic-tool" ? stringAt(part, "toolName") : type.slice("tool-".length), path, draft);
	} else readVercelPart(part, path, draft);
}

const noCopies: Copies = { copies: [] };

function copiesOf({ tool, path }: Invocation, texts: readonly TextNode[]): Copies {
	const text = stringAt(tool, "result");
	if (text !== undefined) return { copies: [{ path: [...path, "result"], text }] };
	return outputCopies({ record: tool, path, places: [["result"]], texts });
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
	copies: Copies = noCopies,
): void {
	const callId = idAt(tool, "toolCallId");
	const state = stringAt(tool, "state") ?? "";
	addSignature(tool, path, draft);
	linkCaller(tool, draft);
	// A call with incomplete arguments is not sent.
	const isUnfinished = state === "input-streaming" || state === "partial-call";
	if (isUnfinished) draft.calls = added(draft.calls, { id: callId, name: name || undefined });
	else draft.addCall(callId, name || undefined, tool.input ?? tool.args ?? tool.rawInput);
	const key = Object.hasOwn(resultKeys, state) ? resultKeys[state] : undefined;
	if (key !== undefined) {
		const content = readOutput(tool[key], [...path, key]);
		const isError = key === "errorText" || isMcpFailure(tool[key]) || undefined;
		draft.addResult({ callId, ...content, ...copies, isError });
	} else if (state === "output-denied") {
		const reason = isJsonObject(tool.approval) ? stringAt(tool.approval, "reason") : undefined;
		draft.addResult({ callId, ...(reason === undefined ? noContent : opaque(reason)) });
	}
}

/**
 * The SDK checks an object that a tool returned by the schema of the tool, and hands it to its `toModelOutput`, so that the
 * members stay and the strings in them are shortened (`validateUIMessages`, `convertToModelMessages`, ai 7.0).
 */
function readOutput(value: unknown, path: Path): ToolContent {
	const read = readJsonContent(value, path, readInlineMedia);
	if (!read.whole?.json) return read;
	const shape = shapeOf(value);
	if (!shape || shape.strings.length === 0) return { ...read, whole: undefined };
	const from = Math.min(shortString, Math.max(...shape.strings.map(({ length }) => length)));
	const write = (text: string) => withText(shape.value, text, from);
	return { ...read, whole: { ...read.whole, write, around: () => asCountedText(write("")) } };
}

/** Shorter strings are ids, names and states. */
const shortString = 40;

/** Of longer lists of values of one kind the first items stay. Shorter ones may be tuples. */
const longList = 8;
const mostItems = 3;

/** Values that are nested deeper stay as they are. */
const deepest = 64;

/** Replaces a string that we take out. Many schemas refuse an empty string. */
const takenOut = "…";

interface Shape {
	/** The value with the first items of its long lists. */
	readonly value: unknown;
	/** Its strings that can be replaced. */
	readonly strings: readonly string[];
}

/** `undefined` if the value is nested too deeply. */
function shapeOf(value: unknown, depth = 0): Shape | undefined {
	if (typeof value === "string") return { value, strings: isReplaceable(value) ? [value] : [] };
	if (typeof value !== "object" || value === null) return { value, strings: [] };
	if (depth === deepest) return undefined;
	const isLong =
		Array.isArray(value) && value.length > longList && value.every((item) => typeof item === typeof value[0]);
	const members = Object.entries(isLong ? value.slice(0, mostItems) : value);
	const shapes: [string, Shape][] = [];
	for (const [key, member] of members) {
		const shape = shapeOf(member, depth + 1);
		if (!shape) return undefined;
		shapes.push([key, shape]);
	}
	const strings = shapes.flatMap(([, shape]) => shape.strings);
	const values = shapes.map(([key, shape]): [string, unknown] => [key, shape.value]);
	return { value: Array.isArray(value) ? values.map(([, member]) => member) : Object.fromEntries(values), strings };
}

/** Schemas check addresses, literals, dates and data, which have no white space. */
function isReplaceable(text: string): boolean {
	return /\s/.test(text) || !(/^[a-z][a-z\d+.-]*:/i.test(text) || isBinary(text) || /^[\w-]+$/.test(text));
}

/** A value of the same members, with `text` in place of its first string of `from` characters, and without the others. */
function withText(value: unknown, text: string, from: number): unknown {
	let isPlaced = false;
	const write = (item: unknown): unknown => {
		if (Array.isArray(item)) return item.map(write);
		if (isJsonObject(item))
			return Object.fromEntries(Object.entries(item).map(([key, member]) => [key, write(member)]));
		if (typeof item !== "string" || item.length < from || !isReplaceable(item)) return item;
		const written = isPlaced ? takenOut : text;
		isPlaced = true;
		return written;
	};
	return write(value);
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
