import { isJsonObject, type JsonObject } from "../conversation/json.ts";
import type { MediaNode, Message, Path, Role, TextNode, ThinkingBlock } from "../conversation/transcript.ts";
import {
	finishResponse,
	type GivenCall,
	hasMember,
	type LastResponse,
	memberAt,
	objectsOf,
	textsOf,
} from "./answer.ts";
import {
	addResult,
	type Format,
	finishMessage,
	type MessageDraft,
	plainMessage,
	probeMessages,
	readSurroundings,
	startMessage,
} from "./format.ts";
import { asCountedText, idAt, stringAt } from "./json-values.ts";
import { readInlineMedia, readMedia } from "./media.ts";
import { isMcpFailure, readTypedParts } from "./parts.ts";

const roles: Readonly<Record<string, Role>> = { system: "system", user: "user", assistant: "assistant", tool: "tool" };

/** Part types that only this format has. */
const ownParts = new Set([
	"tool-call",
	"tool-result",
	"tool-approval-request",
	"tool-approval-response",
	"redacted-reasoning",
]);

const foreignParts = new Set([
	"tool_use",
	"tool_result",
	"toolCall",
	"image_url",
	"input_text",
	"output_text",
	"thinking",
]);

/** The kinds of output that a result can hold from v5 on. */
const outputTypes = new Set(["text", "json", "content", "error-text", "error-json", "execution-denied"]);

/** Part types of an answer; others, of other APIs, are not of this one. */
const answerPartTypes: ReadonlySet<unknown> = new Set([
	"text",
	"reasoning",
	"reasoning-file",
	"source",
	"file",
	"custom",
	"tool-call",
	"tool-result",
	"tool-error",
	"tool-approval-request",
]);

/** What the SDK itself puts behind the parts of an answer. */
const addedTypes: ReadonlySet<unknown> = new Set(["tool-result", "tool-error", "tool-approval-request"]);

/**
 * Messages of the Vercel AI SDK as its models take them: `ModelMessage` (v5 and later: `input`, `output`) and
 * `CoreMessage` (v4: `args`, `result`, `isError`). A text, a JSON string, a list of texts or what an MCP server
 * returned can be masked, any other JSON object cannot. The answer to an approval request is read as a result without
 * text of the call that waits for it, so that the two are dropped together.
 */
export const vercelModel: Format = {
	name: "vercel-model",
	title: "Vercel AI SDK ModelMessage",
	looksFor: "Vercel AI SDK ModelMessage (parts `tool-call` and `tool-result` with `toolCallId` in `content`)",
	probe: ({ messages }) =>
		probeMessages(messages, "a part `tool-call`, `tool-result` or `reasoning` in `content`", probe),
	read(located) {
		const callOfApproval = new Map<string, string | undefined>();
		return {
			format: "vercel-model",
			messages: located.messages.map((message, index) =>
				readMessage(message as JsonObject, [...located.base, index], callOfApproval),
			),
			surroundings: readSurroundings(located, ["system", "instructions", "tools"]),
			opensWithUser: false,
		};
	},
	write: { message: plainMessage, appends: true },
	answer: { shape: "{finishReason, text, toolCalls} of the Vercel AI SDK", read: readAnswer },
};

function probe(message: JsonObject, role: string): boolean | string {
	if (!Object.hasOwn(roles, role)) return false;
	if (Object.hasOwn(message, "parts")) return "`content`, not `parts`";
	const { content, tool_calls: calls } = message;
	if (Array.isArray(calls) && calls.length > 0) return "calls as `tool-call` parts";
	if (!Array.isArray(content)) {
		if (role === "tool") return "`content` as a list of `tool-result` parts";
		return isJsonObject(content) ? "`content` as a string or a list of parts" : false;
	}
	let certain = false;
	for (const part of content as unknown[]) {
		if (!isJsonObject(part) || typeof part.type !== "string") return "content parts with a `type`";
		if (foreignParts.has(part.type)) return `content parts of its own kinds, not \`${part.type}\``;
		certain ||= ownParts.has(part.type) || isOwnReasoning(part) || isOwnFile(part);
	}
	return certain;
}

function isOwnReasoning(part: JsonObject): boolean {
	return part.type === "reasoning" && stringAt(part, "text") !== undefined;
}

function isOwnFile(part: JsonObject): boolean {
	if (part.type === "image") return typeof part.image === "string";
	return part.type === "file" && part.data !== undefined && typeof (part.mediaType ?? part.mimeType) === "string";
}

function readMessage(message: JsonObject, path: Path, callOfApproval: Map<string, string | undefined>): Message {
	const name = stringAt(message, "role") ?? "";
	const role = (Object.hasOwn(roles, name) && roles[name]) || "other";
	const draft = startMessage();
	if (!Array.isArray(message.content)) draft.counted.push(asCountedText(message.content ?? undefined));
	else {
		message.content.forEach((part: unknown, index) => {
			readPart(part, [...path, "content", index], draft, callOfApproval);
		});
	}
	return finishMessage(role, [path], draft);
}

