import { isJsonObject } from "../json-values.ts";
import { isMalformedCall, readFinishReason } from "./finish-reason.ts";
import type { LastResponse } from "./last-response.ts";
import { withoutThinkTag } from "./think-tag.ts";

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
