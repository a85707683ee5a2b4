import type { Path } from "../../engine/path.ts";
import type { Message, Role } from "../../engine/transcript.ts";
import {
	finishResponse,
	type GivenCall,
	hasMember,
	type LastResponse,
	memberAt,
	objectsOf,
	textsOf,
} from "../answer.ts";
import type { Format } from "../format.ts";
import { asCountedText, idAt, isJsonObject, type JsonObject, stringAt } from "../json-values.ts";
import { isMcpFailure } from "../mcp-result.ts";
import { readInlineMedia } from "../media/inline-media.ts";
import { addResult, finishMessage, type MessageDraft, startMessage } from "../message-draft.ts";
import { plainMessage } from "../plain-message.ts";
import { probeMessages } from "../probe-messages.ts";
import { readSurroundings } from "../surroundings.ts";
import { readTypedParts } from "../typed-parts.ts";
import { readVercelMedia, readVercelReasoning, readVercelSignature } from "./vercel-parts.ts";

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
