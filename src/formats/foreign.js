import { isJsonObject } from "../engine/conversation/json.js";
import { listOf, objectOf, objectsOf, stringAt } from "./json-text/value.js";
/** The name of a shape that resembles a format and is none; otherwise `undefined`. */
export function foreignShape(messages) {
	const values = messages.filter(isJsonObject);
	return shapes.find(({ isShape }) => isShape(values))?.title;
}
const shapes = [
	{
		title: "a session of Command Code",
		isShape: (values) =>
			values.some(isDroidRecord) && values.some(({ type, version }) => type === "session" && version !== undefined),
	},
	{
		title: "a session of Factory Droid",
		isShape: (values) =>
			values.some(isDroidRecord) && values.some(({ type }) => type === "session_start" || type === "message"),
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
		title: "a list of messages with `text` in place of `content`",
		isShape: (values) => values.some(isTextMessage),
	},
];
/** A record of `type` message with a message of Anthropic's API. pi has messages of its own in such records. */
function isDroidRecord({ type, message }) {
	if (type !== "message" || !isJsonObject(message)) return false;
	return objectsOf(message.content).some(({ type: block }) => block === "tool_use" || block === "tool_result");
}
const crushTypes = new Set(["text", "reasoning", "tool_call", "tool_result", "finish", "binary"]);
/** Parts whose members are in `data`. The database has them as a text of JSON. */
function isCrushParts(parts) {
	if (typeof parts === "string") return /^\s*\[\s*\{\s*"type"\s*:\s*"\w+"\s*,\s*"data"\s*:\s*\{/.test(parts);
	const isOwn = (part) => crushTypes.has(objectOf(part).type) && isJsonObject(objectOf(part).data);
	return listOf(parts).length > 0 && listOf(parts).every(isOwn);
}
const contents = ["content", "parts", "tool_calls", "type", "kind"];
function isTextMessage(value) {
	const hasRole = stringAt(value, "role") !== undefined && stringAt(value, "text") !== undefined;
	return hasRole && contents.every((key) => !Object.hasOwn(value, key));
}
