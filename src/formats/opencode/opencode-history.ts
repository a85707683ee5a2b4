import { idAt, isJsonObject, type JsonObject, stringAt } from "../json-values.ts";

/** One message of an opencode session. */
export interface OpencodeRecord {
	readonly info: JsonObject;
	readonly parts: readonly JsonObject[];
}

/** What stands of a session after its last compaction. */
export interface Compaction {
	/** Index of the first record that is still sent. */
	readonly first: number;
	/** Indexes of the request for the summary and of the summary. */
	readonly summary: ReadonlySet<number>;
}

/**
 * Finds the last compaction that came to its end: a user message with a `compaction` part, answered by a summary. The
 * model is sent what follows the request, or what follows `tail_start_id` where the part keeps a tail.
 */
export function findCompaction(records: readonly OpencodeRecord[]): Compaction {
	const summaries = new Map<string, number>();
	for (let index = records.length - 1; index >= 0; index -= 1) {
		const { info, parts } = records[index] as OpencodeRecord;
		const parent = idAt(info, "parentID");
		if (info.role === "assistant" && info.summary === true && info.finish && !info.error && parent) {
			summaries.set(parent, index);
		}
		const summary = summaries.get(idAt(info, "id") ?? "");
		const request = parts.find((part) => part.type === "compaction");
		if (info.role !== "user" || summary === undefined || !request) continue;
		const tail = idAt(request, "tail_start_id");
		const start = tail === undefined ? index : startOfTail(records, tail);
		return { first: Math.min(start, index), summary: new Set([index, summary]) };
	}
	return { first: 0, summary: new Set() };
}

/** Ids ascend, so that a tail is found even where its first message has been dropped. */
function startOfTail(records: readonly OpencodeRecord[], tail: string): number {
	const exact = records.findIndex(({ info }) => info.id === tail);
	if (exact !== -1) return exact;
	const next = records.findIndex(({ info }) => (idAt(info, "id") ?? "") > tail);
	return next === -1 ? records.length : next;
}

/** Whether opencode sends a message: one without parts it skips, and one that failed before it said anything. */
export function isSent({ info, parts }: OpencodeRecord): boolean {
	if (parts.length === 0) return false;
	if (info.role !== "assistant" || !info.error) return true;
	const saysNothing = (part: JsonObject) => part.type === "step-start" || part.type === "reasoning";
	const aborted = isJsonObject(info.error) && stringAt(info.error, "name") === "MessageAbortedError";
	return aborted && !parts.every(saysNothing);
}
