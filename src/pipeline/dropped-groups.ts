import type { Original } from "../archive/archive.ts";
import type { Plan } from "../engine/edit.ts";
import { groupMessages } from "../engine/groups.ts";
import { pairResults } from "../engine/pairing.ts";
import { jsonPointer, valueAt } from "../engine/path.ts";
import { compactJson } from "../engine/stringify.ts";
import { takesMessageOut } from "../engine/takes-message-out.ts";
import type { ToolCall, ToolResult } from "../engine/transcript.ts";
import type { ReadConversation } from "../formats/read-conversation.ts";

/** A dropped group as it is archived. */
export interface DroppedGroup {
	/** The JSON of its values: a list of messages or records, as they stood in the document. */
	readonly text: string;
	readonly messages: readonly number[];
	/** The group under each tool call that it holds, so that it is found by any of their ids. */
	readonly originals: readonly Original[];
}

/**
 * The groups that a plan drops, or that a summary stands for, oldest first. Of a group that goes in part, as a strategy
 * of the user's own may write a result anew, what goes is archived message by message.
 */
export function droppedGroups(source: ReadConversation, plan: Plan): DroppedGroup[] {
	const gone = goneMessages(source, plan);
	if (gone.size === 0) return [];
	const { transcript } = source;
	return groupMessages(transcript, pairResults(transcript)).flatMap(({ messages }) => {
		const parts = messages.every((index) => gone.has(index))
			? [messages]
			: messages.flatMap((index) => (gone.has(index) ? [[index]] : []));
		return parts.map((part) => archived(source, part));
	});
}

/** An edit names the first of the messages that its value holds. */
function goneMessages({ transcript, located }: ReadConversation, plan: Plan): ReadonlySet<number> {
	const gone = new Set<number>();
	const values = new Set<string>();
	const depth = located.base.length + 1;
	for (const edit of plan) {
		if (!takesMessageOut(edit)) continue;
		if (edit.message >= 0) gone.add(edit.message);
		if (edit.reason === "summary" && edit.path.length === depth) values.add(jsonPointer(edit.path));
	}
	if (values.size === 0) return gone;
	transcript.messages.forEach(({ paths }, index) => {
		if (paths.length > 0 && paths.every((path) => values.has(jsonPointer(path.slice(0, depth))))) gone.add(index);
	});
	return gone;
}

function archived({ document, transcript }: ReadConversation, messages: readonly number[]): DroppedGroup {
	const members = messages.flatMap((index) => transcript.messages[index] ?? []);
	const text = compactJson(members.flatMap(({ paths }) => paths.map((path) => valueAt(document, path))));
	const calls = callsOf(members.flatMap((message) => message.calls));
	const named = calls.length > 0 ? calls : resultsOf(members.flatMap((message) => message.results));
	const original = { kind: "group", text } as const;
	return { text, messages, originals: named.length === 0 ? [original] : named.map((one) => ({ ...original, ...one })) };
}

type Named = Pick<Original, "toolCallId" | "toolName">;

function callsOf(calls: readonly ToolCall[]): Named[] {
	return calls.flatMap(({ id, name }) => (id === undefined ? [] : [{ toolCallId: id, toolName: name }]));
}

/** What goes without its call is found by what it answers. */
function resultsOf(results: readonly ToolResult[]): Named[] {
	return results.flatMap(({ callId }) => (callId === undefined ? [] : [{ toolCallId: callId }]));
}
