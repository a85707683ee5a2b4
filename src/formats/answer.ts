import { isJsonObject, type JsonObject, parseJsonObject } from "../conversation/json.ts";
import { objectsOf, stringAt } from "./json-values.ts";

/** The answer of a provider to the last call of a conversation. */
export interface LastResponse {
	/** `length`: at the limit of tokens; `stop`: by itself. */
	readonly finishReason: FinishReason;
	/** The visible text, without reasoning. */
	readonly text: string;
	/** The calls that the caller has to answer, in order; not those that the provider ran. */
	readonly calls: readonly {
		readonly id: string | undefined;
		/** The tool's name, untrusted. */
		readonly name: string | undefined;
		/** Whether it has a name, and its arguments are a complete JSON object or the text of one. */
		readonly isUsable: boolean;
	}[];
}

type FinishReason = "length" | "stop" | "tool_calls" | "other";

export interface AnswerReader {
	readonly shape: string;
	/** `undefined` for an answer of another shape. Never throws. */
	readonly read: (response: JsonObject) => LastResponse | undefined;
}

interface GivenResponse {
	/** In the provider's words. */
	readonly reason: unknown;
	/** Providers split one text at citations. */
	readonly texts: readonly string[];
	readonly calls: readonly GivenCall[];
}

export interface GivenCall {
	readonly id: string | undefined;
	readonly name: string | undefined;
	readonly input: CallInput;
	/** Whether nothing follows it, so that the answer may have been cut inside it. */
	readonly endsAnswer: boolean;
}

/**
 * The arguments of a call. `json`: a completely parsed object, or the text of one. `parsed_partly`: an object made of the
 * received part, which may be all. `text`: free text. `broken`: known to be cut or to be no JSON.
 */
export type CallInput =
	| { readonly kind: "json" | "parsed_partly"; readonly value: unknown }
	| { readonly kind: "text" }
	| { readonly kind: "broken" };

/** Some providers give `stop` as the reason of an answer that calls tools. */
export function finishResponse({ reason, texts, calls }: GivenResponse): LastResponse {
	const kinds = ["length", "stop", "tool_calls"] as const;
	const known = kinds.find((kind) => finishReasons[kind].includes(plainName(reason))) ?? "other";
	const isCut = known === "length" || isMalformedCall(reason);
	return {
		finishReason: known === "stop" && calls.length > 0 ? "tool_calls" : known,
		// A cut may split a pair of surrogates, which an API refuses.
		text: withoutThinkTag(texts.join("")).toWellFormed(),
		calls: calls.map((call) => ({ id: call.id, name: call.name, isUsable: isUsable(call, isCut && call.endsAnswer) })),
	};
}

export function callsAmong(
	parts: readonly JsonObject[],
	read: (part: JsonObject) => Omit<GivenCall, "endsAnswer"> | undefined,
): GivenCall[] {
	return parts.flatMap((part, index) => {
		const call = read(part);
		return call ? [{ ...call, endsAnswer: index === parts.length - 1 }] : [];
	});
}

function isUsable({ name, input }: GivenCall, mayBeCut: boolean): boolean {
	if (name === undefined || input.kind === "broken") return false;
	if (input.kind === "text") return !mayBeCut;
	const { value } = input;
	// A tool without parameters is called without arguments; so is any other if the cut came before them.
	if (value === undefined || value === null || (typeof value === "string" && value.trim() === "")) return !mayBeCut;
	// Callers and providers replace arguments that they cannot parse by an empty object.
	const isEmpty = isJsonObject(value) && Object.keys(value).length === 0;
	if (mayBeCut && (input.kind === "parsed_partly" || isEmpty)) return false;
	return typeof value === "string" ? parseJsonObject(value) !== undefined : isJsonObject(value);
}

/** Without case and separators, since `MAX_TOKENS`, `max_tokens` and `maxTokens` all occur. */
const finishReasons: Readonly<Record<Exclude<FinishReason, "other">, readonly string[]>> = {
	length: ["length", "maxtokens", "maxoutputtokens", "modellength", "modelcontextwindowexceeded"],
	stop: ["stop", "endturn", "stopsequence", "complete", "completed"],
	tool_calls: ["toolcalls", "toolcall", "tooluse", "functioncall"],
};

/** Whether the last call could not be parsed, in the words of Gemini and Bedrock. */
export function isMalformedCall(reason: unknown): boolean {
	return ["malformedfunctioncall", "malformedtooluse"].includes(plainName(reason));
}

function plainName(reason: unknown): string {
	return typeof reason === "string" ? reason.replace(/[_-]/g, "").toLowerCase() : "";
}

/** A text without the reasoning at its start, which DeepSeek and Qwen write if the endpoint does not separate it. */
export function withoutThinkTag(text: string): string {
	if (!text.trimStart().startsWith("<think>")) return text;
	const [, ...after] = text.split("</think>");
	return after.join("</think>").trimStart();
}

export function textsOf(content: unknown): string[] {
	if (typeof content === "string") return [content];
	return objectsOf(content).flatMap((part) => (part.type === "text" ? (stringAt(part, "text") ?? []) : []));
}
