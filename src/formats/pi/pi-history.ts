import type { Path } from "../../engine/path.ts";
import type { LocatedMessages } from "../format.ts";
import { isJsonObject, type JsonObject, stringAt } from "../json-values.ts";
import { recordChain } from "../sessions/record-chain.ts";

/** A record on the way from the last one back to the beginning. */
export interface PiEntry {
	/** Whether its message would be sent; a compaction or an edit of the context may have taken it out. */
	readonly sent: boolean;
	readonly record: JsonObject;
	readonly path: Path;
	/** What an edit of the context put in the place of its content, and where that stands. */
	readonly replaced: { readonly content: unknown; readonly path: Path } | undefined;
}

/** What a session comes to when it is resumed. */
export interface PiHistory {
	readonly entries: readonly PiEntry[];
	/** The summary of what was compacted, which goes along with each request. */
	readonly summary: string | undefined;
}

/**
 * Follows a session as pi does when it resumes one: the branch that ends in the last record; of that, where it was
 * compacted, the summary, the records from the first kept one on and those after the compaction. Records before those, and
 * those that a `context_edit` takes out, are no longer sent; all that is not on that way is no part of it.
 */
export function followPiSession({ messages: records, base }: LocatedMessages): PiHistory {
	const branch = piChain(records).toSorted((a, b) => a - b);
	const at = (index: number) => records[index] as JsonObject;

	const compaction = branch.findLast((index) => at(index).type === "compaction");
	const first = compaction === undefined ? 0 : firstKept(branch, compaction, at);
	const edits = new Map<string, number>();
	for (const index of branch) {
		const target = at(index).type === "context_edit" ? stringAt(at(index), "targetId") : undefined;
		if (target !== undefined) edits.set(target, index);
	}
	const entries = branch.map((index): PiEntry => {
		const edit = edits.get(stringAt(at(index), "id") ?? "");
		const entry = { record: at(index), path: [...base, index], sent: index >= first, replaced: undefined };
		if (edit === undefined) return entry;
		const { replacement } = at(edit);
		if (!isJsonObject(replacement)) return { ...entry, sent: false };
		return { ...entry, replaced: { content: replacement.content, path: [...base, edit, "replacement", "content"] } };
	});
	return { entries, summary: compaction === undefined ? undefined : stringAt(at(compaction), "summary") };
}

/** The records on the way from the last one back to the beginning. */
export function piChain(records: readonly unknown[]): readonly number[] {
	const firstOf = new Map<unknown, number>();
	records.forEach((record, index) => {
		if (isJsonObject(record) && !firstOf.has(record.id)) firstOf.set(record.id, index);
	});
	const isNode = (index: number) => {
		const record = records[index];
		if (!isJsonObject(record) || record.type === "session") return false;
		// A record that stands in the file a second time is no other one.
		return typeof record.id !== "string" || firstOf.get(record.id) === index;
	};
	const last = records.findLastIndex((_, index) => isNode(index));
	return last === -1 ? [] : recordChain(records, last, { id: "id", parent: "parentId", isNode, isStart: () => false });
}

/**
 * Index of the first record that a compaction kept. The first versions gave its position, counting the header; where it
 * names a record that is not there, nothing before the compaction is kept.
 */
function firstKept(branch: readonly number[], compaction: number, at: (index: number) => JsonObject): number {
	const { firstKeptEntryId: id, firstKeptEntryIndex: position } = at(compaction);
	if (typeof position === "number") return Math.min(position, compaction);
	const named = typeof id === "string" ? branch.find((index) => at(index).id === id) : undefined;
	return Math.min(named ?? compaction, compaction);
}
