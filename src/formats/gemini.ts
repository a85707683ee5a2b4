import { isJsonObject, type JsonObject } from "../conversation/json.ts";
import type { MediaNode, Path, Role } from "../conversation/transcript.ts";
import { excerptWordings } from "../policy/wordings.ts";
import { finishResponse, type GivenCall, isMalformedCall, type LastResponse, objectsOf } from "./answer.ts";
import {
	addResult,
	type Exchange,
	type Fit,
	type Format,
	finishMessage,
	type LocatedMessages,
	type MessageDraft,
	onlyMember,
	pairByPosition,
	readSurroundings,
	readWrappedValue,
	startMessage,
} from "./format.ts";
import { asCountedText, idAt, stringAt } from "./json-values.ts";
import { readInlineMedia, readMedia } from "./media.ts";
import { isMcpFailure } from "./parts.ts";

const roles: Readonly<Record<string, Role>> = {
	user: "user",
	model: "assistant",
	function: "tool",
	system: "system",
};

const surroundingKeys = ["systemInstruction", "system_instruction", "tools"];

/** What a part can be. `thought` and `thoughtSignature` stand beside one of these. */
export const partKeys = [
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
] as const;

/**
 * Google Gemini, in the camelCase of the API and the snake_case of some libraries. Parts have no `type`. Where calls or
 * their responses have no id, they are paired by their position within the turn.
 */
export const gemini: Format = {
	name: "gemini",
	title: "Google Gemini",
	looksFor: "Google Gemini contents (`role` user or model, `parts` such as `text`, `functionCall`, `functionResponse`)",
	probe,
	read(located) {
		const { messages, base, document } = located;
		const ids = pairGeminiCalls(messages);
		const config = isJsonObject(document) && Object.hasOwn(document, "config") ? document.config : undefined;
		return {
			format: "gemini",
			messages: messages.map((content, index) =>
				readContent(content as JsonObject, [...base, index], ids[index] ?? []),
			),
			surroundings: [
				...readSurroundings(located, surroundingKeys),
				// The SDK's `generateContent` takes them in there.
				...readSurroundings({ ...located, document: config }, surroundingKeys),
			],
			opensWithUser: true,
			inTurn: true,
		};
	},
	write: {
		message: ({ role, text }) => ({ role: role === "user" ? role : "model", parts: [{ text }] }),
		part: { list: ["parts"], write: (text) => ({ text }) },
		appends: true,
	},
	answer: { shape: "{candidates} or a candidate {finishReason, content} of Gemini", read: readAnswer },
};

function probe({ messages }: LocatedMessages): Fit {
	let certain = false;
	for (const [message, content] of messages.entries()) {
		const outcome = probeContent(content);
		if (typeof outcome === "string") return { fit: "none", message, expected: outcome };
		certain ||= outcome;
	}
	return certain ? { fit: "certain" } : { fit: "none", message: 0, expected: "`parts` of the kinds that Gemini has" };
}

/** Whether the content can only be of this format; a text says what it should have been instead. */
function probeContent(content: unknown): boolean | string {
	if (!isJsonObject(content)) return "an object with `role` and `parts`";
	if (content.content !== undefined) return "`parts`, not `content`";
	const role = Object.hasOwn(content, "role") ? content.role : undefined;
	if (role !== undefined && role !== null && typeof role !== "string") return "`role` as a string";
	const parts = Object.hasOwn(content, "parts") ? content.parts : undefined;
	// What the model gave when it gave nothing has a role only.
	if (parts === undefined || parts === null) return role === "model" ? false : "a list of `parts`";
	if (!Array.isArray(parts)) return "`parts` as a list";
	let certain = false;
	for (const part of parts as unknown[]) {
		if (!isJsonObject(part) || typeof part.type === "string") return "parts that are objects without a `type`";
		certain ||= partKeys.some((key) => memberOf(part, key) !== undefined);
	}
	return certain;
}

