import { isJsonObject, type JsonObject } from "../engine/conversation/json.ts";
import type { Path } from "../engine/conversation/paths.ts";
import type { MediaNode, Role } from "../engine/conversation/transcript.ts";
import { excerptWordings } from "../engine/policy/wordings.ts";
import {
	type CallInput,
	callsAmong,
	finishResponse,
	type GivenCall,
	isMalformedCall,
	type LastResponse,
} from "./answer.ts";
import { linkTo, openLink } from "./block-links.ts";
import {
	type Exchange,
	type Format,
	pairByPosition,
	probeEach,
	readSurroundings,
	readTranscript,
	roleOf,
} from "./format.ts";
import { idAt, listOf, memberAt, objectsOf, stringAt } from "./json-text/value.ts";
import { readInlineMedia, readMedia } from "./media.ts";
import {
	added,
	asWhole,
	isMcpFailure,
	MessageDraft,
	onlyMember,
	type ReadPart,
	readWrappedContent,
	type ToolContent,
} from "./parts.ts";

const roles: Readonly<Record<string, Role>> = { user: "user", model: "assistant", function: "tool", system: "system" };

const surroundingKeys = ["systemInstruction", "system_instruction", "tools"];

const partKeys = [
	"text",
	"functionCall",
	"functionResponse",
	"inlineData",
	"fileData",
	"executableCode",
	"codeExecutionResult",
	"toolCall",
	"toolResponse",
	"thoughtSignature",
];

/** Google Gemini, in the camelCase of the API and the snake_case of some libraries. Parts have no `type`. */
export const gemini: Format = {
	name: "gemini",
	title: "Google Gemini",
	looksFor: "Google Gemini contents (`role` user or model, `parts` such as `text`, `functionCall`, `functionResponse`)",
	probe: ({ messages }) => probeEach(messages, "`parts` of the kinds that Gemini has", probe),
	read(located) {
		const { messages, document } = located;
		const ids = pairByPosition(messages.map((content) => partsOf(content).map(exchangeOf)));
		const transcript = readTranscript("gemini", located, surroundingKeys, (content, path, index) =>
			readContent(content, path, ids[index] ?? []),
		);
		// The SDK's `generateContent` takes the same fields in `config`.
		const config = isJsonObject(document) && Object.hasOwn(document, "config") ? document.config : undefined;
		const surroundings = [...transcript.surroundings, ...readSurroundings(config, surroundingKeys)];
		return { ...transcript, surroundings, opensWithUser: true, inTurn: true };
	},
	write: {
		message: ({ role, text }) => ({ role: role === "user" ? role : "model", parts: [{ text }] }),
		part: { lists: [["parts"]], key: "text", write: (text) => ({ text }) },
		appends: true,
	},
	answer: { shape: "{candidates} or a candidate {finishReason, content} of Gemini", read: readAnswer },
};

function probe(content: unknown) {
	if (!isJsonObject(content)) return "an object with `role` and `parts`";
	if (content.content !== undefined) return "`parts`, not `content`";
	const [role, parts] = [memberAt(content, "role"), memberAt(content, "parts")];
	if (role != null && typeof role !== "string") return "`role` as a string";
	// An empty answer has only a role.
	if (parts == null) return role === "model" ? false : "a list of `parts`";
	if (!Array.isArray(parts)) return "`parts` as a list";
	const isPart = (part: unknown): part is JsonObject => isJsonObject(part) && typeof part.type !== "string";
	if (!parts.every(isPart)) return "parts that are objects without a `type`";
	return parts.some((part) => partKeys.some((key) => memberOf(part, key) !== undefined));
}

/** A member in either spelling: `functionCall` or `function_call`. */
function memberOf(object: JsonObject, key: string): unknown {
	if (Object.hasOwn(object, key)) return object[key] ?? undefined;
	const snake = snakes.get(key) ?? key.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
	if (!snakes.has(key)) snakes.set(key, snake);
	return Object.hasOwn(object, snake) ? (object[snake] ?? undefined) : undefined;
}

/** By the keys that this file names. */
const snakes = new Map<string, string>();

