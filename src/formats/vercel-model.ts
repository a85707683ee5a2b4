import { isJsonObject, type JsonObject } from "../conversation/json.ts";
import type { MediaNode, Message, Path } from "../conversation/transcript.ts";
import { finishResponse, type GivenCall, type LastResponse, textsOf } from "./answer.ts";
import {
	type Format,
	plainMessage,
	probeMessages,
	probeParts,
	readTranscript,
	roleOf,
	rolesWithTool,
} from "./format.ts";
import { hasMember, idAt, memberAt, objectOf, objectsOf, stringAt } from "./json-values.ts";
import { readInlineMedia, readMedia } from "./media.ts";
import { MessageDraft } from "./message-draft.ts";
import { isMcpFailure, noContent, readOpenContent } from "./parts.ts";

const partTypes = {
	own: ["tool-call", "tool-result", "tool-approval-request", "tool-approval-response", "redacted-reasoning"],
	foreign: ["image_url", "input_text", "output_text", "thinking"],
};

/**
 * Messages of the Vercel AI SDK as its models take them: `ModelMessage` (v5 and later: `input`, `output`) and
 * `CoreMessage` (v4: `args`, `result`, `isError`). A text, a JSON string, a list of texts or the result of an MCP server
 * can be masked, any other JSON object cannot. The answer to an approval request is read as a result without text of the
 * call that waits for it, so that the two are dropped together.
 */
export const vercelModel: Format = {
	name: "vercel-model",
	title: "Vercel AI SDK ModelMessage",
	looksFor: "Vercel AI SDK ModelMessage (parts `tool-call` and `tool-result` with `toolCallId` in `content`)",
	marks: /^content\.(?:image:string|type=(?:tool-.*|redacted-reasoning|reasoning|file))$/m,
	probe: ({ messages }) =>
		probeMessages(messages, "a part `tool-call`, `tool-result` or `reasoning` in `content`", probe),
	read(located) {
		const callOfApproval = new Map<string, string | undefined>();
		return readTranscript("vercel-model", located, ["system", "instructions", "tools"], (message, path) =>
			readMessage(message, path, callOfApproval),
		);
	},
	write: { message: plainMessage, appends: true },
	answer: { shape: "{finishReason, text, toolCalls} of the Vercel AI SDK", read: readAnswer },
};

function probe(message: JsonObject, role: string) {
	if (!Object.hasOwn(rolesWithTool, role)) return false;
	if (Object.hasOwn(message, "parts")) return "`content`, not `parts`";
	const { content, tool_calls: calls } = message;
	if (Array.isArray(calls) && calls.length > 0) return "calls as `tool-call` parts";
	if (!Array.isArray(content)) {
		if (role === "tool") return "`content` as a list of `tool-result` parts";
		return isJsonObject(content) ? "`content` as a string or a list of parts" : false;
	}
	return probeParts(content, partTypes, (part) => {
		if (part.type === "reasoning") return stringAt(part, "text") !== undefined;
		if (part.type === "image") return typeof part.image === "string";
		return part.type === "file" && part.data !== undefined && typeof (part.mediaType ?? part.mimeType) === "string";
	});
}

function readMessage(message: JsonObject, path: Path, callOfApproval: Map<string, string | undefined>): Message {
	const draft = new MessageDraft(roleOf(message, rolesWithTool), path);
	draft.readParts(message.content, [...path, "content"], (part, at) => {
		const approval = stringAt(part, "approvalId") ?? "";
		if (part.type === "tool-call") {
			addSignature(part, at, draft);
			draft.addCall(idAt(part, "toolCallId"), stringAt(part, "toolName"), part.input ?? part.args);
		} else if (part.type === "tool-result") {
			readResult(part, at, draft);
		} else {
			if (part.type === "tool-approval-request") callOfApproval.set(approval, idAt(part, "toolCallId"));
			if (part.type === "tool-approval-response") {
				draft.addResult({ callId: callOfApproval.get(approval), ...noContent });
			}
			readVercelPart(part, at, draft);
		}
	});
	return draft;
}

/** The kinds of output that a result can hold from v5 on. */
const outputTypes = new Set(["text", "json", "content", "error-text", "error-json", "execution-denied"]);

function readResult(part: JsonObject, path: Path, draft: MessageDraft): void {
	const callId = idAt(part, "toolCallId");
	const { output } = part;
	if (isJsonObject(output) && typeof output.type === "string" && outputTypes.has(output.type)) {
		const readMediaPart = output.type === "content" ? readVercelMedia : readInlineMedia;
		// The kind of output is the only flag that there is, and it does not say that a text is no error.
		const isError = output.type.startsWith("error-") || isMcpFailure(output.value) || undefined;
		draft.addResult({
			callId,
			...readOpenContent(output.value, [...path, "output", "value"], readMediaPart),
			isError,
		});
		draft.count(stringAt(output, "reason"));
		return;
	}
	const isError = typeof part.isError === "boolean" ? part.isError : isMcpFailure(part.result) || undefined;
	if (Array.isArray(part.experimental_content)) {
		// Models are sent the parts; `result` is the tool's own output, kept beside them.
		const content = readOpenContent(part.experimental_content, [...path, "experimental_content"], readVercelMedia);
		const text = stringAt(part, "result");
		const copies = text === undefined ? [] : [{ path: [...path, "result"], text }];
		draft.addResult({ callId, ...content, copies, isError });
		return;
	}
	const key = Object.hasOwn(part, "output") ? "output" : "result";
	draft.addResult({ callId, ...readOpenContent(part[key], [...path, key], readInlineMedia), isError });
}

