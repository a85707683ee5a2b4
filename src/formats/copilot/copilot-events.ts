import { idAt, isJsonObject, type JsonObject, stringAt } from "../json-values.ts";

/** An event of which the model is, or once was, sent something. */
export interface CopilotEvent {
	readonly index: number;
	/** Whether it still is: a compaction may have taken its place. */
	readonly sent: boolean;
	readonly kind: "system" | "user" | "assistant" | "tool" | "summary";
	readonly data: JsonObject;
}

const kinds: Readonly<Record<string, CopilotEvent["kind"]>> = {
	"system.message": "system",
	"user.message": "user",
	// Told to the model as a user message.
	"system.notification": "user",
	"assistant.message": "assistant",
	"tool.execution_complete": "tool",
};

/**
 * The events that make up what the main agent's model is sent at the end of a log:
 * - none that a rewind took back;
 * - after a compaction that came to its end, its summary and what followed its start, since Copilot goes on while the
 *   summary is written; after the context was cleared, what followed; the rest is no longer sent;
 * - of system messages under one name the last, since each turn logs the same prompt anew;
 * - none of a sub-agent.
 * A truncation only says how many messages it left out of a request, not which, so it changes nothing here.
 */
export function conversationEvents(events: readonly JsonObject[]): CopilotEvent[] {
	const gone = rewoundEvents(events);
	const isOwn = (index: number) => !gone.has(index) && !isOfSubagent(events[index] as JsonObject);
	const { first, summary } = findStart(events, isOwn);
	const prompts = new Map<string, number>();
	events.forEach((event, index) => {
		if (event.type === "system.message" && isOwn(index)) prompts.set(promptName(event), index);
	});
	return events.flatMap((event, index): CopilotEvent[] => {
		const data = dataOf(event);
		if (index === summary) return [{ index, sent: true, kind: "summary", data }];
		const type = stringAt(event, "type") ?? "";
		const kind = Object.hasOwn(kinds, type) ? kinds[type] : undefined;
		if (kind === undefined || !isOwn(index)) return [];
		if (kind === "system") {
			return prompts.get(promptName(event)) === index ? [{ index, sent: true, kind, data }] : [];
		}
		return [{ index, sent: index >= first, kind, data }];
	});
}

function findStart(events: readonly JsonObject[], isOwn: (index: number) => boolean) {
	for (let index = events.length - 1; index >= 0; index -= 1) {
		if (!isOwn(index)) continue;
		const event = events[index] as JsonObject;
		const data = dataOf(event);
		if (event.type === "session.context_cleared") {
			return { first: index, summary: stringAt(data, "initialMessage") === undefined ? undefined : index };
		}
		const summarised = data.success !== false && stringAt(data, "summaryContent") !== undefined;
		if (event.type !== "session.compaction_complete" || !summarised) continue;
		let start = index - 1;
		while (start >= 0 && !(events[start]?.type === "session.compaction_start" && isOwn(start))) start -= 1;
		return { first: start === -1 ? index : start, summary: index };
	}
	return { first: 0, summary: undefined };
}

/** Indexes of the events that were taken back: from the one that a rewind names up to the rewind. */
function rewoundEvents(events: readonly JsonObject[]): ReadonlySet<number> {
	const indexOf = new Map(events.map((event, index) => [idAt(event, "id"), index]));
	const gone = new Set<number>();
	for (let index = events.length - 1; index >= 0; index -= 1) {
		const event = events[index] as JsonObject;
		if (event.type !== "session.snapshot_rewind") continue;
		const target = idAt(dataOf(event), "upToEventId");
		const from = target === undefined ? undefined : indexOf.get(target);
		if (from === undefined) continue;
		// A rewind among what is taken back has nothing left to take back but what stands before it.
		while (index > from) {
			index -= 1;
			gone.add(index);
		}
	}
	return gone;
}

/** Newer logs name the sub-agent in the event, older ones the call that started it. */
function isOfSubagent(event: JsonObject): boolean {
	return idAt(event, "agentId") !== undefined || idAt(dataOf(event), "parentToolCallId") !== undefined;
}

function promptName(event: JsonObject): string {
	const data = dataOf(event);
	return JSON.stringify([stringAt(data, "role"), stringAt(data, "name")]);
}

function dataOf(event: JsonObject): JsonObject {
	return isJsonObject(event.data) ? event.data : {};
}
