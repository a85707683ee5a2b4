import type { JsonObject } from "./json.ts";
import type { Edit, InsertEdit, Plan } from "./plan.ts";
import type { Path } from "./transcript.ts";

/**
 * Applies a plan to a JSON document. Returns a new document that shares every value without edits with the input; the input
 * itself where the plan is empty. The input is never changed.
 *
 * @throws Error where a path of the plan does not exist in the document.
 */
export function applyPlan(document: unknown, plan: Plan): unknown {
	if (plan.length === 0) return document;
	return rebuild(document, editTree(plan));
}

function rebuild(value: unknown, tree: EditTree): unknown {
	if (tree.edit?.kind === "replace") return tree.edit.replacement;
	if (!tree.children) return value;
	if (Array.isArray(value)) return rebuildArray(value, tree.children);
	if (typeof value === "object" && value !== null)
		return rebuildObject(value as Record<string, unknown>, tree.children);
	throw new Error("Expected an object or an array where a path of the plan goes on.");
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
		insertInto(rebuilt, child);
		if (child?.edit?.kind === "remove") return;
		rebuilt.push(child ? rebuild(item, child) : item);
	});
	insertInto(rebuilt, children.get(array.length));
	return rebuilt;
}

function insertInto(list: unknown[], tree: EditTree | undefined): void {
	for (const { value } of tree?.inserts ?? []) list.push(value);
}

function rebuildObject(object: Record<string, unknown>, children: ReadonlyMap<string | number, EditTree>): unknown {
	// A copy of the same shape takes less time and memory than a new object.
	const rebuilt: Record<string, unknown> = { ...object };
	const removed: string[] = [];
	let found = 0;
	for (const key in rebuilt) {
		const child = children.get(key);
		if (!child || !Object.hasOwn(rebuilt, key)) continue;
		if (child.inserts) throw new Error("Expected a list to put a value into.");
		found += 1;
		if (child.edit?.kind === "remove") removed.push(key);
		// A key such as `__proto__` is an own property here, and stays data.
		else rebuilt[key] = rebuild(object[key], child);
	}
	if (found !== children.size) throw new Error("Expected a key that is not there.");
	return removed.length === 0 ? rebuilt : without(rebuilt, removed);
}

/** Defines own properties, as `fromEntries` does. */
function without(object: Record<string, unknown>, keys: readonly string[]): unknown {
	return Object.fromEntries(Object.entries(object).filter(([key]) => !keys.includes(key)));
}

/** The edits below one value, by the next segment of their paths. */
export interface EditTree {
	/** The edit of this value itself. */
	edit?: Exclude<Edit, InsertEdit>;
	/** Inserts in front of it, in this order. */
	inserts?: InsertEdit[];
	children?: Map<string | number, EditTree>;
}

/** Sorts the edits of a plan by the values that hold them, from the root of the document. */
export function editTree(plan: Plan): EditTree {
	const root: EditTree = {};
	for (const edit of plan) {
		let node = root;
		for (const segment of edit.path) {
			node.children ??= new Map();
			let child = node.children.get(segment);
			if (!child) {
				child = {};
				node.children.set(segment, child);
			}
			node = child;
		}
		if (edit.kind !== "insert") node.edit = edit;
		else if (node.inserts) node.inserts.push(edit);
		else node.inserts = [edit];
	}
	return root;
}

/** How a format writes a message of plain text, valid for its API or for the program that resumes its sessions. */
export interface MessageWriter {
	readonly message: (given: WrittenMessage) => unknown;
	/**
	 * Where the API refuses two messages of one role in a row: the place of the list of parts within a message, and how a
	 * part is written, so that a text can be added to an existing message.
	 */
	readonly part?: { readonly list: Path; readonly write: (text: string) => unknown };
	/** Where a value of the list holds messages of its own, such as the record of a compaction: their place in it. */
	readonly within?: Path;
	/** Whether messages may be added at the end. Only its own program adds them to a recorded session. */
	readonly appends: boolean;
}

export interface WrittenMessage {
	readonly role: "user" | "assistant";
	readonly text: string;
	/** The value that it replaces, whose links to other records (id, parent, time, session) it keeps. */
	readonly instead?: unknown;
}

/** Whether two JSON values are the same: the same texts and numbers, and the same keys in the same order. */
export function equalsJson(a: unknown, b: unknown): boolean {
	if (Object.is(a, b)) return true;
	if (typeof a !== "object" || a === null || typeof b !== "object" || b === null) return false;
	if (Array.isArray(a)) {
		return Array.isArray(b) && a.length === b.length && a.every((item, index) => equalsJson(item, b[index]));
	}
	if (Array.isArray(b)) return false;
	const [keys, others] = [Object.keys(a), Object.keys(b)];
	if (keys.length !== others.length) return false;
	return keys.every((key, index) => {
		return key === others[index] && equalsJson((a as JsonObject)[key], (b as JsonObject)[key]);
	});
}
