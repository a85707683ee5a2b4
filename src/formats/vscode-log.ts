import { isJsonObject, type JsonObject } from "../conversation/json.ts";
import { listOf, objectOf } from "./json-values.ts";

/**
 * The chat of a `chatSessions/….jsonl` of VS Code: a snapshot (`kind` 0), then changes of it, as `objectMutationLog.ts` of
 * VS Code replays them. `undefined` for any other list.
 */
export function readChatLog(records: unknown): JsonObject | undefined {
	if (!Array.isArray(records) || !isChange(records[0]) || records[0].kind !== 0) return undefined;
	const root: Writable = { chat: undefined };
	const own = new WeakSet<object>([root]);
	for (const record of records as readonly unknown[]) {
		if (!isChange(record)) return undefined;
		if (record.kind === 0) root.chat = record.v;
		else change(root, record, own);
	}
	const chat = objectOf(root.chat);
	return Array.isArray(chat.requests) ? chat : undefined;
}

type Writable = Record<string | number, unknown>;

/** `kind` 1 sets the value at the path `k`, 2 cuts a list at `i` and adds to it, 3 takes a value out. */
function isChange(record: unknown): record is JsonObject {
	if (!isJsonObject(record)) return false;
	if (record.kind === 0) return isJsonObject(record.v);
	return [1, 2, 3].includes(record.kind as number) && listOf(record.k).length > 0;
}

/** Changes copies of the values on the way, which are the records' own. A path that leads nowhere changes nothing. */
function change(root: Writable, { kind, k, v, i }: JsonObject, own: WeakSet<object>): void {
	let holder = root;
	const path = ["chat", ...listOf(k)];
	for (const key of path.slice(0, -1)) {
		const next = copied(valueIn(holder, key), own);
		if (!next) return;
		holder[key as string] = next;
		holder = next;
	}
	const last = path.at(-1);
	if (!isKey(holder, last)) return;
	if (kind !== 2) {
		holder[last] = kind === 1 ? v : undefined;
		return;
	}
	const list = copied(valueIn(holder, last) ?? [], own);
	if (!Array.isArray(list)) return;
	if (typeof i === "number" && i >= 0 && i < list.length) list.length = Math.floor(i);
	for (const item of listOf(v)) list.push(item);
	holder[last] = list;
}

function valueIn(holder: Writable, key: unknown): unknown {
	return isKey(holder, key) && Object.hasOwn(holder, key) ? holder[key] : undefined;
}

/** Keys are untrusted: no names of prototypes, and no index that leaves a gap in a list. */
function isKey(holder: Writable, key: unknown): key is string | number {
	if (Array.isArray(holder)) return Number.isInteger(key) && (key as number) >= 0 && (key as number) <= holder.length;
	return (typeof key === "string" && key !== "__proto__") || typeof key === "number";
}

function copied(value: unknown, own: WeakSet<object>): Writable | undefined {
	if (typeof value !== "object" || value === null) return undefined;
	if (own.has(value)) return value as Writable;
	const copy = (Array.isArray(value) ? [...(value as unknown[])] : { ...value }) as Writable;
	own.add(copy);
	return copy;
}
