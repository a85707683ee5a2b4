import type { JsonObject } from "../conversation/json.ts";
import { listOf, objectOf } from "../formats/json-values.ts";

/** A message as opencode 2.x hands it to a provider. Source: `LLM.Message` of `@opencode/ai` 2.0. */
export interface ModelMessage {
	readonly role: string;
	readonly content: readonly JsonObject[];
}

/** The messages in the shape of the AI SDK, part for part: only the names of the members differ. */
export function readableMessages(messages: readonly ModelMessage[]): JsonObject[] {
	return messages.map(({ role, content }) => ({ role, content: content.map(readablePart) }));
}

function readablePart(part: JsonObject): JsonObject {
	const { type, id: toolCallId, name: toolName } = part;
	if (type === "tool-call") return { type, toolCallId, toolName, input: part.input };
	if (type === "tool-result") {
		const { type: kind, value } = objectOf(part.result);
		const isError = kind === "error";
		const ofError = typeof value === "string" ? "error-text" : "error-json";
		return { type, toolCallId, toolName, output: { type: isError ? ofError : kind, value } };
	}
	if (type === "text" || type === "reasoning") return { type, text: part.text };
	// Media and what is not known here.
	return { type: "text", text: "" };
}

/** The messages with the results that were edited in their readable shape. The others are the very same objects. */
export function withEdits(messages: readonly ModelMessage[], edited: readonly JsonObject[]): readonly ModelMessage[] {
	return messages.map((message, index) => {
		const parts = listOf(edited[index]?.content).map(objectOf);
		const content = message.content.map((part, at) => {
			if (part.type !== "tool-result") return part;
			const result = objectOf(part.result);
			const { value } = objectOf(parts[at]?.output);
			return value === result.value ? part : { ...part, result: { ...result, value } };
		});
		if (content.every((part, at) => part === message.content[at])) return message;
		// An instance of a class, whose methods stay.
		return Object.assign(Object.create(Object.getPrototypeOf(message)), message, { content });
	});
}
