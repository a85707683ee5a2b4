import { isJsonObject, type JsonObject } from "../engine/conversation/json.ts";
import { jsonPointer, type Path, startsWith } from "../engine/conversation/paths.ts";
import type { Policy } from "../engine/policy/schema.ts";
import { PalimpsestError, UnsupportedShapeError } from "../errors.ts";
import { agentFramework, genkit, llamaIndex } from "./agent-frameworks.ts";
import { amp } from "./amp.ts";
import type { LastResponse } from "./answer.ts";
import { anthropicMessages, managedAgents, mcpSampling } from "./anthropic.ts";
import { bedrockConverse } from "./bedrock.ts";
import { claudeCode } from "./claude-code.ts";
import { clineUi } from "./cline-ui.ts";
import { codexRollout } from "./codex.ts";
import { copilotCli } from "./copilot-cli.ts";
import { inspect, tau2 } from "./evaluation-logs.ts";
import { droidStream, geminiStream } from "./event-streams.ts";
import { type Explained, explainedBy } from "./explained.ts";
import { foreignShape, foreignShapeIn, isSpans } from "./foreign.ts";
import type { Fit, Format, LocatedMessages } from "./format.ts";
import { langchain, openaiAgents, pydanticAi } from "./frameworks.ts";
import { gemini } from "./gemini.ts";
import { geminiCli } from "./gemini-cli.ts";
import { goose } from "./goose.ts";
import { listOf, membersOf, stringAt } from "./json-text/value.ts";
import { kimiCode } from "./kimi-code.ts";
import { isStoredRow, mastra } from "./mastra.ts";
import { observingReader } from "./observations.ts";
import { kimiContext, ollama, openaiChat } from "./openai-chat.ts";
import { openaiResponses } from "./openai-responses.ts";
import { opencode } from "./opencode.ts";
import { openhands } from "./openhands.ts";
import { otelGenai } from "./otel-genai.ts";
import { pi } from "./pi.ts";
import { qwenCode } from "./qwen-code.ts";
import { atif, browserUse, sweAgent } from "./trajectories.ts";
import { countingUnknown, fitAroundUnknown } from "./unknown-items.ts";
import { vercelModel } from "./vercel-model.ts";
import { vercelUi } from "./vercel-ui.ts";
import { vscodeChat } from "./vscode-chat.ts";
import { adk, convexAgent, droid } from "./wrapped.ts";

/** Every format. Of several that fit equally well the first one is taken, so plainer formats come last. */
export const formats: readonly Format[] = [
	claudeCode,
	qwenCode,
	codexRollout,
	droid,
	pi,
	opencode,
	kimiCode,
	kimiContext,
	copilotCli,
	managedAgents,
	openhands,
	clineUi,
	geminiCli,
	geminiStream,
	droidStream,
	vscodeChat,
	browserUse,
	sweAgent,
	atif,
	goose,
	adk,
	convexAgent,
	amp,
	llamaIndex,
	agentFramework,
	genkit,
	pydanticAi,
	openaiAgents,
	langchain,
	tau2,
	inspect,
	mcpSampling,
	mastra,
	otelGenai,
	vercelUi,
	vercelModel,
	openaiResponses,
	gemini,
	bedrockConverse,
	ollama,
	openaiChat,
	anthropicMessages,
];

export type ReadConversation = Readonly<ReturnType<typeof readConversation>>;

/**
 * Reads a list of messages or an object that holds one. Observations of text protocols are results as the policy says:
 * `auto` if no other result comes before the first one, which no later message changes. Throws `not_a_conversation`
 * with the expected shapes. Given their names, only some formats are tried; `isNamed` if the caller knows that it is the first
 * of them, also where nothing shows it yet. A document that is `isEdited` may have lost most of the text that shows its format.
 */
