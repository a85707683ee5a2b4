import { isJsonObject, type JsonObject } from "../engine/conversation/json.ts";
import { hasMember, listOf, objectOf, objectsOf, stringAt } from "./json-text/value.ts";

/** The name of a shape that resembles a format and is none; otherwise `undefined`. */
export function foreignShape(messages: readonly unknown[]): string | undefined {
	const values = messages.filter(isJsonObject);
	return shapes.find(({ isShape }) => isShape(values))?.title;
}

const deepest = 3;

/** The name of such a shape that a document holds, to a depth of three. */
export function foreignShapeIn(document: unknown, depth = 0): string | undefined {
	if (depth > deepest) return undefined;
	const own = foreignShape(Array.isArray(document) ? document : [document]);
	if (own !== undefined) return own;
	const members = Array.isArray(document) ? document.slice(0, 2) : Object.values(objectOf(document));
	for (const member of members) {
		const found = foreignShapeIn(member, depth + 1);
		if (found !== undefined) return found;
	}
	return undefined;
}

/** Whether a document is of spans of OpenTelemetry, which hold their messages as a text of JSON. */
export function isSpans(document: unknown): boolean {
	const { resourceSpans, spans } = objectOf(document);
	const isSpan = (value: unknown) =>
		stringAt(objectOf(objectOf(value).attributes), "gen_ai.input.messages") !== undefined;
	return Array.isArray(resourceSpans) || [document, ...listOf(document), ...listOf(spans)].some(isSpan);
}

function isSpan({ attributes }: JsonObject): boolean {
	return Object.keys(objectOf(attributes)).some((key) => key.startsWith("gen_ai."));
}

type Values = readonly JsonObject[];

const shapes: readonly { readonly title: string; readonly isShape: (values: Values) => boolean }[] = [
	{
		title: "a session of Command Code",
		isShape: (values) =>
			values.some(isDroidRecord) && values.some(({ type, version }) => type === "session" && version !== undefined),
	},
	{
		title: "a compacted session of Factory Droid",
		isShape: (values) =>
			values.some(({ type }) => type === "session_start") && values.some(({ type }) => type === "compaction_state"),
	},
	{
		title: "a stream of the Cursor CLI",
		isShape: (values) => values.some(({ type, tool_call: call }) => type === "tool_call" && isJsonObject(call)),
	},
	{
		title: "messages of Crush",
		isShape: (values) => values.some(({ parts }) => isCrushParts(parts)),
	},
	{
		title: "a session of Antigravity CLI",
		isShape: (values) =>
			values.some(
				({ step_index: step, source, type }) =>
					typeof step === "number" && source === "MODEL" && typeof type === "string",
			),
	},
	{
		title: "a session of iFlow",
		isShape: (values) =>
			values.some(({ message }) =>
				objectsOf(objectOf(message).content).some(({ content }) =>
					hasMember(objectOf(content), "responseParts", "functionResponse"),
				),
			),
	},
	{
		title: "a chat of Grok CLI",
		isShape: (values) =>
			values.some(({ type, toolCall, toolResult }) => {
				return type === "tool_result" && (isJsonObject(toolResult) || isJsonObject(toolCall));
			}),
	},
	{
		title: "results of Inngest AgentKit",
		isShape: (values) =>
			values.some((value) => stringAt(value, "agentName") !== undefined && Array.isArray(value.toolCalls)),
	},
	{
		title: "messages of Inngest AgentKit",
		isShape: (values) =>
			values.some(({ role, type, tool, tools }) => {
				return (role === "tool_result" && isJsonObject(tool)) || (type === "tool_call" && Array.isArray(tools));
			}),
	},
	{
		title: "a stream of AG-UI events",
		isShape: (values) =>
			values.some(({ type, threadId }) => type === "RUN_STARTED" && threadId !== undefined) ||
			values.some(({ type }) => type === "MESSAGES_SNAPSHOT" || type === "TOOL_CALL_RESULT"),
	},
	{
		title: "a memory that BeeAI has serialized",
		isShape: (values) => values.some(({ __root, __serializer }) => isJsonObject(__root) || __serializer === true),
	},
	{
		title: "telemetry of OpenTelemetry without its messages (`gen_ai.input.messages`)",
		isShape: (values) =>
			values.some((value) => Array.isArray(value.resourceLogs) || (isSpan(value) && !hasMember(value, "role", "body"))),
	},
	{
		title: "a list of messages with `text` in place of `content`",
		isShape: (values) => values.some(isTextMessage),
	},
];

/** A record of `type` message with a message of Anthropic's API. pi has messages of its own in such records. */
function isDroidRecord({ type, message }: JsonObject): boolean {
	if (type !== "message" || !isJsonObject(message)) return false;
	return objectsOf(message.content).some(({ type: block }) => block === "tool_use" || block === "tool_result");
}

const crushTypes: ReadonlySet<unknown> = new Set(["text", "reasoning", "tool_call", "tool_result", "finish", "binary"]);

/** Parts whose members are in `data`. The database has them as a text of JSON. */
function isCrushParts(parts: unknown): boolean {
	if (typeof parts === "string") return /^\s*\[\s*\{\s*"type"\s*:\s*"\w+"\s*,\s*"data"\s*:\s*\{/.test(parts);
	const isOwn = (part: unknown) => crushTypes.has(objectOf(part).type) && isJsonObject(objectOf(part).data);
	return listOf(parts).length > 0 && listOf(parts).every(isOwn);
}

const contents = ["content", "parts", "tool_calls", "type", "kind"];

function isTextMessage(value: JsonObject): boolean {
	const hasRole = stringAt(value, "role") !== undefined && stringAt(value, "text") !== undefined;
	return hasRole && contents.every((key) => !Object.hasOwn(value, key));
}