function partsOf(content: unknown): readonly unknown[] {
	return isJsonObject(content) ? listOf(content.parts) : [];
}

function exchangeOf(part: unknown): Exchange | undefined {
	if (!isJsonObject(part)) return undefined;
	const call = memberOf(part, "functionCall");
	const held = isJsonObject(call) ? call : memberOf(part, "functionResponse");
	if (!isJsonObject(held)) return undefined;
	return { kind: held === call ? "call" : "result", name: stringAt(held, "name"), ownId: idAt(held, "id") };
}

/** Reads one content. `paths` names the values to remove with it, if it is part of a record. */
export function readContent(
	content: JsonObject,
	path: Path,
	ids: readonly (string | undefined)[],
	paths: readonly Path[] = [path],
): MessageDraft {
	const draft = new MessageDraft(roleOf(content, roles, "user"), ...paths);
	const read: ReadPart = (part, at, _, index) => readPart(part, at, ids[index], draft);
	return draft.readParts(partsOf(content), [...path, "parts"], read);
}

function readPart(part: JsonObject, path: Path, id: string | undefined, draft: MessageDraft): void {
	const call = memberOf(part, "functionCall");
	const response = memberOf(part, "functionResponse");
	const media = readGeminiMedia(part, path);
	const isSigned = Boolean(memberOf(part, "thoughtSignature"));
	// The API refuses a call that comes back without its signature.
	if (isSigned && part.thought !== true) draft.addSignature(path);
	if (isJsonObject(call)) {
		draft.addCall(id, stringAt(call, "name"), memberOf(call, "args"));
	} else if (isJsonObject(response)) {
		const key = Object.hasOwn(part, "functionResponse") ? "functionResponse" : "function_response";
		draft.addResult({ callId: id, ...readFunctionResponse(response, [...path, key]) });
	} else if (media) {
		draft.mediaTokens += media.tokens;
	} else if (typeof part.text === "string") {
		draft.count(part.text);
		if (part.thought === true) draft.thinking = added(draft.thinking, { path, text: part.text, bound: isSigned });
	} else {
		// Signatures are not sent as text.
		const { thoughtSignature, thought_signature, ...rest } = part;
		linkServerTool(part, draft);
		if (Object.keys(rest).length > 0) draft.count(rest);
	}
}

/** Tools that Google runs. A part without an id belongs to the latest call of its kind. */
const serverTools = [
	{ call: "executableCode", result: "codeExecutionResult", name: "code_execution" },
	{ call: "toolCall", result: "toolResponse", name: "server_tool" },
];

function linkServerTool(part: JsonObject, draft: MessageDraft): void {
	for (const { call: callKey, result: resultKey, name } of serverTools) {
		const [call, result] = [memberOf(part, callKey), memberOf(part, resultKey)];
		if (isJsonObject(call)) openLink(idAt(call, "id") ?? callKey, draft);
		if (isJsonObject(result)) linkTo(idAt(result, "id") ?? callKey, draft, name);
	}
}

/** Reads the content of a `functionResponse`, which may hold an error. */
export function readFunctionResponse(
	response: JsonObject,
	path: Path,
): ToolContent & { readonly isError: boolean | undefined } {
	const value = response.response;
	const at = [...path, "response"];
	const parts = listOf(response.parts);
	const media = parts.flatMap((part, index) => {
		const node = isJsonObject(part) ? readGeminiMedia(part, [...path, "parts", index]) : undefined;
		return node ? [{ ...node, write: writeTextBlob }] : [];
	});
	const inPlaceOfMedia = parts.flatMap((part, index) => {
		const text = textOfBlob(part);
		return text === undefined ? [] : [{ path: [...path, "parts", index], text }];
	});
	const isFailure = hasFailed(value);
	// The API accepts only objects.
	const write = (text: string) => (isFailure ? { error: text } : { output: text });
	const read = readWrappedContent(value, at, readInlineMedia);
	const inside = parts.length === 0 ? asWhole(read, { value, path: at, write }) : read;
	const isShortened = parts.length === 0 && isShortenedOutput(value);
	// Without the first line, the rest would be read as an error.
	const whole = isShortened ? { path: at, write: (output: string) => ({ output }), only: true as const } : inside.whole;
	return {
		texts: inside.texts,
		whole: parts.length === 0 ? whole : undefined,
		media: [...inside.media, ...media],
		inPlaceOfMedia,
		isError: (!isShortened && isFailure) || undefined,
		counted: [...inside.counted, ...inPlaceOfMedia.map(({ text }) => text)],
	};
}

