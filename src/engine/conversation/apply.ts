import { isJsonObject, type JsonObject } from "./json.ts";
import type { Path } from "./paths.ts";
import type { InsertEdit, RemoveEdit, ReplaceEdit } from "./plan.ts";

/** The part of an edit that changes the document. */
export type Change =
	| Pick<ReplaceEdit, "kind" | "path" | "replacement">
	| Pick<RemoveEdit, "kind" | "path">
	| Pick<InsertEdit, "kind" | "path" | "value">;

/** The new document shares all values without edits with the input. Throws if a path of the plan does not exist in it. */
export function applyPlan(document: unknown, plan: readonly Change[]): unknown {
	return rebuild(document, editTree(plan));
}

function rebuild(value: unknown, tree: EditTree): unknown {
	if (tree.edit?.kind === "replace") return tree.edit.replacement;
	if (!tree.children) return value;
	if (Array.isArray(value)) return rebuildArray(value, tree.children);
	if (isJsonObject(value)) return rebuildObject(value, tree.children);
	throw new Error("Expected an object or an array, since a path of the plan continues.");
}

function rebuildArray(array: readonly unknown[], children: ReadonlyMap<string | number, EditTree>): unknown[] {
	for (const [index, { edit, children: below }] of children) {
		// After the last item only an insert is possible.
		const isThere = typeof index === "number" && (index in array || (index === array.length && !edit && !below));
		if (!isThere) throw new Error(`Expected an item ${index} in a list.`);
	}
	const rebuilt: unknown[] = [];
	array.forEach((item, index) => {
		const child = children.get(index);
		for (const { value } of child?.inserts ?? []) rebuilt.push(value);
		if (child?.edit?.kind === "remove") return;
		rebuilt.push(child ? rebuild(item, child) : item);
	});
	for (const { value } of children.get(array.length)?.inserts ?? []) rebuilt.push(value);
	return rebuilt;
}

function rebuildObject(object: JsonObject, children: ReadonlyMap<string | number, EditTree>): unknown {
	// A copy of the same shape is faster and smaller than a new object.
	const rebuilt: Record<string, unknown> = { ...object };
	const removed: string[] = [];
	let found = 0;
	for (const key in rebuilt) {
		const child = children.get(key);
		if (!child || !Object.hasOwn(rebuilt, key)) continue;
		if (child.inserts) throw new Error("Expected a list to put a value into.");
		found += 1;
		if (child.edit?.kind === "remove") removed.push(key);
		// A key such as `__proto__` is an own property here.
		else rebuilt[key] = rebuild(object[key], child);
	}
	if (found !== children.size) throw new Error("Expected a key that is not there.");
	if (removed.length === 0) return rebuilt;
	return Object.fromEntries(Object.entries(rebuilt).filter(([key]) => !removed.includes(key)));
}

export interface EditTree<One extends Change = Change> {
	edit?: Exclude<One, { readonly kind: "insert" }>;
	inserts?: Extract<One, { readonly kind: "insert" }>[];
	children?: Map<string | number, EditTree<One>>;
}

export function editTree<One extends Change>(plan: readonly One[]): EditTree<One> {
	const root: EditTree<One> = {};
	for (const edit of plan) {
		let node = root;
		for (const segment of edit.path) {
			node.children ??= new Map();
			const child = node.children.get(segment) ?? {};
			node.children.set(segment, child);
			node = child;
		}
		if (edit.kind !== "insert") node.edit = edit as Exclude<One, { readonly kind: "insert" }>;
		else {
			node.inserts ??= [];
			node.inserts.push(edit as Extract<One, { readonly kind: "insert" }>);
		}
	}
	return root;
}

/** Writes messages of plain text, valid for the API or for the program that resumes its sessions. */
export interface MessageWriter {
	readonly message: (given: WrittenMessage) => unknown;
	/** Adds a text to an existing message, since many models refuse two messages of one role in a row. */
	readonly part?: TextPart;
	/** The place of messages inside a value of the list, such as the record of a compaction. */
	readonly within?: Path;
	/** Whether messages may be added at the end. Only its own program adds them to a recorded session. */
	readonly appends: boolean;
}

export interface TextPart {
	/** Where a message may have its parts, or one text in place of them. */
	readonly lists: readonly Path[];
	/** The key of a part's text. */
	readonly key: "text" | "content";
	readonly write: (text: string) => unknown;
}

export interface WrittenMessage {
	readonly role: "user" | "assistant";
	readonly text: string;
	/** The value that it replaces. It keeps the id, parent, time and session of that value. */
	readonly instead?: unknown;
}

/** The keys have to be in the same order. */
export function equalsJson(a: unknown, b: unknown): boolean {
	if (Object.is(a, b)) return true;
	if (typeof a !== "object" || a === null || typeof b !== "object" || b === null) return false;
	if (Array.isArray(a)) {
		return Array.isArray(b) && a.length === b.length && a.every((item, index) => equalsJson(item, b[index]));
	}
	if (Array.isArray(b)) return false;
	const [keys, others] = [Object.keys(a), Object.keys(b)];
	const isSame = (key: string) => equalsJson((a as JsonObject)[key], (b as JsonObject)[key]);
	return keys.length === others.length && keys.every((key, index) => key === others[index] && isSame(key));
}
