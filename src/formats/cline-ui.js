import { isJsonObject, parseJsonObject } from "../engine/conversation/json.js";
import { cacheApartUsage, cacheIncludedUsage } from "./answer.js";
import { keptFields, probeEach, transcriptOf } from "./format.js";
import { listOf, numberAt, objectOf, stringAt, timeAt } from "./json-text/value.js";
import { readMedia } from "./media.js";
import { MessageDraft, opaque, textContent } from "./parts.js";
/**
 * `ui_messages.json` of Cline and Roo Code. Cline repeats each request in a record (`api_req_started`), with the results of
 * the calls before it; the outputs on the screen are copies of them. Roo Code keeps only the outputs.
 */
export const clineUi = {
	name: "cline-ui",
	title: "Cline or Roo Code ui_messages.json",
	looksFor: "ui_messages.json of Cline or Roo Code (records of `type` say or ask, with their kind in `say` or `ask`)",
	probe: ({ messages }) => probeEach(messages, "a record of `type` say or ask", probe),
	read: (located) => transcriptOf("cline-ui", readRecords(located)),
	write: { message: writeMessage, appends: false },
};
function probe(record) {
	if (!isJsonObject(record)) return "an object with `type` say or ask";
	const { type, text } = record;
	if (type !== "say" && type !== "ask") return "`type` say or ask";
	if (stringAt(record, type) === undefined) return "the kind of the record in a member named as its `type`";
	return text == null || typeof text === "string" || "`text` as a string";
}
/** The meaning of each kind of record. All other kinds are only shown on the screen. */
const parts = {
	api_req_started: "request",
	task: "user",
	user_feedback: "user",
	user_feedback_diff: "user",
	text: "answer",
	completion_result: "answer",
	followup: "answer",
	plan_mode_respond: "answer",
	reasoning: "thinking",
	tool: "call",
	command: "call",
	use_mcp_server: "call",
	browser_action_launch: "call",
	browser_action: "call",
	command_output: "output",
	mcp_server_response: "output",
	browser_action_result: "output",
	codebase_search_result: "output",
};
function readRecords({ messages: records, base }) {
	const messages = [];
	let last;
	let isOpen = false;
	let usage;
	/** Without a request that repeats the outputs, the outputs on the screen are the results. */
	const settle = () => {
		for (const { callId, content } of last?.outputs ?? []) last?.draft.addResult({ callId, ...content });
		last = undefined;
	};
	const answerAt = (path, record) => {
		if (!isOpen || !last) {
			settle();
			last = { draft: new MessageDraft("assistant").setTime(timeAt(record, "ts")).setUsage(usage), outputs: [] };
			messages.push(last.draft);
			isOpen = true;
			usage = undefined;
		}
		last.draft.paths.push(path);
		return last;
	};
	for (const [index, record] of records.entries()) {
		const path = [...base, index];
		const text = stringAt(record, "text") ?? "";
		const kind = stringAt(record, record.type === "say" ? "say" : "ask") ?? "";
		const part = Object.hasOwn(parts, kind) ? parts[kind] : undefined;
		if (part === "request") {
			isOpen = false;
			const body = parseJsonObject(text) ?? {};
			const request = stringAt(body, "request");
			usage = usageOf(body);
			if (request === undefined) {
				settle();
				answerAt(path, record);
			} else if (last && last.draft.calls.length > 0) {
				messages.push(readResults(last, body, path).setTime(timeAt(record, "ts")));
				last = undefined;
			} else {
				settle();
				messages.push(said(request, path, record));
			}
		} else if (part === "user") {
			isOpen = false;
			messages.push(said(text, path, record));
		} else if (part === "answer") answerAt(path, record).draft.count(text);
		else if (part === "thinking") answerAt(path, record).draft.addThinking(path, text, false);
		else if (part === "call") readCall(record, kind, path, answerAt(path, record));
		else if (part === "output") {
			const { draft, outputs } = answerAt(path, record);
			const { logs } = kind === "browser_action_result" ? (parseJsonObject(text) ?? {}) : {};
			const content = kind === "browser_action_result" ? opaque(logs) : textContent(text, [...path, "text"]);
			outputs.push({ callId: draft.calls.at(-1)?.id, content });
		}
	}
	settle();
	return messages;
}
function said(text, path, record) {
	const draft = new MessageDraft("user", path).setTime(timeAt(record, "ts"));
	draft.count(text);
	for (const data of listOf(record.images)) {
		draft.mediaTokens += readMedia({ path, provider: "any", kind: "image", data }).tokens;
	}
	return draft;
}
/** Of a message that Cline keeps in the form of Anthropic's API. */
export function messageUsage({ metrics, modelInfo }) {
	const { inputTokens: input, cacheReadTokens: cached } = objectOf(metrics);
	return cacheIncludedUsage({ input, cached, model: objectOf(modelInfo).id });
}
function usageOf({ tokensIn: input, cacheReads: cacheRead, cacheWrites: cacheWrite }) {
	return cacheApartUsage({ input, cacheRead, cacheWrite, model: undefined });
}
/** Reads a request whose text holds the results of all calls of an answer. The text is inside JSON that is itself a text. */
function readResults({ draft, outputs }, body, path) {
	const message = new MessageDraft("tool", path);
	message.addResult({
		callId: draft.calls[0]?.id,
		...insideText(body, "request", [...path, "text"]),
		copies: outputs.flatMap(({ content }) => (content.whole?.only ? [] : content.texts)),
		isError: undefined,
	});
	return message;
}
function insideText(body, key, path) {
	const text = stringAt(body, key) ?? "";
	const write = (replacement) => JSON.stringify({ ...body, [key]: replacement });
	return { texts: [{ path, text }], whole: { path, write, only: true }, media: [], counted: [] };
}
/** Tools whose records have the result in `content`. In records of other tools `content` is an argument. */
const readingTools = new Set([
	"listFilesTopLevel",
	"listFilesRecursive",
	"listCodeDefinitionNames",
	"searchFiles",
	"codebaseSearch",
	"webFetch",
	"webSearch",
]);
function readCall(record, kind, path, { draft, outputs }) {
	const text = stringAt(record, "text") ?? "";
	// The records have no ids. Their times are unique within an answer.
	const id = `${kind}_${numberAt(record, "ts") ?? draft.calls.length}`;
	const body = parseJsonObject(text);
	if (kind === "tool" && body) {
		const { tool, ...input } = body;
		const isReading = readingTools.has(tool) && typeof body.content === "string";
		draft.addCall(id, typeof tool === "string" ? tool : undefined, isReading ? { ...input, content: "" } : input);
		if (isReading) outputs.push({ callId: id, content: insideText(body, "content", [...path, "text"]) });
	} else if (kind === "use_mcp_server" && body) {
		draft.addCall(id, stringAt(body, "toolName") ?? kind, body.arguments ?? body.uri);
	} else draft.addCall(id, kind === "command" ? "execute_command" : kind, text);
}
function writeMessage({ role, text, instead }) {
	return { ...keptFields(instead, ["ts"]), type: "say", say: role === "user" ? "user_feedback" : "text", text };
}