export function readConversation(
	document: unknown,
	observations: Policy["mask"]["observations"] = "auto",
	how: {
		readonly names?: readonly string[] | undefined;
		readonly isNamed?: boolean | undefined;
		readonly isEdited?: boolean;
	} = {},
) {
	if (isSpans(document)) {
		throw new PalimpsestError(
			"not_a_conversation",
			`Expected messages; got spans of OpenTelemetry, which hold them as a text of JSON. Take those of the last call out first: jq -cs '[.. | objects | .["gen_ai.input.messages"]?, (select(.key? == "gen_ai.input.messages") | .value.stringValue?) | strings] | last | fromjson' FILE > messages.json.`,
		);
	}
	const { names, isNamed = false, isEdited = false } = how;
	const located = locateMessages(document);
	const tried = names ? formats.filter(({ name }) => names.includes(name)) : formats;
	const format = detectFormat(located, tried, isNamed ? tried[0] : undefined);
	const transcript = format.read(located);
	// A caller that names formats names the API that takes the conversation.
	if (!names && !isEdited) checkExplained(format, explainedBy(transcript, located));
	const observing = observingReader(format, transcript, { located, observations });
	return observing ? { document, located, ...observing } : { format, document, located, transcript };
}

/** The request body of a conversation, with its model, tools and system prompt. */
export function requestBody(document: unknown): unknown {
	if (!isJsonObject(document)) return document;
	const [only, ...others] = conversationsIn(document);
	return only && others.length === 0 ? only.located.document : document;
}

/** Keys of the conversation in most APIs, Gemini, OpenAI Responses, run states of the OpenAI Agents SDK, and OpenTelemetry. */
const messageKeys = [
	"messages",
	"contents",
	"input",
	"generatedItems",
	"generated_items",
	"gen_ai.input.messages",
	"pydantic_ai.all_messages",
];