function readPart(
	part: unknown,
	path: Path,
	draft: MessageDraft,
	callOfApproval: Map<string, string | undefined>,
): void {
	if (!isJsonObject(part)) {
		draft.counted.push(asCountedText(part));
		return;
	}
	switch (part.type) {
		case "text":
			draft.counted.push(asCountedText(part.text));
			draft.thinking.push(...readVercelSignature(part, path));
			return;
		case "tool-call":
			draft.thinking.push(...readVercelSignature(part, path));
			draft.calls.push({ id: idAt(part, "toolCallId"), name: stringAt(part, "toolName") });
			draft.counted.push(stringAt(part, "toolName") ?? "", asCountedText(part.input ?? part.args));
			return;
		case "tool-result":
			readResult(part, path, draft);
			return;
		case "tool-approval-request":
			callOfApproval.set(stringAt(part, "approvalId") ?? "", idAt(part, "toolCallId"));
			break;
		case "tool-approval-response": {
			const callId = callOfApproval.get(stringAt(part, "approvalId") ?? "");
			draft.results.push({ callId, texts: [], whole: undefined, copies: [], media: [], isError: undefined });
			break;
		}
	}
	const thinking = readVercelReasoning(part, path);
	const media = readVercelMedia(part, path);
	if (thinking) {
		draft.thinking.push(thinking);
		draft.counted.push(thinking.text);
	} else if (media) draft.mediaTokens += media.tokens;
	else draft.counted.push(asCountedText(part));
}

function readResult(part: JsonObject, path: Path, draft: MessageDraft): void {
	const callId = idAt(part, "toolCallId");
	const { output } = part;
	if (isJsonObject(output) && typeof output.type === "string" && outputTypes.has(output.type)) {
		const readMedia = output.type === "content" ? readVercelMedia : readInlineMedia;
		const content = readTypedParts(output.value, [...path, "output", "value"], readMedia);
		// The kind of output is the only flag that there is, and it does not say that a text is no error.
		const isError = output.type.startsWith("error-") || isMcpFailure(output.value) || undefined;
		const reason = stringAt(output, "reason") ?? "";
		addResult(draft, { callId, ...content, counted: [...content.counted, reason], copies: [], isError });
		return;
	}
	const isError = typeof part.isError === "boolean" ? part.isError : isMcpFailure(part.result) || undefined;
	if (Array.isArray(part.experimental_content)) {
		// Models are sent the parts; `result` is what the tool returned, kept beside them.
		const content = readTypedParts(part.experimental_content, [...path, "experimental_content"], readVercelMedia);
		const text = stringAt(part, "result");
		const copies = text === undefined ? [] : [{ path: [...path, "result"], text }];
		addResult(draft, { callId, ...content, copies, isError });
		return;
	}
	const key = Object.hasOwn(part, "output") ? "output" : "result";
	addResult(draft, { callId, ...readTypedParts(part[key], [...path, key], readInlineMedia), copies: [], isError });
}

/**
 * The result or a step of the Vercel AI SDK, or what its models give (`finishReason` with `unified`). It parses what
 * its providers give, some of which make an object of a cut input; so a call that ends a cut answer is taken to be cut.
 */
function readAnswer(response: JsonObject): LastResponse | undefined {
	// A result as JSON keeps its steps only.
	const last = hasMember(response, "finishReason") ? undefined : objectsOf(response.steps).at(-1);
	const step = last ?? response;
	const { content } = step;
	const listed = readToolCalls(step.toolCalls);
	const text = stringAt(step, "text");
	if (!listed || (listed.length === 0 && text === undefined && !isAnswerContent(content))) return undefined;
	if (!hasMember(step, "finishReason") && !hasMember(step, "toolCalls")) return undefined;
	// Only the content tells what came behind a call.
	const placed = isAnswerContent(content) ? readAnswerContent(content) : [];
	const { finishReason: reason } = step;
	return finishResponse({
		reason: isJsonObject(reason) ? reason.unified : reason,
		texts: text === undefined ? textsOf(content) : [text],
		calls: placed.length > 0 ? placed : listed,
	});
}

function isAnswerContent(content: unknown): content is readonly JsonObject[] {
	return Array.isArray(content) && content.every((part) => isJsonObject(part) && answerPartTypes.has(part.type));
}

function readAnswerContent(content: readonly JsonObject[]): GivenCall[] {
	const given = content.filter((part) => !addedTypes.has(part.type));
	// A call that ran was taken to be whole.
	const ran = new Set(content.flatMap((part) => (part.type === "tool-result" ? idAt(part, "toolCallId") : [])));
	return given.flatMap((part, index) => {
		if (part.type !== "tool-call") return [];
		return readAnsweredCall(part, index === given.length - 1 && !ran.has(idAt(part, "toolCallId")));
	});
}

