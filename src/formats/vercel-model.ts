import { isJsonObject, type JsonObject } from "../engine/conversation/json.ts";
import type { Path } from "../engine/conversation/paths.ts";
import type { MediaNode, Message, ToolResult } from "../engine/conversation/transcript.ts";
import { type CallInput, callsAmong, finishResponse, type GivenCall, type LastResponse, textsOf } from "./answer.ts";
import { linkCaller, linkTo } from "./block-links.ts";
import {
	contentPart,
	type Format,
	plainMessage,
	probeMessages,
	probeParts,
	readTranscript,
	roleOf,
	rolesWithTool,
} from "./format.ts";
import { hiddenTokens } from "./hidden-reasoning.ts";
import { hasMember, idAt, memberAt, objectOf, objectsOf, stringAt } from "./json-text/value.ts";
import { readInlineMedia, readMedia } from "./media.ts";
import { isMcpFailure, MessageDraft, noContent, readJsonContent, readOpenContent, type ToolContent } from "./parts.ts";

const partTypes = {
	own: ["tool-call", "tool-result", "tool-approval-request", "tool-approval-response", "redacted-reasoning"],
	foreign: ["image_url", "input_text", "output_text", "thinking"],
};

/** An approval response is read as a result of its call, without text, so that the two are dropped together. */
export const vercelModel: Format = {
	name: "vercel-model",
	title: "Vercel AI SDK ModelMessage",
	looksFor: "Vercel AI SDK ModelMessage (parts `tool-call` and `tool-result` with `toolCallId` in `content`)",
	probe: ({ messages }) =>
		probeMessages(messages, "a part `tool-call`, `tool-result` or `reasoning` in `content`", probeModel),
	read(located) {
		const callOfApproval = new Map<string, string | undefined>();
		const transcript = readTranscript("vercel-model", located, ["system", "instructions", "tools"], (message, path) =>
			readMessage(message, path, callOfApproval),
		);
		return { ...transcript, plainInTurn: true };
	},
	write: { message: plainMessage, part: contentPart, appends: true },
	answer: { shape: "{finishReason, text, toolCalls} of the Vercel AI SDK", read: readAnswer },
};

function probeModel(message: JsonObject, role: string) {
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
	const role = roleOf(message, rolesWithTool);
	return new MessageDraft(role, path).readParts(message.content, [...path, "content"], (part, at, draft) => {
		const approval = stringAt(part, "approvalId") ?? "";
		if (part.type === "tool-call") {
			addSignature(part, at, draft);
			// BeeAI's Python edition has the same parts in snake case.
			const id = idAt(part, "toolCallId") ?? idAt(part, "id");
			draft.addCall(id, stringAt(part, "toolName") ?? stringAt(part, "tool_name"), part.input ?? part.args);
			linkCaller(part, draft);
		} else if (part.type === "tool-result") {
			readResult(part, at, draft);
		} else {
			if (part.type === "tool-approval-request") {
				callOfApproval.set(approval, idAt(part, "toolCallId"));
				linkTo(idAt(part, "toolCallId"), draft);
			}
			if (part.type === "tool-approval-response") {
				draft.addResult({ callId: callOfApproval.get(approval), ...noContent });
			}
			readVercelPart(part, at, draft);
		}
	});
}

/** Types of outputs since v5. */
const outputTypes = new Set(["text", "json", "content", "error-text", "error-json", "execution-denied"]);

export function isOutput({ type }: JsonObject): boolean {
	return typeof type === "string" && outputTypes.has(type);
}

export function readGivenOutput({ type, value }: JsonObject, path: Path): ToolContent & Pick<ToolResult, "isError"> {
	// A text of another type may also be an error.
	const isError = String(type).startsWith("error-") || isMcpFailure(value) || undefined;
	const read = type === "content" ? readOpenContent : readJsonContent;
	const content = read(value, [...path, "value"], type === "content" ? readVercelMedia : readInlineMedia);
	return { ...content, isError };
}

function readResult(part: JsonObject, path: Path, draft: MessageDraft): void {
	const callId = idAt(part, "toolCallId") ?? idAt(part, "tool_call_id");
	const output = objectOf(part.output);
	if (isOutput(output)) {
		draft.addResult({ callId, ...readGivenOutput(output, [...path, "output"]) });
		draft.count(stringAt(output, "reason"));
		return;
	}
	const isError = typeof part.isError === "boolean" ? part.isError : isMcpFailure(part.result) || undefined;
	if (Array.isArray(part.experimental_content)) {
		// The parts are sent to models; `result` is the output of the tool.
		const content = readOpenContent(part.experimental_content, [...path, "experimental_content"], readVercelMedia);
		const text = stringAt(part, "result");
		const copies = text === undefined ? [] : [{ path: [...path, "result"], text }];
		draft.addResult({ callId, ...content, copies, isError });
		return;
	}
	const key = Object.hasOwn(part, "output") ? "output" : "result";
	draft.addResult({ callId, ...readJsonContent(part[key], [...path, key], readInlineMedia), isError });
}