function readContent(content: JsonObject, path: readonly (string | number)[], ids: readonly (string | undefined)[]) {
	const name = stringAt(content, "role") ?? "user";
	const role = (Object.hasOwn(roles, name) && roles[name]) || "other";
	const draft = startMessage();
	if (Array.isArray(content.parts)) {
		(content.parts as unknown[]).forEach((part, index) => {
			if (isJsonObject(part)) readGeminiPart({ part, path: [...path, "parts", index], id: ids[index] }, draft);
			else draft.counted.push(asCountedText(part));
		});
	}
	return finishMessage(role, [path], draft);
}

/**
 * Gemini: an answer, or its first candidate. The API parses a call before it gives it, so that one with arguments is
 * whole, but for those that it streams in pieces; of a call that does not parse it gives nothing but the reason.
 */
function readAnswer(response: JsonObject): LastResponse | undefined {
	const { candidates } = response;
	if (!Array.isArray(candidates)) return isAnswerContent(response.content) ? readCandidate(response) : undefined;
	// A prompt that was blocked has no candidate.
	const [candidate = {}] = candidates as readonly unknown[];
	return isJsonObject(candidate) ? readCandidate(candidate) : undefined;
}

function isAnswerContent(content: unknown): boolean {
	return isJsonObject(content) && (Array.isArray(content.parts) || content.role === "model");
}

function readCandidate(candidate: JsonObject) {
	const reason = memberOf(candidate, "finishReason");
	const parts = isJsonObject(candidate.content) ? objectsOf(candidate.content.parts) : [];
	const texts = parts.flatMap((part) => (part.thought === true ? [] : (stringAt(part, "text") ?? [])));
	const calls = parts.flatMap((part, index) => readAnsweredCall(part, index === parts.length - 1));
	const isLost = calls.length === 0 && isMalformedCall(reason);
	const lost: GivenCall = { id: undefined, name: undefined, input: { kind: "broken" }, endsAnswer: true };
	return finishResponse({ reason, texts, calls: isLost ? [lost] : calls });
}

function readAnsweredCall(part: JsonObject, endsAnswer: boolean): GivenCall[] {
	const call = memberOf(part, "functionCall");
	if (!isJsonObject(call)) return [];
	const isPiece = memberOf(call, "willContinue") === true;
	const value = memberOf(call, "args");
	return [
		{
			id: idAt(call, "id"),
			name: idAt(call, "name"),
			input: isPiece ? { kind: "broken" } : { kind: "json", value },
			endsAnswer,
		},
	];
}

/** The ids by which calls and responses are paired, by content and part; `undefined` for all other parts. */
export function pairGeminiCalls(contents: readonly unknown[]): (string | undefined)[][] {
	return pairByPosition(contents.map(exchangesOf));
}

function exchangesOf(content: unknown): readonly (Exchange | undefined)[] {
	const parts: unknown = isJsonObject(content) ? content.parts : undefined;
	return Array.isArray(parts) ? (parts as unknown[]).map(exchangeOf) : [];
}

function exchangeOf(part: unknown): Exchange | undefined {
	if (!isJsonObject(part)) return undefined;
	const call = memberOf(part, "functionCall");
	if (isJsonObject(call)) return { kind: "call", name: stringAt(call, "name"), ownId: idAt(call, "id") };
	const response = memberOf(part, "functionResponse");
	if (!isJsonObject(response)) return undefined;
	return { kind: "result", name: stringAt(response, "name"), ownId: idAt(response, "id") };
}

/** A member in either spelling: `functionCall` or `function_call`. */
export function memberOf(object: JsonObject, key: string): unknown {
	if (Object.hasOwn(object, key)) return object[key] ?? undefined;
	const snake = key.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
	return Object.hasOwn(object, snake) ? (object[snake] ?? undefined) : undefined;
}

/** A part with the id by which a call and its response are paired. */
export interface GeminiPart {
	readonly part: JsonObject;
	readonly path: Path;
	readonly id: string | undefined;
}