/** Reads a part that is no call and no result, which UI messages have likewise. */
export function readVercelPart(part: JsonObject, path: Path, draft: MessageDraft): void {
	switch (part.type) {
		case "text":
			draft.count(part.text);
			addSignature(part, path, draft);
			return;
		case "redacted-reasoning":
			draft.addThinking(path, part.data, true);
			return;
		case "reasoning": {
			const details = objectsOf(part.details);
			const holders = [part, ...details, ...providerData(part)];
			const isRedacted = details.some((detail) => detail.type === "redacted");
			const bound =
				isRedacted || holders.some((holder) => bindingKeys.some((key) => stringAt(holder, key) !== undefined));
			const isItem = providerData(part).some((data) => stringAt(data, "itemId") !== undefined);
			draft.addThinking(path, part.text ?? part.reasoning, bound, isItem);
			return;
		}
		default:
			draft.countPart(part, readVercelMedia(part, path));
	}
}

/**
 * The keys by which Anthropic and Gemini tie reasoning to the messages before it. OpenAI encrypts its own, but does not
 * check that.
 */
const bindingKeys = ["signature", "thoughtSignature", "redactedData"];

/** Adds the signature that Gemini puts on a call or a text, by which it is bound to the messages before it. */
export function addSignature(part: JsonObject, path: Path, draft: MessageDraft): void {
	const isSigned = providerData(part).some((data) => stringAt(data, "thoughtSignature") !== undefined);
	if (isSigned) draft.thinking.push({ path, text: "", bound: true, fixed: true });
}

/** What a part carries for each provider. */
function providerData(part: JsonObject): JsonObject[] {
	const holders = [part.providerOptions, part.providerMetadata, part.callProviderMetadata];
	return holders.flatMap((holder) => Object.values(objectOf(holder)).filter(isJsonObject));
}

/** The AI SDK's part types that hold or name a file, with its kind where no media type tells. */
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

/** A file, an image or a recording, in a message or in a result's content. */
function readVercelMedia(part: JsonObject, path: Path): MediaNode | undefined {
	const type = stringAt(part, "type") ?? "";
	const kind = Object.hasOwn(fileTypes, type) ? fileTypes[type] : undefined;
	if (kind === undefined || !hasMember(part, ...dataKeys)) return readInlineMedia(part, path);
	const mediaType = stringAt(part, "mediaType") ?? stringAt(part, "mimeType");
	const value = memberAt(part, ...dataKeys);
	// From v7 on the data says its own type: {type: "data", data}, {type: "url", url}, {type: "text", text}.
	if (isJsonObject(value) && value.type === "text") return undefined;
	const data = isJsonObject(value) && value.type === "data" ? value.data : value;
	return readMedia({ path, provider: "any", mediaType, kind, data });
}

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

/** The parts that the SDK itself adds behind those of an answer. */
const addedTypes: ReadonlySet<unknown> = new Set(["tool-result", "tool-error", "tool-approval-request"]);

/**
 * The result or a step of the Vercel AI SDK, or an answer of its models (`finishReason` with `unified`). It parses the
 * inputs of its providers, some of which make an object of a cut one; so a call that ends a cut answer is taken to be cut.
 */
function readAnswer(response: JsonObject): LastResponse | undefined {
	// A result as JSON keeps its steps only.
	const last = hasMember(response, "finishReason") ? undefined : objectsOf(response.steps).at(-1);
	const step = last ?? response;
	const { content, finishReason: reason } = step;
	const listed = objectsOf(step.toolCalls);
	if (!listed.every((call) => hasMember(call, "toolName"))) return undefined;
	const listedCalls = listed.flatMap((call, index) => readGivenCall(call, index === listed.length - 1));
	const text = stringAt(step, "text");
	const isContent = isAnswerContent(content);
	if (listedCalls.length === 0 && text === undefined && !isContent) return undefined;
	if (!hasMember(step, "finishReason", "toolCalls")) return undefined;
	// Only the content tells what came behind a call.
	const calls = isContent ? readAnswerContent(content) : [];
	return finishResponse({
		reason: isJsonObject(reason) ? reason.unified : reason,
		texts: text === undefined ? textsOf(content) : [text],
		calls: calls.length > 0 ? calls : listedCalls,
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
		return readGivenCall(part, index === given.length - 1 && !ran.has(idAt(part, "toolCallId")));
	});
}

function readGivenCall(call: JsonObject, endsAnswer: boolean): GivenCall[] {
	if (call.providerExecuted === true) return [];
	const value = memberAt(call, "input", "args");
	const input = call.invalid === true ? ({ kind: "broken" } as const) : ({ kind: "parsed_partly", value } as const);
	return [{ id: idAt(call, "toolCallId"), name: idAt(call, "toolName"), input, endsAnswer }];
}
