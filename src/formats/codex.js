import { isJsonObject } from "../engine/conversation/json.js";
import { cacheIncludedUsage } from "./answer.js";
import { keptFields, probeEach, transcriptOf } from "./format.js";
import { asCountedText, booleanAt, idAt, listOf, objectOf, stringAt, timeAt } from "./json-text/value.js";
import { isOfAnswer, readItems, readOther } from "./openai-responses.js";
import { joinCopies, outputCopies } from "./session-files.js";

const recordTypes = new Set(["session_meta", "response_item", "event_msg", "turn_context", "compacted"]);
/** Types of items that the first versions wrote without a record around them. */
const itemTypes =
	/^(message|reasoning|ghost_snapshot|(function|custom_tool|local_shell|web_search)_call|(function|custom_tool|local_shell)_call_output)$/;
/** Rollouts of Codex: items of OpenAI Responses in records. Events that repeat an output are edited with it. */
export const codexRollout = {
	name: "codex-rollout",
	title: "Codex rollout",
	looksFor: "Codex rollout (records with `type`, such as session_meta or response_item, and `payload`)",
	probe({ messages }) {
		const isBare = isBareHeader(messages[0]);
		return probeEach(messages, "a record such as session_meta", (record, index) => {
			if (!isJsonObject(record)) return "a record with `type` and `payload`";
			const type = stringAt(record, "type") ?? "";
			if (isBare) {
				if (itemTypes.test(type)) return true;
				return index === 0 || record.record_type === "state" ? false : "an item of the Responses API";
			}
			if (type !== "" && isJsonObject(record.payload)) return recordTypes.has(type);
			return "a record with a string `type` and an object `payload`";
		});
	},
	read(located) {
		const { items, surroundings } = replayRollout(located);
		const sent = items.filter(({ item }) => !neverSent.has(item.type));
		return transcriptOf("codex-rollout", readItems(sent, readOtherItem), surroundings);
	},
	write: { message: writeMessage, within: ["payload", "replacement_history"], appends: false },
};
/** Whether a record is the header of the first versions, whose fields are now in `session_meta`. */
function isBareHeader(record) {
	if (!isJsonObject(record) || Object.hasOwn(record, "type") || Object.hasOwn(record, "role")) return false;
	const isNamed = stringAt(record, "id") !== undefined && stringAt(record, "timestamp") !== undefined;
	return isNamed && ["instructions", "git", "cwd"].some((key) => Object.hasOwn(record, key));
}
/** Events that only occur between two answers of the model. */
const betweenAnswers = new Set(["token_count", "task_started", "task_complete", "turn_started", "turn_aborted"]);
/**
 * Replays a rollout as Codex does when it resumes one. A `compacted` record replaces all items before it by its
 * `replacement_history`; without one (older versions) all messages but those of the assistant stay with its summary. A
 * rollback removes the last turns. Replaced items are no longer sent.
 */