/** Reads a part into the message that its content is. Thought signatures are no part of the prompt's text. */
export function readGeminiPart({ part, path, id }: GeminiPart, draft: MessageDraft): void {
	const call = memberOf(part, "functionCall");
	const response = memberOf(part, "functionResponse");
	const media = readGeminiMedia(part, path);
	const isSigned = Boolean(memberOf(part, "thoughtSignature"));
	// The API refuses a call that comes back without its signature, so a part that is more than a thought has to stay.
	if (isSigned && part.thought !== true) draft.thinking.push({ path, text: "", bound: true, fixed: true });
	if (isJsonObject(call)) {
		draft.calls.push({ id, name: stringAt(call, "name") });
		draft.counted.push(stringAt(call, "name") ?? "", asCountedText(memberOf(call, "args")));
	} else if (isJsonObject(response)) {
		const key = Object.hasOwn(part, "functionResponse") ? "functionResponse" : "function_response";
		readResponse(response, [...path, key], id, draft);
	} else if (media) {
		draft.mediaTokens += media.tokens;
	} else if (typeof part.text === "string") {
		draft.counted.push(part.text);
		if (part.thought === true) draft.thinking.push({ path, text: part.text, bound: isSigned });
	} else {
		const { thoughtSignature, thought_signature, ...rest } = part;
		if (Object.keys(rest).length > 0) draft.counted.push(asCountedText(rest));
	}
}

function readResponse(response: JsonObject, path: Path, callId: string | undefined, draft: MessageDraft): void {
	const value = Object.hasOwn(response, "response") ? response.response : undefined;
	const at = [...path, "response"];
	const parts = Array.isArray(response.parts) ? (response.parts as unknown[]) : [];
	const media = parts.flatMap((part, index) => {
		const node = isJsonObject(part) ? readGeminiMedia(part, [...path, "parts", index]) : undefined;
		return node ? [{ ...node, write: writeTextBlob }] : [];
	});
	const texts = parts.flatMap((part) => textOfBlob(part) ?? []);
	const inside = readWrappedValue(value, at, readInlineMedia);
	const isShortened = parts.length === 0 && isNoError(value);
	// What is left of it would be taken for an error where it loses the line that says that it is none.
	const whole = isShortened ? { path: at, write: (output: string) => ({ output }), only: true as const } : inside.whole;
	addResult(draft, {
		callId,
		texts: inside.texts,
		whole: parts.length === 0 ? whole : undefined,
		media: [...inside.media, ...media],
		copies: [],
		isError: (!isShortened && hasFailed(value)) || undefined,
		counted: [...inside.counted, ...texts],
	});
}

/** Characters that a host may put in front of what our hook tells it, such as "Tool result blocked: ". */
const longestLead = 60;

const noErrorNotices = Object.values(excerptWordings).map(({ noError }) => noError);

/**
 * Whether a response is a long output that our hook has shortened: Gemini CLI takes it as the text of an error only, and
 * its first line says that it is none.
 */
function isNoError(value: unknown): boolean {
	if (!isJsonObject(value) || onlyMember(value) !== "error" || typeof value.error !== "string") return false;
	const { error } = value;
	return noErrorNotices.some((notice) => {
		const at = error.slice(0, longestLead + notice.length).indexOf(notice);
		return at !== -1 && !error.slice(0, at).includes("\n") && error.startsWith("\n", at + notice.length);
	});
}

function hasFailed(value: unknown): boolean {
	if (!isJsonObject(value)) return false;
	const error = Object.hasOwn(value, "error") ? value.error : undefined;
	// An error of which nothing was left where it was cut is one all the same.
	return Boolean(error) || (error === "" && onlyMember(value) === "error") || [value, value.result].some(isMcpFailure);
}

function readGeminiMedia(part: JsonObject, path: Path): MediaNode | undefined {
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

/** Plain text as a part of a function's response, which takes no other text. */
function writeTextBlob(text: string) {
	return { inlineData: { mimeType: "text/plain", data: Buffer.from(text).toString("base64") } };
}

/** What `writeTextBlob` wrote, or others wrote so. */
function textOfBlob(part: unknown): string | undefined {
	const inline = isJsonObject(part) ? memberOf(part, "inlineData") : undefined;
	if (!isJsonObject(inline) || memberOf(inline, "mimeType") !== "text/plain") return undefined;
	const data = stringAt(inline, "data");
	return data === undefined ? undefined : Buffer.from(data, "base64").toString("utf8");
}
