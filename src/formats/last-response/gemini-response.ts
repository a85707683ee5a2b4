import { memberOf } from "../gemini/gemini-parts.ts";
import { idAt, isJsonObject, type JsonObject, stringAt } from "../json-values.ts";
import { isMalformedCall } from "./finish-reason.ts";
import { finishResponse, type GivenCall } from "./finish-response.ts";
import type { ResponseReader } from "./last-response.ts";
import { objectsOf } from "./response-members.ts";

/**
 * Gemini: an answer, or its first candidate. The API parses a call before it gives it, so that one with arguments is
 * whole, but for those that it streams in pieces; of a call that does not parse it gives nothing but the reason.
 */
export const geminiResponse: ResponseReader = {
	shape: "{candidates} or a candidate {finishReason, content} of Gemini",
	read(response) {
		const { candidates } = response;
		if (!Array.isArray(candidates)) return isContent(response.content) ? readCandidate(response) : undefined;
		// A prompt that was blocked has no candidate.
		const [candidate = {}] = candidates as readonly unknown[];
		return isJsonObject(candidate) ? readCandidate(candidate) : undefined;
	},
};

function isContent(content: unknown): boolean {
	return isJsonObject(content) && (Array.isArray(content.parts) || content.role === "model");
}

function readCandidate(candidate: JsonObject) {
	const reason = memberOf(candidate, "finishReason");
	const parts = isJsonObject(candidate.content) ? objectsOf(candidate.content.parts) : [];
	const texts = parts.flatMap((part) => (part.thought === true ? [] : (stringAt(part, "text") ?? [])));
	const calls = parts.flatMap((part, index) => readCall(part, index === parts.length - 1));
	const isLost = calls.length === 0 && isMalformedCall(reason);
	const lost: GivenCall = { id: undefined, name: undefined, input: { kind: "broken" }, endsAnswer: true };
	return finishResponse({ reason, texts, calls: isLost ? [lost] : calls });
}

function readCall(part: JsonObject, endsAnswer: boolean): GivenCall[] {
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
