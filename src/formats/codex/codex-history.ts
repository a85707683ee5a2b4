import type { Path } from "../../engine/path.ts";
import type { LocatedMessages } from "../format.ts";
import { asCountedText, isJsonObject, type JsonObject, stringAt } from "../json-values.ts";

/** An item of the history. */
export interface HistoryItem {
	/** Whether it would still be sent: a compaction may have taken its place. */
	readonly sent: boolean;
	readonly item: JsonObject;
	/** Where the item stands. */
	readonly path: Path;
	/** The value that goes when the item is dropped: its record, or the item itself inside a compaction's record. */
	readonly removal: Path;
	/** Whether an answer of the model ended before it, as far as events tell. */
	readonly opensAnswer: boolean;
	/** Of an output: records of the user interface about the end of its call. */
	readonly ended: readonly EventPlace[];
}

/** An event with its place. */
export interface EventPlace {
	readonly payload: JsonObject;
	readonly path: Path;
}

/** Events that stand between two answers of the model, never inside one. */
const betweenAnswers = new Set(["token_count", "task_started", "task_complete", "turn_started", "turn_aborted"]);

/** What a rollout comes to when it is replayed. */
export interface CodexHistory {
	readonly items: readonly HistoryItem[];
	/** What goes along with each request beside the items: instructions, tools, the summary of an older compaction. */
	readonly surroundings: readonly string[];
}

/**
 * Replays a rollout as Codex does when it resumes one: items are added in order; a `compacted` record puts its
 * `replacement_history` in the place of all before it (an older one, which has none, keeps the messages that are not
 * the assistant's beside its summary); a rollback takes the last turns back. What was replaced is no longer sent; what was
 * rolled back is no part of the history.
 */
export function replayRollout({ messages, base }: LocatedMessages): CodexHistory {
	let items: HistoryItem[] = [];
	/** Indexes of the items with which turns begin. */
	let turns: number[] = [];
	let summary: string | undefined;
	const surroundings: string[] = [];
	const eventsOf = pairEvents();
	let hasMeta = false;
	let opensAnswer = false;

	messages.forEach((record, index) => {
		if (!isJsonObject(record)) return;
		const removal = [...base, index];
		const path = isJsonObject(record.payload) ? [...removal, "payload"] : removal;
		const payload = isJsonObject(record.payload) ? record.payload : record;
		switch (kindOf(record)) {
			case "item":
				if (isRequest(payload)) turns.push(items.length);
				items.push({ sent: true, item: payload, path, removal, opensAnswer, ended: eventsOf.item(payload) });
				opensAnswer = false;
				break;
			case "meta":
				// A forked session holds the header of the one that it came from as well.
				if (!hasMeta) surroundings.push(...readMeta(payload));
				hasMeta = true;
				break;
			case "compacted":
				summary = undefined;
				if (Array.isArray(payload.replacement_history)) {
					const history = readReplacement(payload.replacement_history, [...path, "replacement_history"]);
					items = [...items.map((one) => ({ ...one, sent: false })), ...history];
				} else {
					const stays = ({ item }: HistoryItem) => item.type === "message" && item.role !== "assistant";
					items = items.map((one) => ({ ...one, sent: one.sent && stays(one) }));
					summary = stringAt(payload, "message");
				}
				turns = items.flatMap(({ item, sent }, position) => (sent && isRequest(item) ? [position] : []));
				break;
			case "event": {
				opensAnswer ||= betweenAnswers.has(stringAt(payload, "type") ?? "");
				const count = payload.type === "thread_rolled_back" ? payload.num_turns : undefined;
				if (typeof count === "number" && count >= 1) {
					const taken = turns.splice(Math.max(0, turns.length - Math.floor(count)));
					items.length = taken[0] ?? items.length;
				}
				eventsOf.event({ payload, path });
				break;
			}
		}
	});
	return { items, surroundings: summary ? [...surroundings, summary] : surroundings };
}

function readReplacement(history: readonly unknown[], path: Path): HistoryItem[] {
	return history.flatMap((item, position) => {
		const place = [...path, position];
		return isJsonObject(item) ? [{ sent: true, item, path: place, removal: place, opensAnswer: false, ended: [] }] : [];
	});
}

/**
 * Finds the events about each output: those since its call, before it or after it. Ids of calls may be used again, so an
 * event belongs to the output that is nearest.
 */
function pairEvents() {
	const waiting = new Map<string, EventPlace[]>();
	const outputs = new Map<string, EventPlace[]>();
	return {
		/** The events of an item, where it is an output: a list that grows while later events are found. */
		item(item: JsonObject): readonly EventPlace[] {
			const callId = stringAt(item, "call_id");
			if (!callId) return [];
			const isOutput = stringAt(item, "type")?.endsWith("_output") ?? false;
			const events = isOutput ? (waiting.get(callId) ?? []) : [];
			waiting.delete(callId);
			if (isOutput) outputs.set(callId, events);
			else outputs.delete(callId);
			return events;
		},
		event(event: EventPlace): void {
			const callId = stringAt(event.payload, "call_id");
			if (!callId) return;
			const known = outputs.get(callId) ?? waiting.get(callId);
			if (known) known.push(event);
			else waiting.set(callId, [event]);
		},
	};
}

/** What a record is for the history; `undefined` where it is nothing. */
function kindOf(record: JsonObject): "item" | "meta" | "compacted" | "event" | undefined {
	const isWrapped = isJsonObject(record.payload);
	if (!isWrapped) return typeof record.type === "string" ? "item" : "id" in record ? "meta" : undefined;
	switch (record.type) {
		case "response_item":
			return "item";
		case "session_meta":
			return "meta";
		case "compacted":
			return "compacted";
		case "event_msg":
			return "event";
		default:
			return undefined;
	}
}

function readMeta(meta: JsonObject): string[] {
	const { base_instructions: base, instructions, dynamic_tools: tools } = meta;
	const texts = [isJsonObject(base) ? base.text : base, instructions, tools].filter((value) => value != null);
	return texts.map(asCountedText);
}

/** Whether an item is what a user wrote, not context that Codex puts into a user message. */
function isRequest(item: JsonObject): boolean {
	if (item.type !== "message" || item.role !== "user") return false;
	const first: unknown = Array.isArray(item.content) ? item.content[0] : item.content;
	const text = isJsonObject(first) ? stringAt(first, "text") : first;
	return typeof text !== "string" || !/^\s*(<|# AGENTS\.md)/.test(text);
}
