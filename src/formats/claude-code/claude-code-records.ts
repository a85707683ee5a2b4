import { isJsonObject, type JsonObject, stringAt } from "../json-values.ts";
import { type RecordTies, recordChain, repeatedRecords } from "../sessions/record-chain.ts";

/** A record of a session that holds a user's or an assistant's message. */
export interface SpeechRecord {
	readonly index: number;
	readonly record: JsonObject;
	readonly message: JsonObject;
	/** The same record where it stands in the file once more. */
	readonly repeats: readonly SpeechRecord[];
	/** False where a compaction took its place. */
	readonly sent?: boolean;
	/** Indexes of the attachments that are sent along with it. */
	readonly attachments?: readonly number[];
}

/** Reads a record as speech; `undefined` for all the others (snapshots, progress, summaries, queue operations, …). */
export function readSpeech(record: unknown, index: number): SpeechRecord | undefined {
	if (!isJsonObject(record) || (record.type !== "user" && record.type !== "assistant")) return undefined;
	const message = Object.hasOwn(record, "message") ? record.message : undefined;
	return isJsonObject(message) ? { index, record, message, repeats: [] } : undefined;
}

/**
 * The records that make up the conversation as it would be sent now, in file order: the chain of parents that ends in
 * the last message, with what belongs to it but hangs beside it, since one answer of the API is written as several
 * records and each parallel call has its result as a child of its own. Branches that a rewind or a retry left behind
 * are not part of it, nor are the notices of failed API requests, which are never sent. What a compaction took the place
 * of is, but it is no longer sent.
 */
export function conversationRecords(records: readonly unknown[]): SpeechRecord[] {
	const { main, ties } = readTree(records);
	const chain = chainOf(records, main, ties);
	const choose = (indexes: readonly number[]): ReadonlySet<SpeechRecord> => {
		const wanted = new Set(indexes);
		const chosen = new Set(main.filter(({ index }) => wanted.has(index)));
		addSiblings(main, chosen);
		return chosen;
	};
	const sent = choose(chain);
	const whole = [...chain, ...compactedChain(records, chain, ties)];
	const all = choose(whole);
	const spoken = main.flatMap((one) => (all.has(one) && !isApiError(one) ? [{ ...one, sent: sent.has(one) }] : []));
	return withAttachments(records, spoken, [...whole, ...trailingAttachments(records, main.at(-1)?.index)]);
}

/** Adds the attachments of the conversation to the records that they stand behind; the first ones to the first record. */
function withAttachments(
	records: readonly unknown[],
	spoken: readonly SpeechRecord[],
	whole: readonly number[],
): SpeechRecord[] {
	const attached = whole.filter((index) => isAttachment(records[index])).sort((a, b) => a - b);
	let next = 0;
	return spoken.map((one, position) => {
		const end = spoken[position + 1]?.index ?? Number.POSITIVE_INFINITY;
		const begin = next;
		while ((attached[next] ?? Number.POSITIVE_INFINITY) < end) next += 1;
		return next === begin ? one : { ...one, attachments: attached.slice(begin, next) };
	});
}

function isAttachment(record: unknown): record is JsonObject {
	return isJsonObject(record) && record.type === "attachment";
}

/** The attachments behind the last message, which no message follows yet. */
function trailingAttachments(records: readonly unknown[], last: number | undefined): number[] {
	const message = last === undefined ? undefined : records[last];
	if (last === undefined || !isJsonObject(message)) return [];
	const ties = new Set([stringAt(message, "uuid")]);
	return records.flatMap((record, index) => {
		if (index <= last || !isAttachment(record)) return [];
		const parent = stringAt(record, "parentUuid");
		if (parent === undefined || !ties.has(parent)) return [];
		ties.add(stringAt(record, "uuid"));
		return [index];
	});
}

/** The records before the beginning of a chain, where a compaction made that beginning: what it took the place of. */
function compactedChain(records: readonly unknown[], chain: readonly number[], ties: RecordTies): number[] {
	const indexOf = new Map(records.map((record, index) => [isJsonObject(record) ? record.uuid : undefined, index]));
	const found = new Set(chain);
	for (let start = chain.at(-1); start !== undefined && ties.isStart(start); ) {
		const { logicalParentUuid, parentUuid } = records[start] as JsonObject;
		const named = indexOf.get(logicalParentUuid ?? parentUuid ?? "");
		const before = named ?? records.findLastIndex((_, index) => index < (start ?? 0) && ties.isNode(index));
		if (before === -1 || found.has(before)) break;
		const earlier: readonly number[] = recordChain(records, before, ties);
		for (const index of earlier) found.add(index);
		start = earlier.at(-1);
	}
	return Array.from(found).slice(chain.length);
}