/** Reads a part that is neither a call nor a result, also for UI messages. */
export function readVercelPart(part: JsonObject, path: Path, draft: MessageDraft): void {
	if (part.type === "text") {
		draft.count(part.text);
		addSignature(part, path, draft);
	} else if (part.type === "redacted-reasoning") draft.addThinking(path, part.data, true);
	else if (part.type === "reasoning") {
		const holders = [part, ...objectsOf(part.details), ...providerData(part)];
		const sealed = holders.flatMap((holder) => bindingKeys.flatMap((key) => stringAt(holder, key) ?? []));
		const bound = sealed.length > 0 || holders.some(({ type }) => type === "redacted");
		const isItem = providerData(part).some((data) => stringAt(data, "itemId") !== undefined);
		const hidden = hiddenTokens(part.text ?? part.reasoning, sealed[0]);
		draft.addThinking(path, part.text ?? part.reasoning, bound, isItem, hidden);
	} else draft.countPart(part, readVercelMedia(part, path));
}

/** Keys that bind reasoning of Anthropic and Gemini to the messages before it. OpenAI checks no binding. */
const bindingKeys = ["signature", "thoughtSignature", "redactedData"];

/** Adds the signature that binds a call or a text of Gemini to the messages before it. */
export function addSignature(part: JsonObject, path: Path, draft: MessageDraft): void {
	const isSigned = providerData(part).some((data) => stringAt(data, "thoughtSignature") !== undefined);
	if (isSigned) draft.addSignature(path);
}

function providerData(part: JsonObject): JsonObject[] {
	const holders = [part.providerOptions, part.providerMetadata, part.callProviderMetadata];
	return holders.flatMap((holder) => Object.values(objectOf(holder)).filter(isJsonObject));
}

/** The part types of files; those of images match a group. */
const fileTypes = /^(?:(image)(?:-data|-url|-file-id|-file-reference)?|file(?:-data|-url|-id|-reference)?|media)$/;

/** Keys of the data, which depend on the version and the type of part. */
const dataKeys = ["data", "image", "url", "fileId", "providerReference"];

function readVercelMedia(part: JsonObject, path: Path): MediaNode | undefined {
	const found = fileTypes.exec(stringAt(part, "type") ?? "");
	if (!found || !hasMember(part, ...dataKeys)) return readInlineMedia(part, path);
	const kind = found[1] ? "image" : "document";
	const mediaType = stringAt(part, "mediaType") ?? stringAt(part, "mimeType");
	const value = memberAt(part, ...dataKeys);
	// Since v7 the data has a type: {type: "data", data}, {type: "url", url}, {type: "text", text}.
	if (isJsonObject(value) && value.type === "text") return undefined;
	const data = isJsonObject(value) && value.type === "data" ? value.data : value;
	return readMedia({ path, provider: "any", mediaType, kind, data });
}

const answerPartTypes =
	/^(?:text|reasoning|reasoning-file|source|file|custom|tool-call|tool-result|tool-error|tool-approval-request)$/;

/** Parts that the SDK adds after those of an answer. */
const addedTypes: ReadonlySet<unknown> = new Set(["tool-result", "tool-error", "tool-approval-request"]);

/** Some providers parse a cut input into an object, so a call at the end of a cut answer counts as cut. */
function readAnswer(response: JsonObject): LastResponse | undefined {
	// As JSON, a result has only its steps.
	const last = hasMember(response, "finishReason") ? undefined : objectsOf(response.steps).at(-1);
	const step = last ?? response;
	const { content, finishReason: reason } = step;
	const listed = objectsOf(step.toolCalls);
	if (!listed.every((call) => hasMember(call, "toolName"))) return undefined;
	const listedCalls = callsAmong(listed, readGivenCall);
	const text = stringAt(step, "text");
	const isContent = isAnswerContent(content);
	if (listedCalls.length === 0 && text === undefined && !isContent) return undefined;
	if (!hasMember(step, "finishReason", "toolCalls")) return undefined;
	// Only the content shows the parts after a call.
	const calls = isContent ? readAnswerContent(content) : [];
	return finishResponse({
		reason: isJsonObject(reason) ? reason.unified : reason,
		texts: text === undefined ? textsOf(content) : [text],
		calls: calls.length > 0 ? calls : listedCalls,
	});
}

function isAnswerContent(content: unknown): content is readonly JsonObject[] {
	const isKnown = (part: unknown) => answerPartTypes.test(stringAt(objectOf(part), "type") ?? "");
	return Array.isArray(content) && content.every(isKnown);
}

function readAnswerContent(content: readonly JsonObject[]): GivenCall[] {
	const given = content.filter((part) => !addedTypes.has(part.type));
	// A call that was run is complete.
	const ran = new Set(content.flatMap((part) => (part.type === "tool-result" ? idAt(part, "toolCallId") : [])));
	const calls = callsAmong(given, (part) => (part.type === "tool-call" ? readGivenCall(part) : undefined));
	return calls.map((call) => ({ ...call, endsAnswer: call.endsAnswer && !ran.has(call.id) }));
}

function readGivenCall(call: JsonObject): Omit<GivenCall, "endsAnswer"> | undefined {
	if (call.providerExecuted === true) return undefined;
	const value = memberAt(call, "input", "args");
	const input: CallInput = call.invalid === true ? { kind: "broken" } : { kind: "parsed_partly", value };
	return { id: idAt(call, "toolCallId"), name: idAt(call, "toolName"), input };
}
