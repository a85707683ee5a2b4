import { isJsonObject } from "../conversation/json.ts";
import type { Transcript } from "../conversation/transcript.ts";
import { PalimpsestError } from "../errors.ts";
import { anthropicMessages } from "./anthropic.ts";
import { bedrockConverse } from "./bedrock.ts";
import { claudeCode } from "./claude-code.ts";
import { codexRollout } from "./codex.ts";
import { copilotCli } from "./copilot-cli.ts";
import { type Fit, type Format, findMessages, type LocatedMessages, messageKeys } from "./format.ts";
import { gemini } from "./gemini.ts";
import { inspect } from "./inspect.ts";
import { kimiContext } from "./kimi-context.ts";
import { mcpSampling } from "./mcp-sampling.ts";
import { ollama } from "./ollama.ts";
import { openaiChat } from "./openai-chat.ts";
import { openaiResponses } from "./openai-responses.ts";
import { opencode } from "./opencode.ts";
import { pi } from "./pi.ts";
import { tau2 } from "./tau2.ts";
import { vercelModel } from "./vercel-model.ts";
import { vercelUi } from "./vercel-ui.ts";

/**
 * Every format. Where several fit a conversation equally well the first one is taken, so those that share their shape
 * with a plainer format, or are records around one, stand before it.
 */
export const formats: readonly Format[] = [
	claudeCode,
	codexRollout,
	pi,
	opencode,
	kimiContext,
	copilotCli,
	tau2,
	inspect,
	mcpSampling,
	vercelUi,
	vercelModel,
	openaiResponses,
	gemini,
	bedrockConverse,
	ollama,
	openaiChat,
	anthropicMessages,
];

/** A conversation with its format. */
export interface ReadConversation {
	readonly format: Format;
	readonly document: unknown;
	readonly located: LocatedMessages;
	readonly transcript: Transcript;
}

/**
 * Reads a conversation: a bare list of messages, a request body, or any object that holds one. The format is
 * found by shape.
 *
 * @throws PalimpsestError `not_a_conversation`, naming what was looked for and at which message it failed.
 */
export function readConversation(document: unknown): ReadConversation {
	const located = locateMessages(document);
	const format = detectFormat(located);
	return { format, document, located, transcript: format.read(located) };
}

/** Finds the list of messages in a document. */
export function locateMessages(document: unknown): LocatedMessages {
	if (Array.isArray(document)) return { document, base: [], messages: document };
	const found = isJsonObject(document) ? findMessages(document) : undefined;
	if (found) return found;
	const key = isJsonObject(document) ? messageKeys.find((name) => Object.hasOwn(document, name)) : undefined;
	if (isJsonObject(document) && key !== undefined) {
		throw new PalimpsestError(
			"not_a_conversation",
			`Expected \`${key}\` to be a list; got ${kindOf(document[key])}.${hintFor(document[key])}`,
		);
	}
	throw new PalimpsestError(
		"not_a_conversation",
		`Expected a list of messages, or an object that holds one as \`messages\`; got ${kindOf(document)}.${hintFor(document)}`,
	);
}

/** The JSON of a conversation as a text is what a caller of a library or an API easily passes. */
function hintFor(value: unknown): string {
	return typeof value === "string" && /^\s*[[{]/.test(value) ? " Pass the JSON itself, not a text that holds it." : "";
}

function kindOf(value: unknown): string {
	if (value === null) return "null";
	if (value === undefined) return "nothing";
	if (Array.isArray(value)) return "a list";
	if (!isJsonObject(value)) return `a ${typeof value}`;
	return Object.hasOwn(value, "role") ? "one message, which is to stand in a list" : "an object without `messages`";
}

const strength = { certain: 3, likely: 2, possible: 1, none: 0 } as const;

function detectFormat(located: LocatedMessages): Format {
	const probed = formats.map((format) => ({ format, fit: format.probe(located) }));
	const best = probed.reduce((winner, one) => (strength[one.fit.fit] > strength[winner.fit.fit] ? one : winner));
	if (best.fit.fit !== "none") return best.format;
	throw new PalimpsestError("not_a_conversation", explain(located, probed));
}

/** How many formats are told of in full; the others by name and the message at which they failed. */
const toldInFull = 3;

function explain(located: LocatedMessages, probed: readonly { format: Format; fit: Fit }[]): string {
	// Of those that got equally far, the plainer formats stand behind and are the likelier meant.
	const failed = probed
		.toReversed()
		.flatMap(({ format, fit }) => (fit.fit === "none" ? [{ format, ...fit }] : []))
		.sort((a, b) => b.message - a.message);
	const nearest = failed
		.slice(0, toldInFull)
		.map(
			({ format, message, expected }) => `- ${format.looksFor}: message ${message} does not fit, expected ${expected}`,
		);
	const others = failed.slice(toldInFull).map(({ format, message }) => `${format.title} (message ${message})`);
	const several = located.messages.every((item) => Array.isArray(item) || (isJsonObject(item) && findMessages(item)));
	return [
		...(several ? ["Each item of the list holds a conversation of its own: pass them one at a time."] : []),
		`The ${located.messages.length} messages fit no format. Looked for:`,
		...nearest,
		...(others.length > 0 ? [`- and for ${others.join(", ")}.`] : []),
		"Messages are numbered from 0.",
	].join("\n");
}
