import type { Path } from "../../engine/path.ts";
import type { MediaNode } from "../../engine/transcript.ts";
import { excerptWordings } from "../../policy/wordings.ts";
import { asCountedText, isJsonObject, type JsonObject, stringAt } from "../json-values.ts";
import { isMcpFailure } from "../mcp-result.ts";
import { readInlineMedia } from "../media/inline-media.ts";
import { readMedia } from "../media/read-media.ts";
import { addResult, type MessageDraft } from "../message-draft.ts";
import { onlyMember } from "../wrapped-text.ts";
import { readWrappedValue } from "../wrapped-value.ts";

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