export function locateMessages(document: unknown): LocatedMessages {
	const [only, ...others] = Array.isArray(document) ? document : [];
	// The list holds one conversation, not messages.
	const inside = others.length === 0 && isJsonObject(only) && !isMessage(only) ? findMessages(only) : undefined;
	if (inside) return { ...inside, base: [0, ...inside.base] };
	if (Array.isArray(document)) return { document, base: [], messages: document };
	const found = conversationsIn(document);
	const [first] = found;
	if (first && found.length === 1) return first.located;
	const foreign = foreignShapeIn(document);
	if (foreign !== undefined) throw new UnsupportedShapeError(foreign);
	if (first) throw new PalimpsestError("not_a_conversation", tellSeveral(found));
	const key = isJsonObject(document) ? messageKeys.find((name) => Object.hasOwn(document, name)) : undefined;
	const value = isJsonObject(document) && key !== undefined ? document[key] : document;
	const expected =
		key === undefined ? "a list of messages, or an object that holds one as `messages`" : `\`${key}\` to be a list`;
	// Callers often pass the text of the JSON.
	const isText = typeof value === "string" && /^\s*[[{]/.test(value);
	throw new PalimpsestError(
		"not_a_conversation",
		`Expected ${expected}; got ${kindOf(value)}.${isText ? " Pass the JSON itself, not a text that holds it." : ""}`,
	);
}

/** The conversation of a document, or all of several. */
function conversationsIn(document: unknown): readonly HeldConversation[] {
	const found = isJsonObject(document) ? findMessages(document) : undefined;
	if (!found) return heldConversations(document);
	const isOfRecords = found.base.length > 1 && listKeys.some((key) => key === found.base.at(-1));
	// A list of steps deep in a log may be about something else: conversations outside it come first.
	const held = isOfRecords && !beginsWithMessage(found.messages) ? heldConversations(document) : [];
	const beside = held.filter(({ place }) => !startsWith(place, found.base));
	return beside.length > 0 ? beside : [{ place: found.base, located: found }];
}

/** Keys under which programs keep lists of records, which need no `role`. */
const listKeys = [
	"events",
	"loglines",
	"history",
	"trajectory",
	"steps",
	"requests",
	"data",
	"items",
	"new_items",
	"newItems",
	"page",
];

/** Objects are searched to this depth. */
const deepestBody = 3;

/** Finds a request body, even inside a log, batch or JSON-RPC call; else the only list that begins with a message. */
function findMessages(document: JsonObject, depth = 1): LocatedMessages | undefined {
	const own = inBody(document, []);
	if (own) return own;
	const entries = Object.entries(document);
	const held = entries.flatMap(([key, value]) => (isJsonObject(value) ? (inBody(value, [key]) ?? []) : []));
	if (held.length > 0) return held.length === 1 ? held[0] : undefined;
	if (entries.some(([, value]) => beginsWithMessage(value))) return inBodyOfMessages(document);
	const list = inRecord(document);
	if (list) return list;
	if (depth === deepestBody) return undefined;
	const [deeper, ...more] = entries.flatMap(([name, value]) => {
		const found = isJsonObject(value) ? findMessages(value, depth + 1) : undefined;
		return found ? [{ ...found, base: [name, ...found.base] }] : [];
	});
	return more.length === 0 ? deeper : undefined;
}

/** Tracing programs put the messages of a call into a list of their own. */
function inBody(body: JsonObject, path: readonly string[]): LocatedMessages | undefined {
	const key = messageKeys.find((name) => Object.hasOwn(body, name) && Array.isArray(body[name]));
	if (key === undefined) return undefined;
	const messages = listOf(body[key]);
	const isNested = messages.length === 1 && Array.isArray(messages[0]);
	return isNested
		? { document: body, base: [...path, key, 0], messages: listOf(messages[0]) }
		: { document: body, base: [...path, key], messages };
}

function inRecord(document: JsonObject): LocatedMessages | undefined {
	const key = listKeys.find((name) => Object.hasOwn(document, name) && Array.isArray(document[name]));
	return key === undefined ? undefined : { document, base: [key], messages: listOf(document[key]) };
}

interface HeldConversation {
	readonly place: Path;
	readonly located: LocatedMessages;
}

/** The conversations in lists and objects of conversations, such as the `conversations` of an export. */
function heldConversations(value: unknown, path: Path = []): HeldConversation[] {
	return membersOf(value).flatMap(([key, member]): HeldConversation[] => {
		const place = [...path, key];
		if (beginsWithMessage(member)) return [{ place, located: { document: value, base: place, messages: member } }];
		// For example a line of a benchmark's output.
		const list = typeof key === "number" && isJsonObject(member) ? inRecord(member) : undefined;
		const body = isJsonObject(member) ? (inBody(member, []) ?? inBodyOfMessages(member) ?? list) : undefined;
		if (body) return [{ place, located: { ...body, base: [...place, ...body.base] } }];
		return place.length < deepestBody ? heldConversations(member, place) : [];
	});
}

/** Finds the only list that begins with a message, whatever its key. */
function inBodyOfMessages(document: JsonObject): LocatedMessages | undefined {
	const [list, ...others] = Object.entries(document).filter(([, value]) => beginsWithMessage(value));
	return list && others.length === 0 ? { document, base: [list[0]], messages: listOf(list[1]) } : undefined;
}

function tellSeveral(held: readonly HeldConversation[]): string {
	const [first = [], last = []] = [held[0]?.place, held.at(-1)?.place];
	const [from, to] = [first, last].map((place) => jsonPointer(place).slice(0, longestPointer));
	// Names are untrusted, and lines of JSON Lines are not a list for jq.
	const isPlain = typeof first[0] === "string" && first.every((key) => /^\w{1,40}$/.test(String(key)));
	const query = first.map((key) => (typeof key === "number" ? `[${key}]` : `.${key}`)).join("");
	const example = isPlain ? `, for example: jq '${query}' FILE > one.json` : "";
	return `Found ${held.length} conversations, from ${from} to ${to}. Pass them one at a time, each in a file of its own${example}.`;
}

const longestPointer = 100;

function beginsWithMessage(value: unknown): value is readonly unknown[] {
	return Array.isArray(value) && isJsonObject(value[0]) && stringAt(value[0], "role") !== undefined;
}

function isMessage(value: JsonObject): boolean {
	return ["role", "type", "kind", "content"].some((key) => Object.hasOwn(value, key));
}

function kindOf(value: unknown): string {
	if (value === null) return "null";
	if (value === undefined) return "nothing";
	if (Array.isArray(value)) return "a list";
	if (!isJsonObject(value)) return `a ${typeof value}`;
	return Object.hasOwn(value, "role") ? "one message; put it into a list" : "an object without `messages`";
}

const strength = { certain: 3, likely: 2, possible: 1, none: 0 } as const;

function detectFormat(located: LocatedMessages, tried: readonly Format[], otherwise?: Format): Format {
	if (tried === formats) refuseKnownShapes(located);
	let best: { readonly format?: Format; readonly fit: Fit["fit"] } = { fit: "none" };
	for (const format of tried) {
		if (best.fit === "certain") break;
		const { fit } = format.probe(located);
		if (strength[fit] > strength[best.fit]) best = { format, fit };
	}
	return best.format ?? detectAroundUnknown(located, tried, otherwise);
}

/** Finds the format of a list in which some items have a kind that no format knows. */
function detectAroundUnknown(located: LocatedMessages, tried: readonly Format[], otherwise?: Format): Format {
	let best: { readonly format?: Format; readonly fit: Fit["fit"] } = { fit: "none" };
	for (const format of tried) {
		const fit = fitAroundUnknown(format, located, tried);
		if (strength[fit] > strength[best.fit]) best = { format, fit };
	}
	if (best.format) return countingUnknown(best.format);
	if (otherwise) return otherwise;
	throw new PalimpsestError("not_a_conversation", explain(located));
}

/** Shapes that look like a format and are none. */
function refuseKnownShapes(located: LocatedMessages): void {
	if (located.messages.some(isStoredRow)) {
		throw new PalimpsestError(
			"not_a_conversation",
			"Expected the `content` of Mastra's messages as JSON; got texts of JSON, as its tables hold them. Parse them first: jq -c '(.. | .content? | strings) |= fromjson' FILE > parsed.json.",
		);
	}
	const foreign = foreignShape(located.messages);
	if (foreign !== undefined) throw new UnsupportedShapeError(foreign);
}

/** Below this share of the words, calls and results of a foreign shape would be lost. */
const leastShare = 0.5;

/** Shorter texts have too few characters to judge. */
const fewWords = 200;

function checkExplained({ title }: Format, { read, all }: Explained): void {
	if (all < fewWords || read >= all * leastShare) return;
	throw new PalimpsestError(
		"not_a_conversation",
		`The messages look like those of ${title}, but only ${read} of the ${all} characters in them can be read that way. They are probably of another format, which is not supported.`,
	);
}

function explain(located: LocatedMessages): string {
	const { messages } = located;
	// Of formats that fail at the same message, the user more likely means the plainer one.
	const held = heldConversations(messages, located.base);
	if (messages.length > 1 && held.length >= messages.length) return tellSeveral(held);
	const [nearest] = formats
		.toReversed()
		.flatMap((format) => {
			const fit = format.probe(located);
			return fit.fit === "none" ? [{ format, ...fit }] : [];
		})
		.sort((a, b) => b.message - a.message);
	const first = messages.length === 1 ? "The message fits no format" : `The ${messages.length} messages fit no format`;
	if (!nearest) return `${first}.`;
	const { format, message, expected } = nearest;
	return `${first}. The nearest is ${format.looksFor}: message ${message} (counted from 0) does not fit, expected ${expected}.`;
}

/** The first shape that fits wins, so stricter shapes come first. */
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
 * Reads a provider's answer, complete or assembled from its stream (docs/compaction.md#cut-answers).
 * `finishReason` is `other` if it gives none. Throws `invalid_argument` for any other shape.
 */
export function readLastResponse(response: unknown): LastResponse {
	if (isJsonObject(response)) {
		// Copies own members only, since results of the AI SDK have getters that throw.
		const own = { ...response };
		for (const reader of answerReaders) {
			const read = reader.read(own);
			if (read) return read;
		}
	}
	const got = isJsonObject(response) ? "an object of another shape" : kindOf(response);
	throw new PalimpsestError(
		"invalid_argument",
		`Expected \`last_response\` to be the provider's answer to the last call, whole or assembled from its stream; got ${got}. Pass one of\n${answerReaders.map(({ shape }) => `- ${shape}`).join("\n")}`,
	);
}
