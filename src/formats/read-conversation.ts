import type { Transcript } from "../engine/transcript.ts";
import { PalimpsestError } from "../errors.ts";
import { anthropicMessages } from "./anthropic-messages.ts";
import type { Fit, Format, LocatedMessages } from "./format.ts";
import { isJsonObject } from "./json-values.ts";
import { openaiChat } from "./openai-chat.ts";

/**
 * Every format. Where several fit a conversation equally well the first one is taken, so those that share their shape
 * with a plainer format, or are records around one, stand before it.
 */
export const formats: readonly Format[] = [openaiChat, anthropicMessages];

/** A conversation with its format. */
export interface ReadConversation {
	readonly format: Format;
	readonly document: unknown;
	readonly located: LocatedMessages;
	readonly transcript: Transcript;
}

/**
 * Reads a conversation: a bare list of messages, a request body, or any object that holds `messages`. The format is
 * found by shape.
 *
 * @throws PalimpsestError `not_a_conversation`, naming what was looked for and at which message it failed.
 */
export function readConversation(document: unknown): ReadConversation {
	const located = locateMessages(document);
	const format = detectFormat(located);
	return { format, document, located, transcript: format.read(located) };
}

/** Where request bodies hold their conversation: most APIs, Gemini, OpenAI Responses. */
const messageKeys = ["messages", "contents", "input"] as const;

/** Finds the list of messages in a document. */
export function locateMessages(document: unknown): LocatedMessages {
	if (Array.isArray(document)) return { document, base: [], messages: document };
	if (isJsonObject(document)) {
		for (const key of messageKeys) {
			const messages = Object.hasOwn(document, key) ? document[key] : undefined;
			if (Array.isArray(messages)) return { document, base: [key], messages };
		}
	}
	if (isJsonObject(document) && Object.hasOwn(document, "messages")) {
		throw new PalimpsestError(
			"not_a_conversation",
			`Expected \`messages\` to be a list; got ${kindOf(document.messages)}.`,
		);
	}
	throw new PalimpsestError(
		"not_a_conversation",
		`Expected a list of messages, or an object that holds one as \`messages\`; got ${kindOf(document)}.`,
	);
}

function kindOf(value: unknown): string {
	if (value === null) return "null";
	if (Array.isArray(value)) return "a list";
	return typeof value === "object" ? "an object without `messages`" : `a ${typeof value}`;
}

const strength = { certain: 3, likely: 2, possible: 1, none: 0 } as const;

function detectFormat(located: LocatedMessages): Format {
	const probed = formats.map((format) => ({ format, fit: format.probe(located) }));
	const best = probed.reduce((winner, one) => (strength[one.fit.fit] > strength[winner.fit.fit] ? one : winner));
	if (best.fit.fit !== "none") return best.format;
	throw new PalimpsestError("not_a_conversation", explain(located, probed));
}

function explain(located: LocatedMessages, probed: readonly { format: Format; fit: Fit }[]): string {
	const lines = probed.flatMap(({ format, fit }) =>
		fit.fit === "none"
			? [
					`- ${format.looksFor}: message ${fit.message} of ${located.messages.length} does not fit, expected ${fit.expected}`,
				]
			: [],
	);
	return `The ${located.messages.length} messages fit no format. Looked for:\n${lines.join("\n")}\nMessages are numbered from 0.`;
}