function readToolCalls(list: unknown): GivenCall[] | undefined {
	const calls = objectsOf(list);
	if (!calls.every((call) => hasMember(call, "toolName"))) return undefined;
	return calls.flatMap((call, index) => readAnsweredCall(call, index === calls.length - 1));
}

function readAnsweredCall(call: JsonObject, endsAnswer: boolean): GivenCall[] {
	if (call.providerExecuted === true) return [];
	const value = memberAt(call, "input", "args");
	const id = idAt(call, "toolCallId");
	const input = call.invalid === true ? ({ kind: "broken" } as const) : ({ kind: "parsed_partly", value } as const);
	return [{ id, name: idAt(call, "toolName"), input, endsAnswer }];
}

/** A call as v4 keeps it in `toolInvocations`. */
export interface VercelInvocation {
	readonly tool: JsonObject;
	readonly path: Path;
}

/** The parts of a UI message that one call of the model made. */
export interface VercelStep {
	readonly draft: MessageDraft;
	/** Its parts, and what else goes with them. */
	readonly paths: readonly Path[];
	/** Whether a model is sent anything of it. */
	readonly isSent: boolean;
}

/** The indexes of the parts of each step. What stands before the first `step-start` is a step of its own. */
export function splitVercelSteps(parts: readonly unknown[]): number[][] {
	const steps: number[][] = [];
	parts.forEach((part, index) => {
		const current = steps.at(-1);
		if (current === undefined || (isJsonObject(part) && part.type === "step-start")) steps.push([index]);
		else current.push(index);
	});
	return steps;
}

/** Reads the given parts. Of `copies`, second copies of the calls in the parts, it takes out those that are its own. */
export function readVercelStep(
	parts: readonly unknown[],
	indexes: Iterable<number>,
	path: Path,
	copies: VercelInvocation[],
): VercelStep {
	const draft = startMessage();
	const paths: Path[] = [];
	const sent: unknown[] = [];
	for (const index of indexes) {
		const part = parts[index];
		const at = [...path, index];
		paths.push(at);
		if (!isJsonObject(part) || isForTheScreen(part)) continue;
		sent.push(part.type);
		paths.push(...readStepPart(part, at, draft, copies));
	}
	// A step that sends nothing else would be gone without its reasoning.
	const { thinking } = draft;
	const onlyThinks = sent.length > 0 && sent.every((type) => type === "reasoning");
	if (onlyThinks) thinking.push(...thinking.splice(0).map((block) => ({ ...block, fixed: true as const })));
	return { draft, paths, isSent: sent.length > 0 };
}

function isForTheScreen(part: JsonObject): boolean {
	const type = stringAt(part, "type") ?? "";
	return type === "step-start" || type.startsWith("source") || type.startsWith("data-");
}

/** Reads a part, and tells what goes with it where it is dropped. */
function readStepPart(part: JsonObject, path: Path, draft: MessageDraft, copies: VercelInvocation[]): Path[] {
	const type = stringAt(part, "type") ?? "";
	if (type === "tool-invocation" && isJsonObject(part.toolInvocation)) {
		const tool = part.toolInvocation;
		const id = idAt(tool, "toolCallId");
		const position = copies.findIndex((copy) => id !== undefined && idAt(copy.tool, "toolCallId") === id);
		const [copy] = position === -1 ? [] : copies.splice(position, 1);
		const text = copy && stringAt(copy.tool, "result");
		const texts: TextNode[] = text === undefined || !copy ? [] : [{ path: [...copy.path, "result"], text }];
		readVercelTool(tool, stringAt(tool, "toolName"), [...path, "toolInvocation"], draft, texts);
		return copy ? [copy.path] : [];
	}
	if (type === "dynamic-tool" || type.startsWith("tool-")) {
		const name = type === "dynamic-tool" ? stringAt(part, "toolName") : type.slice("tool-".length);
		readVercelTool(part, name || undefined, path, draft);
		return [];
	}
	const thinking = readVercelReasoning(part, path);
	const media = readVercelMedia(part, path);
	if (thinking) {
		draft.thinking.push(thinking);
		draft.counted.push(thinking.text);
	} else if (type === "text") {
		draft.thinking.push(...readVercelSignature(part, path));
		draft.counted.push(asCountedText(part.text));
	} else if (media) draft.mediaTokens += media.tokens;
	else draft.counted.push(asCountedText(part));
	return [];
}

/** States in which the arguments are still coming in: such a call is sent to no model. */
const unfinishedStates = new Set(["input-streaming", "partial-call"]);