/** Characters that a host may put before the text of our hook, such as "Tool result blocked: ". */
const longestLead = 60;

/** Whether our hook shortened an output. Gemini CLI accepts one only as an error, so its first line says that it is none. */
function isShortenedOutput(value: unknown): boolean {
	if (!isJsonObject(value) || onlyMember(value) !== "error" || typeof value.error !== "string") return false;
	const { error } = value;
	return Object.values(excerptWordings).some(({ noError }) => {
		const at = error.slice(0, longestLead + noError.length).indexOf(noError);
		return at !== -1 && !error.slice(0, at).includes("\n") && error.startsWith("\n", at + noError.length);
	});
}

function hasFailed(value: unknown): boolean {
	if (!isJsonObject(value)) return false;
	const { error } = value;
	// An error stays an error even if its text was cut to nothing.
	return Boolean(error) || (error === "" && onlyMember(value) === "error") || [value, value.result].some(isMcpFailure);
}

export function readGeminiMedia(part: JsonObject, path: Path): MediaNode | undefined {
	const inline = memberOf(part, "inlineData");
	const file = memberOf(part, "fileData");
	const data = isJsonObject(inline) ? inline : isJsonObject(file) ? file : undefined;
	if (!data || textOfBlob(part) !== undefined) return undefined;
	const mediaType = memberOf(data, "mimeType");
	return readMedia({
		path,
		provider: "gemini",
		data: inline ? data.data : undefined,
		mediaType: typeof mediaType === "string" ? mediaType : undefined,
		write: (text) => ({ text }),
	});
}

/** A text as inline data, since the response of a function accepts no text parts. */
function writeTextBlob(text: string) {
	return { inlineData: { mimeType: "text/plain", data: Buffer.from(text).toString("base64") } };
}

function textOfBlob(part: unknown): string | undefined {
	const inline = isJsonObject(part) ? memberOf(part, "inlineData") : undefined;
	if (!isJsonObject(inline) || memberOf(inline, "mimeType") !== "text/plain") return undefined;
	const data = stringAt(inline, "data");
	return data === undefined ? undefined : Buffer.from(data, "base64").toString("utf8");
}

/** The API parses calls: arguments are complete unless streamed in pieces. A broken call leaves only the reason. */
function readAnswer(response: JsonObject): LastResponse | undefined {
	const { candidates, content } = response;
	if (!Array.isArray(candidates)) {
		const isCandidate = isJsonObject(content) && (Array.isArray(content.parts) || content.role === "model");
		return isCandidate ? readCandidate(response) : undefined;
	}
	// A blocked prompt has no candidate.
	const [candidate = {}] = candidates as readonly unknown[];
	return isJsonObject(candidate) ? readCandidate(candidate) : undefined;
}

function readCandidate(candidate: JsonObject): LastResponse {
	const reason = memberOf(candidate, "finishReason");
	const parts = objectsOf(partsOf(candidate.content));
	const texts = parts.flatMap((part) => (part.thought === true ? [] : (stringAt(part, "text") ?? [])));
	const calls = callsAmong(parts, (part) => {
		const call = memberOf(part, "functionCall");
		if (!isJsonObject(call)) return undefined;
		const isPiece = memberOf(call, "willContinue") === true;
		const input: CallInput = isPiece ? { kind: "broken" } : { kind: "json", value: memberOf(call, "args") };
		return { id: idAt(call, "id"), name: idAt(call, "name"), input };
	});
	const isLost = calls.length === 0 && isMalformedCall(reason);
	const lost: GivenCall = { id: undefined, name: undefined, input: { kind: "broken" }, endsAnswer: true };
	return finishResponse({ reason, texts, calls: isLost ? [lost] : calls });
}
