import { isJsonObject, type JsonObject } from "../conversation/json.ts";
import { objectsOf, stringAt } from "./json-values.ts";

/** What a provider answered to the last call of a conversation, as far as it came. */
export interface LastResponse {
	/** Why the model stopped: `length` at the limit of tokens, `stop` by itself, `tool_calls` to have tools called. */
	readonly finishReason: FinishReason;
	/** The visible text so far, without reasoning. */
	readonly text: string;
	/** The calls that the caller is to answer, in order; not those that the provider ran itself. */
	readonly calls: readonly AnsweredCall[];
}

type FinishReason = "length" | "stop" | "tool_calls" | "other";

interface AnsweredCall {
	readonly id: string | undefined;
	/** The tool's name, untrusted. */
	readonly name: string | undefined;
	/** Whether its arguments are whole: a JSON object, or the text of one. A call without a name is never usable. */
	readonly isUsable: boolean;
}

export interface AnswerReader {
	/** The shape and its API, for error messages. */
	readonly shape: string;
	/** The answer, or `undefined` where it has another shape. Never throws. */
	readonly read: (response: JsonObject) => LastResponse | undefined;
}

interface GivenResponse {
	/** Why the model stopped, in the provider's words. */
	readonly reason: unknown;
	/** The parts of the visible text; providers split one text at citations and the like. */
	readonly texts: readonly string[];
	readonly calls: readonly GivenCall[];
}

export interface GivenCall {
	readonly id: string | undefined;
	readonly name: string | undefined;
	readonly input: CallInput;
	/** Whether nothing came after it, so that a cut of the answer may have gone through it. */
	readonly endsAnswer: boolean;
}

/**
 * The arguments of a call. `json`: an object that was parsed as a whole, or the text of one. `parsed_partly`: an object
 * made of the part that came, which may be all. `text`: free text, or the input of a tool of the provider's. `broken`:
 * known to be cut or to be no JSON.
 */
export type CallInput =
	| { readonly kind: "json" | "parsed_partly"; readonly value: unknown }
	| { readonly kind: "text" }
	| { readonly kind: "broken" };

/** Makes an answer of its parts. A provider may say that a model stopped by itself where it called tools. */
export function finishResponse({ reason, texts, calls }: GivenResponse): LastResponse {
	const kinds = ["length", "stop", "tool_calls"] as const;
	const known = kinds.find((kind) => finishReasons[kind].includes(plainName(reason))) ?? "other";
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
	// Callers and providers make an empty object of arguments that they cannot parse.
	const isEmpty = isJsonObject(value) && Object.keys(value).length === 0;
	if (mayBeCut && (input.kind === "parsed_partly" || isEmpty)) return false;
	return typeof value === "string" ? isTextOfObject(value) : isJsonObject(value);
}

function isTextOfObject(text: string): boolean {
	try {
		return isJsonObject(JSON.parse(text));
	} catch {
		return false;
	}
}

/**
 * The finish reasons of providers and gateways, without case and separators, since `MAX_TOKENS`, `max_tokens` and
 * `maxTokens` all occur. A full context window cuts an answer as its own limit does.
 */
const finishReasons: Readonly<Record<Exclude<FinishReason, "other">, readonly string[]>> = {
	length: ["length", "maxtokens", "maxoutputtokens", "modellength", "modelcontextwindowexceeded"],
	stop: ["stop", "endturn", "stopsequence", "complete", "completed"],
	tool_calls: ["toolcalls", "toolcall", "tooluse", "functioncall"],
};

/** Whether the model stopped since its last call could not be parsed, in the words of Gemini and Bedrock. */
export function isMalformedCall(reason: unknown): boolean {
	return ["malformedfunctioncall", "malformedtooluse"].includes(plainName(reason));
}

function plainName(reason: unknown): string {
	return typeof reason === "string" ? reason.replace(/[_-]/g, "").toLowerCase() : "";
}

/**
 * A text without the reasoning that it opens with, as DeepSeek and Qwen write it where the endpoint does not split it
 * off. Reasoning that was cut takes the rest of the text.
 */
export function withoutThinkTag(text: string): string {
	if (!text.trimStart().startsWith("<think>")) return text;
	const [, ...after] = text.split("</think>");
	return after.join("</think>").trimStart();
}

/** The texts of a content: a string, or its parts of type `text`. */
export function textsOf(content: unknown): string[] {
	if (typeof content === "string") return [content];
	return objectsOf(content).flatMap((part) => (part.type === "text" ? (stringAt(part, "text") ?? []) : []));
}
