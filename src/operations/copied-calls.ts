import { createHash } from "node:crypto";
import type { Message } from "../conversation/transcript.ts";
import type { ReadConversation } from "../formats/detect.ts";
import { objectOf, stringAt } from "../json-text/value.ts";

/** Answers of models with so many characters are not the same by chance. */
const fewCharacters = 200;

/**
 * Forks of a session begin with its history: of several conversations, in any order, each LLM call counts once. `add` returns
 * the message behind the last call that a conversation before it has; 0 for none. A call is known by the id of its answer, or
 * by all messages until then, and the model that the document names, where the record has no id.
 */
export function startCopiedCalls() {
	const known = new Set<string>();
	return {
		add({ document, transcript }: Pick<ReadConversation, "document" | "transcript">): number {
			const keys = keysOf(transcript.messages, stringAt(objectOf(document), "model"));
			const last = keys.findLastIndex((key) => key !== undefined && known.has(key));
			for (const key of keys) if (key !== undefined) known.add(key);
			return last + 1;
		},
	};
}

/** For each message, the key of the call that it answers; `undefined` for other messages, and for a beginning that may be chance. */
function keysOf(messages: readonly Message[], model = ""): (string | undefined)[] {
	let beginning = model;
	let characters = 0;
	return messages.map((message) => {
		const { role, counted, mediaTokens, calls, results, thinking, answerId } = message;
		const content = [
			role,
			counted,
			mediaTokens,
			calls.map(({ id }) => id),
			results.map(({ callId, texts }) => [callId, texts.map(({ text }) => text)]),
		];
		// Each beginning is hashed with the hash of the one before it, so that the time is linear.
		beginning = createHash("sha256").update(beginning).update(JSON.stringify(content)).digest("base64");
		if (role !== "assistant") return undefined;
		for (const text of counted) characters += text.length;
		if (calls.some(({ id }) => id !== undefined) || thinking.some(({ bound }) => bound)) characters += fewCharacters;
		return answerId ?? (characters < fewCharacters ? undefined : beginning);
	});
}
