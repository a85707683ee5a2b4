import type { Role } from "../../engine/transcript.ts";
import { finishResponse, type GivenCall, isMalformedCall, type LastResponse, objectsOf } from "../answer.ts";
import type { Fit, Format, LocatedMessages } from "../format.ts";
import { asCountedText, idAt, isJsonObject, type JsonObject, stringAt } from "../json-values.ts";
import { finishMessage, startMessage } from "../message-draft.ts";
import { readSurroundings } from "../surroundings.ts";
import { pairGeminiCalls } from "./gemini-pairing.ts";
import { memberOf, partKeys, readGeminiPart } from "./gemini-parts.ts";

const roles: Readonly<Record<string, Role>> = {
	user: "user",
	model: "assistant",
	function: "tool",
	system: "system",
};

const surroundingKeys = ["systemInstruction", "system_instruction", "tools"];

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