/** Where the answer stands in each state that has one. */
const resultKeys: Readonly<Record<string, string>> = {
	"output-available": "output",
	"output-error": "errorText",
	result: "result",
};

/**
 * Reads a call with what answered it, as UI messages hold both in one object: `input` and `output`, or `errorText` where
 * the tool failed (v5 and later), or `args` and `result` (v4).
 */
export function readVercelTool(
	tool: JsonObject,
	name: string | undefined,
	path: Path,
	draft: MessageDraft,
	copies: readonly TextNode[] = [],
): void {
	const callId = idAt(tool, "toolCallId");
	const state = stringAt(tool, "state") ?? "";
	draft.thinking.push(...readVercelSignature(tool, path));
	draft.calls.push({ id: callId, name });
	if (!unfinishedStates.has(state)) {
		draft.counted.push(name ?? "", asCountedText(tool.input ?? tool.args ?? tool.rawInput));
	}
	const key = Object.hasOwn(resultKeys, state) ? resultKeys[state] : undefined;
	if (key !== undefined) {
		const content = readTypedParts(tool[key], [...path, key], readInlineMedia);
		addResult(draft, {
			callId,
			...content,
			copies,
			isError: key === "errorText" || isMcpFailure(tool[key]) || undefined,
		});
	} else if (state === "output-denied") {
		const reason = isJsonObject(tool.approval) ? stringAt(tool.approval, "reason") : undefined;
		const counted = reason === undefined ? [] : [reason];
		addResult(draft, { callId, texts: [], whole: undefined, media: [], copies: [], isError: undefined, counted });
	}
}

/** The AI SDK's part types that hold or name a file, with what it is where no media type tells. */
const fileTypes: Readonly<Record<string, MediaNode["kind"]>> = {
	image: "image",
	"image-data": "image",
	"image-url": "image",
	"image-file-id": "image",
	"image-file-reference": "image",
	file: "document",
	"file-data": "document",
	"file-url": "document",
	"file-id": "document",
	"file-reference": "document",
	media: "document",
};

/** Where a part keeps its data, by version and type of part. */
const dataKeys = ["data", "image", "url", "fileId", "providerReference"];

/**
 * What Anthropic and Gemini call that which ties reasoning to what stands before it. OpenAI encrypts its own, but does not
 * check that.
 */
const bindingKeys = ["signature", "thoughtSignature", "redactedData"];

/** A file, an image or a recording, in a message or in a result's content. */
export function readVercelMedia(part: JsonObject, path: Path): MediaNode | undefined {
	const type = stringAt(part, "type") ?? "";
	const kind = Object.hasOwn(fileTypes, type) ? fileTypes[type] : undefined;
	const key = dataKeys.find((one) => Object.hasOwn(part, one));
	if (kind === undefined || key === undefined) return readInlineMedia(part, path);
	const mediaType = stringAt(part, "mediaType") ?? stringAt(part, "mimeType");
	const value = part[key];
	// From v7 on the data says what it is: {type: "data", data}, {type: "url", url}, {type: "text", text}.
	if (isJsonObject(value) && value.type === "text") return undefined;
	const data = isJsonObject(value) && value.type === "data" ? value.data : value;
	return readMedia({ path, provider: "any", mediaType, kind, data });
}

/** A reasoning part, with the text that is counted of it; `undefined` for any other part. */
export function readVercelReasoning(part: JsonObject, path: Path): ThinkingBlock | undefined {
	if (part.type === "redacted-reasoning") return { path, text: asCountedText(part.data), bound: true };
	if (part.type !== "reasoning") return undefined;
	const details = Array.isArray(part.details) ? part.details.filter(isJsonObject) : [];
	const holders = [part, ...details, ...providerData(part)];
	const isRedacted = details.some((detail) => detail.type === "redacted");
	const bound = isRedacted || holders.some((holder) => bindingKeys.some((key) => stringAt(holder, key) !== undefined));
	// OpenAI wants a reasoning item beside the call that followed it.
	const isItem = providerData(part).some((data) => stringAt(data, "itemId") !== undefined);
	const text = asCountedText(part.text ?? part.reasoning);
	return { path, text, bound, ...(isItem ? { fixed: true } : {}) };
}

/** The signature that Gemini puts on a call or a text, by which it is bound to what stands before it. */
export function readVercelSignature(part: JsonObject, path: Path): ThinkingBlock[] {
	const isSigned = providerData(part).some((data) => stringAt(data, "thoughtSignature") !== undefined);
	return isSigned ? [{ path, text: "", bound: true, fixed: true }] : [];
}

/** What a part carries for each provider. */
function providerData(part: JsonObject): JsonObject[] {
	const holders = [part.providerOptions, part.providerMetadata, part.callProviderMetadata].filter(isJsonObject);
	return holders.flatMap((holder) => Object.values(holder).filter(isJsonObject));
}