/** The records on the way from the last message back to the beginning. */
export function conversationChain(records: readonly unknown[]): readonly number[] {
	const { main, ties } = readTree(records);
	return chainOf(records, main, ties);
}

function chainOf(records: readonly unknown[], main: readonly SpeechRecord[], ties: RecordTies): readonly number[] {
	const last = main.at(-1);
	return last ? recordChain(records, last.index, ties) : [];
}

/** The messages of the main agent in a session, and how its records are tied. */
function readTree(records: readonly unknown[]): { main: readonly SpeechRecord[]; ties: RecordTies } {
	const repeats = repeatedRecords(records, "uuid", contentOf);
	const speech = withoutRepeats(
		records.flatMap((record, index) => readSpeech(record, index) ?? []),
		repeats,
	);
	// In a subagent's own file every record is a sidechain; elsewhere a sidechain is another agent's conversation.
	const isOwnFile = speech.every(({ record }) => isSidechain(record));
	const isMain = (record: JsonObject) => isOwnFile || !isSidechain(record);
	const main = speech.filter(({ record }) => isMain(record));
	const isSpeech = new Set(main.map(({ index }) => index));
	const isNode = (index: number) => {
		const record = records[index];
		if (!isJsonObject(record) || repeats.has(index)) return false;
		return isMain(record) && (isSpeech.has(index) || typeof record.uuid === "string");
	};
	const isStart = (index: number) => replacesHistory(records[index]);
	return { main, ties: { id: "uuid", parent: "parentUuid", isNode, isStart } };
}

/** Of a message what it says; who resumes a session writes the time and the folder of the copy anew. */
function contentOf(record: JsonObject): unknown {
	const speech = readSpeech(record, 0);
	return speech ? [record.type, isSidechain(record), speech.message] : record;
}

/** Records that stand in the file more than once are taken where they stand first, with the others beside them. */
function withoutRepeats(speech: readonly SpeechRecord[], repeats: ReadonlyMap<number, number>): SpeechRecord[] {
	const others = new Map<number, SpeechRecord[]>();
	for (const one of speech) {
		const first = repeats.get(one.index);
		if (first === undefined) continue;
		const known = others.get(first);
		if (known) known.push(one);
		else others.set(first, [one]);
	}
	return speech.flatMap((one) => (repeats.has(one.index) ? [] : { ...one, repeats: others.get(one.index) ?? [] }));
}

/** The ids of all calls that a record of the main agent answers, whichever branch it stands on. */
export function answeredCalls(records: readonly unknown[]): readonly string[] {
	const ids = readTree(records).main.flatMap(({ message }) => idsOf(message, "tool_result", "tool_use_id"));
	return [...new Set(ids)];
}

function isSidechain(record: JsonObject): boolean {
	return record.isSidechain === true || typeof record.parent_tool_use_id === "string";
}

/** Nothing before a compaction is sent any longer. */
function replacesHistory(record: unknown): boolean {
	return isJsonObject(record) && (record.subtype === "compact_boundary" || record.isCompactSummary === true);
}

function isApiError({ record, message }: SpeechRecord): boolean {
	return record.isApiErrorMessage === true && message.model === "<synthetic>";
}

/** Adds the other records of the same API messages, and results of theirs that no chosen record holds. */
function addSiblings(main: readonly SpeechRecord[], chosen: Set<SpeechRecord>): void {
	const messageIds = new Set(Array.from(chosen, apiMessageId));
	for (const one of main) {
		const id = apiMessageId(one);
		if (id !== undefined && messageIds.has(id)) chosen.add(one);
	}
	const open = new Set(Array.from(chosen).flatMap(({ message }) => idsOf(message, "tool_use", "id")));
	for (const { message } of chosen) for (const id of idsOf(message, "tool_result", "tool_use_id")) open.delete(id);
	for (const one of main) {
		const answered = chosen.has(one) ? [] : idsOf(one.message, "tool_result", "tool_use_id");
		if (!answered.some((id) => open.has(id))) continue;
		chosen.add(one);
		for (const id of answered) open.delete(id);
	}
}

/** The id under which the API gave an answer, which all records of that answer carry. */
export function apiMessageId({ record, message }: SpeechRecord): string | undefined {
	return record.type === "assistant" ? stringAt(message, "id") || undefined : undefined;
}

function idsOf(message: JsonObject, type: string, key: string): string[] {
	if (!Array.isArray(message.content)) return [];
	return (message.content as unknown[]).flatMap((block) =>
		isJsonObject(block) && block.type === type ? (stringAt(block, key) ?? []) : [],
	);
}
