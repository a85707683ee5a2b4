import { isJsonObject, type JsonObject } from "../conversation/json.ts";
import { stringAt } from "./json-values.ts";

/** What a provider answered to the last call of a conversation, as far as it came. */
export interface LastResponse {
	/** Why the model stopped: `length` at the limit of tokens, `stop` by itself, `tool_calls` to have tools called, `other`. */
	readonly finishReason: FinishReason;
	/** The visible text so far; reasoning is no part of it. */
	readonly text: string;
	/** The calls that the caller is to answer, in order; those that the provider ran itself are none of them. */
	readonly calls: readonly AnsweredCall[];
}

/** A call of a tool in an answer. */
export interface AnsweredCall {
	/** `undefined` where it has none or one that is no text. */
	readonly id: string | undefined;
	/** The tool's name, untrusted; `undefined` where it has none. */
	readonly name: string | undefined;
	/** Whether its arguments are whole: a JSON object, or the text of one. A call without a name is never usable. */
	readonly isUsable: boolean;
}

/** Reads the answers of one API. */
export interface AnswerReader {
	/** The shape and whose it is, for error messages. */
	readonly shape: string;
	/** What was answered, or `undefined` where it has another shape. Never throws. */
	readonly read: (response: JsonObject) => LastResponse | undefined;
}

/** What was found in an answer. */
export interface GivenResponse {
	/** Why the model stopped, in the provider's words. */
	readonly reason: unknown;
	/** The parts of the visible text; providers split one text at citations and the like. */
	readonly texts: readonly string[];
	readonly calls: readonly GivenCall[];
}

/** A call as it was given. */
export interface GivenCall {
	readonly id: string | undefined;
	readonly name: string | undefined;
	readonly input: CallInput;
	/** Whether nothing came after it, so that the cut, where there was one, may have gone through it. */
	readonly endsAnswer: boolean;
}

/**
 * The arguments of a call. `json`: an object that was parsed as a whole, or the text of one. `parsed_partly`: an object
 * made of what came, whether that was all or not. `text`: free text, or whatever a tool of the provider's takes.
 * `broken`: known to be cut or to be no JSON.
 */
export type CallInput =
	| { readonly kind: "json" | "parsed_partly"; readonly value: unknown }
	| { readonly kind: "text" }
	| { readonly kind: "broken" };

/** Puts together what was found. A provider may say that a model stopped by itself where it called tools. */
export function finishResponse({ reason, texts, calls }: GivenResponse): LastResponse {
	const known = readFinishReason(reason);
	const isCut = known === "length" || isMalformedCall(reason);
	return {
		finishReason: known === "stop" && calls.length > 0 ? "tool_calls" : known,
		// A cut may go through a character, and an API refuses half a one.
		text: withoutThinkTag(texts.join("")).toWellFormed(),
		calls: calls.map((call) => ({ id: call.id, name: call.name, isUsable: isUsable(call, isCut && call.endsAnswer) })),
	};
}

function isUsable({ name, input }: GivenCall, mayBeCut: boolean): boolean {
	if (name === undefined || input.kind === "broken") return false;
	if (input.kind === "text") return !mayBeCut;
	const { value } = input;
	// A tool that takes no arguments is called with none; so is any other where the cut came before them.
	if (value === undefined || value === null || (typeof value === "string" && value.trim() === "")) return !mayBeCut;
	if (mayBeCut && (input.kind === "parsed_partly" || isEmpty(value))) return false;
	return typeof value === "string" ? isTextOfObject(value) : isJsonObject(value);
}

/** What callers and providers make of arguments that they cannot parse. */
function isEmpty(value: unknown): boolean {
	return isJsonObject(value) && Object.keys(value).length === 0;
}

function isTextOfObject(text: string): boolean {
	try {
		return isJsonObject(JSON.parse(text));
	} catch {
		return false;
	}
}

/** Why a model stopped, whatever a provider calls it. */
export type FinishReason = "length" | "stop" | "tool_calls" | "other";

/**
 * What providers and gateways call it, without case and separators, since `MAX_TOKENS`, `max_tokens` and `maxTokens` all
 * occur. A full context window cuts an answer as its own limit does.
 */
const names: Readonly<Record<string, FinishReason>> = {
	length: "length",
	maxtokens: "length",
	maxoutputtokens: "length",
	// Mistral: the context window of the model.
	modellength: "length",
	// Anthropic, Bedrock.
	modelcontextwindowexceeded: "length",
	stop: "stop",
	endturn: "stop",
	stopsequence: "stop",
	// Cohere.
	complete: "stop",
	// OpenAI Responses.
	completed: "stop",
	toolcalls: "tool_calls",
	toolcall: "tool_calls",
	tooluse: "tool_calls",
	functioncall: "tool_calls",
};

/** Reads a finish reason; `other` where there is none or none of those known. */
export function readFinishReason(reason: unknown): FinishReason {
	const name = plainName(reason);
	return (Object.hasOwn(names, name) && names[name]) || "other";
}

/** Gemini's and Bedrock's words for an answer whose last call could not be parsed. */
const malformed = new Set(["malformedfunctioncall", "malformedtooluse"]);

/** Whether the model stopped since its last call could not be parsed. */
export function isMalformedCall(reason: unknown): boolean {
	return malformed.has(plainName(reason));
}

function plainName(reason: unknown): string {
	return typeof reason === "string" ? reason.replace(/[_-]/g, "").toLowerCase() : "";
}

const opening = "<think>";
const closing = "</think>";

/**
 * A text without the reasoning that it opens with, as DeepSeek and Qwen write it where the endpoint does not split it
 * off. Reasoning that was cut takes the rest of the text.
 */
export function withoutThinkTag(text: string): string {
	if (!text.trimStart().startsWith(opening)) return text;
	const end = text.indexOf(closing);
	return end === -1 ? "" : text.slice(end + closing.length).trimStart();
}

/** The member at the first of several keys that the object has of its own: SDKs differ in how they spell one. */
export function memberAt(object: JsonObject, ...keys: readonly string[]): unknown {
	const key = keys.find((one) => Object.hasOwn(object, one));
	return key === undefined ? undefined : object[key];
}

/** Whether an object has a member of its own at one of the keys. */
export function hasMember(object: JsonObject, ...keys: readonly string[]): boolean {
	return keys.some((key) => Object.hasOwn(object, key));
}

/** The objects of a list; none where it is no list. */
export function objectsOf(list: unknown): readonly JsonObject[] {
	return Array.isArray(list) ? list.filter(isJsonObject) : [];
}

/** A content of text: a string, or what stands in its parts of type `text`. */
export function textsOf(content: unknown): string[] {
	if (typeof content === "string") return [content];
	return objectsOf(content).flatMap((part) => (part.type === "text" ? (stringAt(part, "text") ?? []) : []));
}
