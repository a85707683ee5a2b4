import { isJsonObject, type JsonObject } from "../conversation/json.ts";
import type { Transcript } from "../conversation/transcript.ts";
import { PalimpsestError } from "../errors.ts";
import type { LastResponse } from "./answer.ts";
import { anthropicMessages } from "./anthropic.ts";
import { bedrockConverse } from "./bedrock.ts";
import { claudeCode } from "./claude-code.ts";
import { codexRollout } from "./codex.ts";
import { copilotCli } from "./copilot-cli.ts";
import type { Fit, Format, LocatedMessages } from "./format.ts";
import { gemini } from "./gemini.ts";
import { inspect } from "./inspect.ts";
import { stringAt } from "./json-values.ts";
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
 * with a plainer format, or are records around one, come before it.
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

/** The request body of a conversation, which has its model, its tools and its system prompt beside the messages. */
export function requestBody(document: unknown): unknown {
	return isJsonObject(document) ? (findMessages(document)?.document ?? document) : document;
}

/** Where request bodies hold their conversation: most APIs, Gemini, OpenAI Responses. */
const messageKeys = ["messages", "contents", "input"];

/** Finds the list of messages in a document. */
export function locateMessages(document: unknown): LocatedMessages {
	if (Array.isArray(document)) return { document, base: [], messages: document };
	const found = isJsonObject(document) ? findMessages(document) : undefined;
	if (found) return found;
	const key = isJsonObject(document) ? messageKeys.find((name) => Object.hasOwn(document, name)) : undefined;
	const value = isJsonObject(document) && key !== undefined ? document[key] : document;
	const expected =
		key === undefined ? "a list of messages, or an object that holds one as `messages`" : `\`${key}\` to be a list`;
	// Callers of a library or an API easily pass the text of the JSON.
	const isText = typeof value === "string" && /^\s*[[{]/.test(value);
	throw new PalimpsestError(
		"not_a_conversation",
		`Expected ${expected}; got ${kindOf(value)}.${isText ? " Pass the JSON itself, not a text that holds it." : ""}`,
	);
}

/**
 * Finds the list of messages in an object: in a request body; in one that a log, a batch or a JSON-RPC call holds
 * (`request`, `body`, `params`); or under any other key, where it is the only list that begins with a message.
 * `undefined` where there is none, and where there are two of which neither is the likelier.
 */
function findMessages(document: JsonObject): LocatedMessages | undefined {
	const own = inBody(document, []);
	if (own) return own;
	const entries = Object.entries(document);
	const held = entries.flatMap(([key, value]) => (isJsonObject(value) ? (inBody(value, [key]) ?? []) : []));
	if (held.length > 0) return held.length === 1 ? held[0] : undefined;
	const lists = entries.flatMap(([key, value]) => (beginsWithMessage(value) ? [{ key, messages: value }] : []));
	const [only, ...others] = lists;
	return only && others.length === 0 ? { document, base: [only.key], messages: only.messages } : undefined;
}

function inBody(body: JsonObject, path: readonly string[]): LocatedMessages | undefined {
	for (const key of messageKeys) {
		const messages = Object.hasOwn(body, key) ? body[key] : undefined;
		if (Array.isArray(messages)) return { document: body, base: [...path, key], messages };
	}
	return undefined;
}

function beginsWithMessage(value: unknown): value is readonly unknown[] {
	return Array.isArray(value) && isJsonObject(value[0]) && stringAt(value[0], "role") !== undefined;
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

/** How many formats are explained in full; the others by name and the message at which they failed. */
const mostExplained = 3;

function explain({ messages }: LocatedMessages, probed: readonly { format: Format; fit: Fit }[]): string {
	// Of those that got equally far, the plainer formats come last and are the likelier meant.
	const failed = probed
		.toReversed()
		.flatMap(({ format, fit }) => (fit.fit === "none" ? [{ format, ...fit }] : []))
		.sort((a, b) => b.message - a.message);
	const nearest = failed
		.slice(0, mostExplained)
		.map(
			({ format, message, expected }) => `- ${format.looksFor}: message ${message} does not fit, expected ${expected}`,
		);
	const others = failed.slice(mostExplained).map(({ format, message }) => `${format.title} (message ${message})`);
	const several = messages.every((item) => Array.isArray(item) || (isJsonObject(item) && findMessages(item)));
	return [
		...(several ? ["Each item of the list holds a conversation of its own: pass them one at a time."] : []),
		`The ${messages.length} messages fit no format. Looked for:`,
		...nearest,
		`- and for ${others.join(", ")}.`,
		"Messages are numbered from 0.",
	].join("\n");
}

/** Readers of answers. The first shape that fits is taken, so stricter shapes come first. */
const answerReaders = [
	openaiResponses,
	gemini,
	bedrockConverse,
	anthropicMessages,
	mcpSampling,
	ollama,
	vercelModel,
	openaiChat,
].flatMap(({ answer }) => answer ?? []);

/**
 * Reads a provider's answer, whole or put together from its stream, found by shape: its text, its calls, and whether it
 * was cut (docs/specs/robustness.md#cut-answers). Where it does not say why it ended, `finishReason` is `other`.
 *
 * @throws PalimpsestError `invalid_argument` for anything else, naming the shapes that are read.
 */
export function readLastResponse(response: unknown): LastResponse {
	if (isJsonObject(response)) {
		// A copy of its own members: the AI SDK's results compute others, some of which throw.
		const own = { ...response };
		for (const reader of answerReaders) {
			const read = reader.read(own);
			if (read) return read;
		}
	}
	const got = isJsonObject(response) ? "an object of another shape" : kindOf(response);
	throw new PalimpsestError(
		"invalid_argument",
		`Expected \`last_response\` to be what the provider answered to the last call, whole or put together from its stream; got ${got}. Pass one of\n${answerReaders.map(({ shape }) => `- ${shape}`).join("\n")}`,
	);
}
