import { isJsonObject } from "../engine/conversation/json.js";
import { callsAmong, finishResponse, textsOf } from "./answer.js";
import { linkCaller, linkTo } from "./block-links.js";
import {
	contentPart,
	idOfText,
	keptFields,
	plainMessage,
	plainRoles,
	probeMessages,
	probeParts,
	readTranscript,
	roleOf,
	rolesWithTool,
} from "./format.js";
import { hasMember, idAt, listOf, memberAt, objectOf, objectsOf, stringAt } from "./json-text/value.js";
import { readInlineMedia, readMedia } from "./media.js";
import {
	added,
	hiddenTokens,
	isMcpFailure,
	MessageDraft,
	noContent,
	opaque,
	readJsonContent,
	readOpenContent,
} from "./parts.js";

const partTypes = {
	own: ["tool-call", "tool-result", "tool-approval-request", "tool-approval-response", "redacted-reasoning"],
	foreign: ["image_url", "input_text", "output_text", "thinking"],
};
/** An approval response is read as a result of its call, without text, so that the two are dropped together. */
export const vercelModel = {
	name: "vercel-model",
	title: "Vercel AI SDK ModelMessage",
	looksFor: "Vercel AI SDK ModelMessage (parts `tool-call` and `tool-result` with `toolCallId` in `content`)",
	probe: ({ messages }) =>
		probeMessages(messages, "a part `tool-call`, `tool-result` or `reasoning` in `content`", probeModel),
	read(located) {
		const callOfApproval = new Map();
		const transcript = readTranscript("vercel-model", located, ["system", "instructions", "tools"], (message, path) =>
			readMessage(message, path, callOfApproval),
		);
		return { ...transcript, plainInTurn: true };
	},
	write: { message: plainMessage, part: contentPart, appends: true },
	answer: { shape: "{finishReason, text, toolCalls} of the Vercel AI SDK", read: readAnswer },
};
function probeModel(message, role) {
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
function readMessage(message, path, callOfApproval) {
	const role = roleOf(message, rolesWithTool);
	return new MessageDraft(role, path).readParts(message.content, [...path, "content"], (part, at, draft) => {
		const approval = stringAt(part, "approvalId") ?? "";
		if (part.type === "tool-call") {
			addSignature(part, at, draft);
			draft.addCall(idAt(part, "toolCallId"), stringAt(part, "toolName"), part.input ?? part.args);
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
function readResult(part, path, draft) {
	const callId = idAt(part, "toolCallId");
	const { output } = part;
	if (isJsonObject(output) && typeof output.type === "string" && outputTypes.has(output.type)) {
		const readMediaPart = output.type === "content" ? readVercelMedia : readInlineMedia;
		// A text of another type may also be an error.
		const isError = output.type.startsWith("error-") || isMcpFailure(output.value) || undefined;
		const read = output.type === "content" ? readOpenContent : readJsonContent;
		const content = read(output.value, [...path, "output", "value"], readMediaPart);
		draft.addResult({ callId, ...content, isError });
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
function readVercelPart(part, path, draft) {
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
function addSignature(part, path, draft) {
	const isSigned = providerData(part).some((data) => stringAt(data, "thoughtSignature") !== undefined);
	if (isSigned) draft.addSignature(path);
}
function providerData(part) {
	const holders = [part.providerOptions, part.providerMetadata, part.callProviderMetadata];
	return holders.flatMap((holder) => Object.values(objectOf(holder)).filter(isJsonObject));
}
/** The part types of files; those of images match a group. */
const fileTypes = /^(?:(image)(?:-data|-url|-file-id|-file-reference)?|file(?:-data|-url|-id|-reference)?|media)$/;
/** Keys of the data, which depend on the version and the type of part. */
const dataKeys = ["data", "image", "url", "fileId", "providerReference"];
function readVercelMedia(part, path) {
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
const addedTypes = new Set(["tool-result", "tool-error", "tool-approval-request"]);
/** Some providers parse a cut input into an object, so a call at the end of a cut answer counts as cut. */
function readAnswer(response) {
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
function isAnswerContent(content) {
	const isKnown = (part) => answerPartTypes.test(stringAt(objectOf(part), "type") ?? "");
	return Array.isArray(content) && content.every(isKnown);
}
function readAnswerContent(content) {
	const given = content.filter((part) => !addedTypes.has(part.type));
	// A call that was run is complete.
	const ran = new Set(content.flatMap((part) => (part.type === "tool-result" ? idAt(part, "toolCallId") : [])));
	const calls = callsAmong(given, (part) => (part.type === "tool-call" ? readGivenCall(part) : undefined));
	return calls.map((call) => ({ ...call, endsAnswer: call.endsAnswer && !ran.has(call.id) }));
}
function readGivenCall(call) {
	if (call.providerExecuted === true) return undefined;
	const value = memberAt(call, "input", "args");
	const input = call.invalid === true ? { kind: "broken" } : { kind: "parsed_partly", value };
	return { id: idAt(call, "toolCallId"), name: idAt(call, "toolName"), input };
}
/** UI messages since v4. Each step of an assistant message, from one `step-start` to the next, is read as a message. */
export const vercelUi = {
	name: "vercel-ui",
	title: "Vercel AI SDK UIMessage",
	looksFor: "Vercel AI SDK UIMessage (`role` and `parts` with a `type` each)",
	probe: ({ messages }) => probeMessages(messages, "`parts` with a `type` each, or `toolInvocations`", probeUi),
	read: (located) => readTranscript("vercel-ui", located, ["system", "instructions", "tools"], readUiMessages),
	write: { message: writeMessage, part: { ...contentPart, lists: [["parts"]] }, appends: true },
};
function probeUi({ parts, content, toolInvocations, tool_calls: calls }, role) {
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
export const isPart = (part) =>
	isJsonObject(part) &&
	typeof part.type === "string" &&
	!/^(?:server_)?tool_call/.test(part.type) &&
	!(part.type === "text" && !hasMember(part, "text"));
/** The message, or the messages of its steps, with the paths of their parts. */
export function readUiMessages(message, path) {
	const role = roleOf(message, plainRoles);
	// v4 has calls here, or copies of the calls in the parts.
	const invocations = listOf(message.toolInvocations).flatMap((tool, index) =>
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
/** The indexes of the parts of each step. Parts before the first `step-start` are a step. */
function splitIntoSteps(parts) {
	const steps = [];
	parts.forEach((part, index) => {
		const current = steps.at(-1);
		if (current === undefined || (isJsonObject(part) && part.type === "step-start")) steps.push([index]);
		else current.push(index);
	});
	return steps;
}
/** Reads a step and returns whether any part of it is sent. Removes the copies of its calls from `copies`. */
function readStep(parts, indexes, path, copies, draft) {
	const sent = [];
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
	if (onlyThinks) draft.thinking = draft.thinking.map((block) => ({ ...block, fixed: true }));
	return sent.length > 0;
}
function isForTheScreen(part) {
	const type = stringAt(part, "type") ?? "";
	return type === "step-start" || type.startsWith("source") || type.startsWith("data-");
}
function readPart(part, path, copies, draft) {
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
	} else if (type === "dynamic-tool" || type.startsWith("tool-")) {
		readTool(part, type === "dynamic-tool" ? stringAt(part, "toolName") : type.slice("tool-".length), path, draft);
	} else readVercelPart(part, path, draft);
}
/** The key of the result in each state that has one. */
const resultKeys = {
	"output-available": "output",
	"output-error": "errorText",
	result: "result",
};
/** Reads a call with its result: `input` and `output` or `errorText` (v5 and later), or `args` and `result` (v4). */
function readTool(tool, name, path, draft, copies = []) {
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
		const content = readJsonContent(tool[key], [...path, key], readInlineMedia);
		const isError = key === "errorText" || isMcpFailure(tool[key]) || undefined;
		draft.addResult({ callId, ...content, copies, isError });
	} else if (state === "output-denied") {
		const reason = isJsonObject(tool.approval) ? stringAt(tool.approval, "reason") : undefined;
		draft.addResult({ callId, ...(reason === undefined ? noContent : opaque(reason)) });
	}
}
/** v4 also requires the text as `content`, and keeps the time of a message. */
function writeMessage({ role, text, instead }) {
	const isOld = isJsonObject(instead) && stringAt(instead, "content") !== undefined;
	return {
		id: idOfText(`${role}\n${text}`),
		...keptFields(instead, ["id"]),
		...(isOld ? { ...keptFields(instead, ["createdAt"]), content: text } : {}),
		role,
		parts: [{ type: "text", text }],
	};
}
