import { isJsonObject } from "../../engine/conversation/json.js";
import { addToList } from "../../engine/conversation/lists.js";
import { objectOf, stringAt } from "../../formats/json-text/value.js";
import { headChange } from "./head-change.js";
import { headOf } from "./request-head.js";
/** By the message of a call, what its file records between the call before it and its own; for -1, after the last call. */
export function sessionEvents({ located, transcript }) {
	const { messages: records, base } = located;
	const recordOf = (path) => Number(path?.[base.length]);
	const used = new Set(transcript.messages.flatMap(({ paths }) => paths.map(recordOf)));
	const calls = transcript.messages.flatMap(({ usage, paths }, message) =>
		usage ? [{ message, record: recordOf(paths[0]) }] : [],
	);
	const reader = startReading();
	const before = new Map();
	let next = 0;
	for (const [index, value] of records.entries()) {
		const record = objectOf(value);
		const isCallRecord = calls[next]?.record === index;
		const message = calls[next]?.message ?? -1;
		const events = reader.read(record, used.has(index));
		for (const event of isCallRecord ? [...events, ...reader.called()] : events) addToList(before, message, event);
		while (next < calls.length && (calls[next]?.record ?? 0) <= index) next += 1;
	}
	return before;
}
/** Reads one record after the other, and remembers what each program notes of itself. */
function startReading() {
	let head;
	const known = new Map();
	let effort;
	let effortOfCall;
	const change = (name, value) => {
		if (typeof value !== "string" || value === "") return undefined;
		const last = known.get(name);
		known.set(name, value);
		return last !== undefined && last !== value ? [last, value] : undefined;
	};
	return {
		read(record, isUsed) {
			if (record.isSidechain === true) return [];
			const events = [];
			if (record.type === "compaction") events.push({ kind: "compaction", detail: "the session was compacted" });
			if (isResumption(record)) events.push({ kind: "resumed", detail: "the session was resumed" });
			else if (isExit(record)) events.push({ kind: "restart", detail: "the program was left" });
			// Of branches that were rewound, retried or rolled back.
			else if (!isUsed && isCall(record)) events.push({ kind: "fork", detail: "calls of another branch came between" });
			const version = change("version", record.version);
			if (version) events.push({ kind: "restart", detail: `version ${shown(version[0])} → ${shown(version[1])}` });
			// Claude Code goes on in another session where it is resumed.
			if (change("session", record.sessionId)) events.push({ kind: "restart", detail: "the session was resumed" });
			const found = effortOf(record);
			if (typeof found === "string" && found !== "") effort = found;
			const snapshot = objectOf(record.attachment);
			if (snapshot.type === "prompt_snapshot") {
				const now = headOf(
					{ system: snapshot.systemPrompt, tools: snapshot.tools },
					{ messages: [], surroundings: [] },
				);
				const changed = head && headChange(head, now);
				if (changed) events.push({ kind: changed.cause, detail: changed.detail, servers: changed.servers });
				head = now;
			}
			return events;
		},
		/** A user may try several settings between two calls. */
		called() {
			const last = effortOfCall;
			effortOfCall = effort;
			if (last === undefined || effort === undefined || last === effort) return [];
			return [{ kind: "effort", detail: `effort: ${shown(last)} → ${shown(effort)}` }];
		},
	};
}
/** Codex records it for a turn, pi and Claude Code where a user changes it. */
function effortOf(record) {
	if (record.type === "turn_context") return objectOf(record.payload).effort;
	if (record.type === "thinking_level_change") return record.thinkingLevel;
	const { level, disabled } = objectOf(record.thinkingMetadata);
	return disabled === true ? "none" : level;
}
/**
 * Claude Code fills in this answer when a session is resumed that ended with a message of the user. What it sends then
 * differs from the start of the messages (https://github.com/anthropics/claude-code/issues/43657).
 */
function isResumption(record) {
	const { model, content } = objectOf(record.message);
	const [block] = Array.isArray(content) ? content : [];
	return model === "<synthetic>" && objectOf(block).text === "No response requested.";
}
/** Claude Code notes the command of a user. */
function isExit(record) {
	const { content } = objectOf(record.message);
	return typeof content === "string" && /^<command-name>\/(?:exit|quit)<\/command-name>/.test(content);
}
/** An answer of a model to the main agent: a record of Claude Code, pi or Codex. */
function isCall(record) {
	const message = objectOf(record.message);
	if (isJsonObject(message.usage)) return message.model !== "<synthetic>";
	return record.type === "response_item" && isCodexAnswer(objectOf(record.payload));
}
function isCodexAnswer(item) {
	return item.role === "assistant" || (stringAt(item, "type") ?? "").endsWith("_call");
}
function shown(value) {
	return /^[\w.-]{1,24}$/.test(value) ? value : "another";
}
