import type { LocatedMessages } from "./format.ts";
import { isJsonObject, type JsonObject, stringAt } from "./json-values.ts";

/** Where request bodies hold their conversation: most APIs, Gemini, OpenAI Responses. */
export const messageKeys = ["messages", "contents", "input"] as const;

/**
 * Finds the list of messages in an object: in a request body; in one that a log, a batch or a JSON-RPC call holds
 * (`request`, `body`, `params`); or under any other key, where it is the only list that begins with a message.
 * `undefined` where there is none, and where there are two of which neither is the likelier.
 */
export function findMessages(document: JsonObject): LocatedMessages | undefined {
	const own = inBody(document, []);
	if (own) return own;
	const held = Object.entries(document).flatMap(([key, value]) =>
		isJsonObject(value) ? (inBody(value, [key]) ?? []) : [],
	);
	if (held.length > 0) return held.length === 1 ? held[0] : undefined;
	const [only, ...others] = Object.entries(document).filter(([, value]) => beginsWithMessage(value));
	return only && others.length === 0 ? { document, base: [only[0]], messages: only[1] as unknown[] } : undefined;
}

/** The request body of a conversation: what holds its model, its tools and its system prompt beside the messages. */
export function requestBody(document: unknown): unknown {
	return isJsonObject(document) ? (findMessages(document)?.document ?? document) : document;
}

function inBody(body: JsonObject, path: readonly string[]): LocatedMessages | undefined {
	for (const key of messageKeys) {
		const messages = Object.hasOwn(body, key) ? body[key] : undefined;
		if (Array.isArray(messages)) return { document: body, base: [...path, key], messages };
	}
	return undefined;
}

function beginsWithMessage(value: unknown): boolean {
	if (!Array.isArray(value)) return false;
	const first: unknown = value[0];
	return isJsonObject(first) && stringAt(first, "role") !== undefined;
}
