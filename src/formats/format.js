import { isJsonObject } from "../engine/conversation/json.js";
import { childPath } from "../engine/conversation/paths.js";
import { asCountedText, memberAt, sha256Of, stringAt } from "./json-text/value.js";
import { joinMessages } from "./parts.js";
export const plainRoles = { system: "system", user: "user", assistant: "assistant" };
export const rolesWithTool = { ...plainRoles, tool: "tool" };
/** Looks up the role of a message. `unnamed` is the name to look up if the message has none. */
export function roleOf(message, roles, unnamed = "") {
	const name = stringAt(message, "role") ?? unnamed;
	return (Object.hasOwn(roles, name) && roles[name]) || "other";
}
/** Probes each value of a list. `otherwise` is the fit if none is certain; a text is the expected evidence. */
export function probeEach(values, otherwise, probe) {
	let certain = false;
	for (let message = 0; message < values.length; message += 1) {
		const probed = probe(values[message], message);
		if (typeof probed === "string") return { fit: "none", message, expected: probed };
		certain ||= probed;
	}
	if (certain) return { fit: "certain" };
	return typeof otherwise === "string" ? { fit: "none", message: 0, expected: otherwise } : otherwise;
}
export function probeMessages(messages, otherwise, probe) {
	return probeEach(messages, otherwise, (message) => {
		if (!isJsonObject(message)) return "an object with `role`";
		const role = stringAt(message, "role");
		return role === undefined ? "an object with a string `role`" : probe(message, role);
	});
}
/** Probes the `tool_calls` of a message. Only this format has calls that pass `isCall`. */
export function probeCalls(calls, isCall, members) {
	if (calls == null) return false;
	if (!Array.isArray(calls)) return "`tool_calls` as a list";
	if (!calls.every((call) => isJsonObject(call) && isCall(call))) return `\`tool_calls\` whose items hold ${members}`;
	return calls.length > 0;
}
/** The part types of calls and results: few formats share one. */
const callParts = ["tool_use", "tool_result", "tool-call", "tool-result", "toolCall"];
/** Probes parts by their `type`: only this format has those of `own`, and it has none of `foreign`. */
export function probeParts(parts, { own, foreign }, isOwn) {
	let certain = false;
	for (const part of parts) {
		if (!isJsonObject(part) || typeof part.type !== "string") return "content parts with a `type`";
		const { type } = part;
		if (own.includes(type) || isOwn?.(part)) certain = true;
		else if (callParts.includes(type) || foreign.includes(type)) {
			return `content parts of its own kinds, not \`${type}\``;
		}
	}
	return certain;
}
/** Reads a conversation value by value. `keys` are for `readSurroundings`. */
export function readTranscript(format, located, keys, read) {
	const { messages, base, document } = located;
	const found = messages.flatMap((value, index) => read(value, childPath(base, index), index));
	return transcriptOf(format, found, readSurroundings(document, keys));
}
export function transcriptOf(format, messages, surroundings = []) {
	return { format, messages, surroundings, opensWithUser: false };
}
/** The texts that each call sends in addition to the messages: tool schemas and the system prompt. */
export function readSurroundings(body, keys) {
	const values = isJsonObject(body) ? keys.map((key) => memberAt(body, key)) : [];
	return values.filter((value) => value != null).map(asCountedText);
}
/**
 * The ids that pair calls and results in APIs that require none, by message and part; `undefined` for other parts, and for
 * results without an id that answer no call. An id that both sides have pairs them. If one side has none, a result answers
 * the first open call of its name (of any name if it has none) in the nearest message with calls, and both get the id of
 * the other. If neither has one, the id is the tool's name and the number of the call among those of its name in the
 * message (`read_file#1`): it stays the same when other messages are dropped.
 */
