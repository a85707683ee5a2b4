import type { Original } from "../archive/archive.ts";
import { compactJson } from "../engine/compact-json.ts";
import type { Plan } from "../engine/edit.ts";
import { groupMessages } from "../engine/groups.ts";
import { pairResults } from "../engine/pairing.ts";
import { valueAt } from "../engine/path.ts";
import { takesMessageOut } from "../engine/takes-message-out.ts";
import type { ReadConversation } from "../formats/read-conversation.ts";

/** A dropped group as it is archived. */
export interface DroppedGroup {
	/** The JSON of its values: a list of messages or records, as they stood in the document. */
	readonly text: string;
	readonly messages: readonly number[];
	/** The group under each tool call that it holds, so that it is found by any of their ids. */
	readonly originals: readonly Original[];
}

/** The groups that a plan drops, or that a summary stands for, oldest first. */
export function droppedGroups({ document, transcript }: ReadConversation, plan: Plan): DroppedGroup[] {
	const dropped = new Set(plan.filter(takesMessageOut).map((edit) => edit.message));
	if (dropped.size === 0) return [];
	return groupMessages(transcript, pairResults(transcript)).flatMap(({ messages }): DroppedGroup[] => {
		if (!messages.every((index) => dropped.has(index))) return [];
		const members = messages.flatMap((index) => transcript.messages[index] ?? []);
		const values = members.flatMap(({ paths }) => paths.map((path) => valueAt(document, path)));
		const text = compactJson(values);
		const calls = members.flatMap((message) => message.calls).filter(({ id }) => id !== undefined);
		const original = { kind: "group", text } as const;
		const originals: Original[] =
			calls.length === 0 ? [original] : calls.map(({ id, name }) => ({ ...original, toolCallId: id, toolName: name }));
		return [{ text, messages, originals }];
	});
}