function replayRollout({ messages, base }) {
	let items = [];
	let turns = [];
	let summary;
	let meta;
	const eventsOf = pairEvents();
	let opensAnswer = false;
	let model;
	let counted;
	let answer;
	for (const [index, record] of messages.entries()) {
		if (!isJsonObject(record)) continue;
		const removal = [...base, index];
		const isWrapped = isJsonObject(record.payload);
		const path = isWrapped ? [...removal, "payload"] : removal;
		const payload = isJsonObject(record.payload) ? record.payload : record;
		const time = timeAt(record, "timestamp");
		const isBareItem = !isWrapped && typeof record.type === "string";
		const type = isWrapped ? record.type : isBareItem ? "response_item" : "id" in record ? "session_meta" : undefined;
		if (type === "response_item") {
			if (isRequest(payload)) turns.push(items.length);
			const one = { sent: true, item: payload, path, removal, opensAnswer, events: eventsOf.item(payload), time };
			items.push(one);
			if (isOfAnswer(payload, stringAt(payload, "type") ?? "")) answer = one;
			opensAnswer = false;
		} else if (type === "inter_agent_communication") {
			// Codex sends these records of older versions as an `agent_message`.
			const { author, content, encrypted_content: sealed } = payload;
			const parts = [{ type: "input_text", text: content }, ...(sealed == null ? [] : [{ encrypted_content: sealed }])];
			const item = { type: "agent_message", author, content: parts };
			items.push({ sent: true, item, path, removal, opensAnswer, events: [], time });
			opensAnswer = false;
		} else if (type === "session_meta") {
			const { base_instructions: base, instructions, dynamic_tools: tools } = payload;
			const texts = [isJsonObject(base) ? base.text : base, instructions, tools].filter((value) => value != null);
			// A forked session also has the header of its origin.
			meta ??= texts.map(asCountedText);
		} else if (type === "turn_context") {
			model = stringAt(payload, "model") ?? model;
		} else if (type === "compacted") {
			const { replacement_history: replacement } = payload;
			const isReplaced = Array.isArray(replacement);
			const stays = ({ item }) => !isReplaced && item.type === "message" && item.role !== "assistant";
			items = items.map((one) => ({ ...one, sent: one.sent && stays(one) }));
			for (const [position, item] of listOf(replacement).entries()) {
				const place = [...path, "replacement_history", position];
				if (!isJsonObject(item)) continue;
				items.push({ sent: true, item, path: place, removal: place, opensAnswer: false, events: [], time });
			}
			summary = isReplaced ? undefined : stringAt(payload, "message");
			turns = items.flatMap(({ item, sent }, position) => (sent && isRequest(item) ? [position] : []));
		} else if (type === "event_msg") {
			opensAnswer ||= betweenAnswers.has(stringAt(payload, "type") ?? "");
			// An event with the same total repeats the one before it.
			const total = objectOf(objectOf(payload.info).total_token_usage).total_tokens;
			if (payload.type === "token_count" && (total === undefined || total !== counted)) {
				counted = total;
				const { input_tokens: input, cached_input_tokens: cached = 0 } = objectOf(
					objectOf(payload.info).last_token_usage,
				);
				const usage = cacheIncludedUsage({ input, cached, model });
				if (answer && usage) answer.usage ??= usage;
			}
			const count = payload.type === "thread_rolled_back" ? payload.num_turns : undefined;
			if (typeof count === "number" && count >= 1) {
				const taken = turns.splice(Math.max(0, turns.length - Math.floor(count)));
				items.length = taken[0] ?? items.length;
			}
			eventsOf.event({ payload, path });
		}
	}
	return { items, surroundings: [...(meta ?? []), ...(summary ? [summary] : [])] };
}
/** Whether an item is a request of the user. Codex also adds context as user messages. */
function isRequest(item) {
	if (item.type !== "message" || item.role !== "user") return false;
	const first = Array.isArray(item.content) ? item.content[0] : item.content;
	const text = isJsonObject(first) ? stringAt(first, "text") : first;
	return typeof text !== "string" || !/^\s*(<|# AGENTS\.md)/.test(text);
}
/** Finds the events about each output, before or after it. Ids of calls may be used again: the nearest output counts. */
function pairEvents() {
	const found = new Map();
	return {
		/** The events of an output: a list that grows while later events are found. */
		item(item) {
			const callId = idAt(item, "call_id");
			const known = callId === undefined ? undefined : found.get(callId);
			if (callId !== undefined) found.delete(callId);
			if (callId === undefined || !stringAt(item, "type")?.endsWith("_output")) return [];
			const events = known && !known.isAnswered ? known.events : [];
			found.set(callId, { events, isAnswered: true });
			return events;
		},
		event(event) {
			const callId = idAt(event.payload, "call_id");
			if (callId === undefined) return;
			const known = found.get(callId) ?? { events: [], isAnswered: false };
			known.events.push(event);
			found.set(callId, known);
		},
	};
}
/** Snapshots of the working tree. */
const neverSent = new Set(["ghost_snapshot", "other"]);
const copyPlaces = ["stdout", "stderr", "aggregated_output", "formatted_output", "result", "content_items"].map(
	(key) => [key],
);
function readOtherItem({ item, path, removal, events, time }, type) {
	const message = readOther(item, type, path);
	const flags = [...events.map(({ payload }) => flagOfEvent(payload)), flagOfOutput(item.output)];
	const results = message.results.map((result) => ({
		...result,
		...joinCopies(
			events.map(({ payload, path: place }) =>
				outputCopies({ record: payload, path: place, places: copyPlaces, texts: result.texts }),
			),
		),
		isError: flags.find((flag) => flag !== undefined),
	}));
	return { ...message, paths: [removal], results, ...(time === undefined ? {} : { time }) };
}
function flagOfEvent(payload) {
	if (typeof payload.exit_code === "number") return payload.exit_code !== 0;
	if (typeof payload.success === "boolean") return !payload.success;
	const result = objectOf(payload.result);
	return Object.hasOwn(result, "Err") || booleanAt(objectOf(result.Ok), "isError");
}
/** Ignores an exit code in the text of an output, since masking removes it with the text. */
function flagOfOutput(output) {
	const { success, metadata } = objectOf(output);
	if (typeof success === "boolean") return !success;
	const { exit_code: code } = objectOf(metadata);
	return typeof code === "number" ? code !== 0 : undefined;
}
/** Writes a record with an item, or an item alone if it replaces one. */
function writeMessage({ role, text, instead }) {
	const type = role === "user" ? "input_text" : "output_text";
	const item = { type: "message", role, content: [{ type, text }] };
	if (isJsonObject(instead) && !isJsonObject(instead.payload)) return item;
	return { ...keptFields(instead, ["timestamp"]), type: "response_item", payload: item };
}