export function pairByPosition(messages) {
	const ids = [];
	const seen = new Set();
	let open = [];
	const answer = ({ name, ownId }) => {
		let position = ownId === undefined ? -1 : open.findIndex((call) => call.ownId === ownId);
		if (position === -1 && !(ownId !== undefined && seen.has(ownId))) {
			const fits = (call) => name === undefined || call.name === name;
			position = open.findIndex((call) => fits(call) && (call.ownId === undefined || ownId === undefined));
		}
		const [call] = position === -1 ? [] : open.splice(position, 1);
		if (call && ownId !== undefined) call.row[call.part] = ownId;
		return call ? call.row[call.part] : ownId;
	};
	for (const parts of messages) {
		const row = [];
		ids.push(row);
		const numbers = new Map();
		parts.forEach((exchange, part) => {
			if (exchange?.kind === "result") row[part] = answer(exchange);
			if (exchange?.kind !== "call") return;
			if (numbers.size === 0) open = [];
			const { name = "", ownId } = exchange;
			const number = (numbers.get(name) ?? 0) + 1;
			numbers.set(name, number);
			if (ownId !== undefined) seen.add(ownId);
			row[part] = ownId ?? `${name || "call"}#${number}`;
			open.push({ ...exchange, row, part });
		});
	}
	return ids;
}
/** A UUID (version 8, RFC 9562) that depends only on the text, since writing uses no randomness. */
export function idOfText(text) {
	const hash = sha256Of(text);
	const groups = [hash.slice(0, 8), hash.slice(8, 12), `8${hash.slice(13, 16)}`, `8${hash.slice(17, 20)}`];
	return [...groups, hash.slice(20, 32)].join("-");
}
/** Members that a record takes over from the record that it replaces. */
export function keptFields(value, keys) {
	if (!isJsonObject(value)) return {};
	return Object.fromEntries(keys.filter((key) => Object.hasOwn(value, key)).map((key) => [key, value[key]]));
}
export function plainMessage({ role, text }) {
	return { role, content: text };
}
/** A text among the content parts of most APIs. */
export const contentPart = {
	lists: [["content"]],
	key: "text",
	write: (text) => ({ type: "text", text }),
};
/**
 * Reads a run that is recorded as a list of events, one for each text, call or result. `read` gives `undefined` for events
 * that are not sent.
 */
export function readEvents(format, { messages, base }, read) {
	const found = messages.flatMap((event, index) => {
		const message = isJsonObject(event) ? read(event, childPath(base, index), index) : undefined;
		return message ? [message] : [];
	});
	return transcriptOf(format, joinAnswers(found));
}
/**
 * Joins the texts and calls that a model gave in a row: they are one answer, which ends at a result or at a message of
 * someone else. It goes on until all results of its calls are there: otherwise two answers could become one when the
 * result between them is dropped.
 */
export function joinAnswers(messages) {
	const lastResults = findLastResults(messages);
	const joined = [];
	let answer;
	let answeredBy = -1;
	for (const [index, message] of messages.entries()) {
		if (message.role !== "assistant") {
			joined.push([message]);
			continue;
		}
		const isOpen = joined.at(-1) === answer || answeredBy >= index;
		if (answer && isOpen && answer[0]?.sent === message.sent) answer.push(message);
		else {
			answer = [message];
			answeredBy = -1;
			joined.push(answer);
		}
		answeredBy = Math.max(answeredBy, lastResults[index] ?? -1);
	}
	return joined.map(joinMessages);
}
/** Finds by message the index of the last result of its calls. Ids may be used again. */
function findLastResults(messages) {
	const last = new Array(messages.length).fill(-1);
	const byId = new Map();
	for (let index = messages.length - 1; index >= 0; index -= 1) {
		const { calls, results } = messages[index];
		for (const { callId } of results) if (!byId.has(callId)) byId.set(callId, index);
		for (const { id } of calls) {
			const answer = id === undefined ? undefined : byId.get(id);
			if (answer !== undefined) last[index] = Math.max(last[index] ?? -1, answer);
			byId.delete(id);
		}
	}
	return last;
}
