import type { Plan } from "./edit.ts";
import { type EditTree, editTree } from "./edit-tree.ts";

/**
 * Applies a plan to a JSON document. Returns a new document in which every value that no edit touches is the very
 * same object as before; the input is never changed, and comes back itself where the plan is empty.
 *
 * @throws Error where a path of the plan does not exist in the document; a plan made for this document never does.
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
		// Behind the last item only something can be put.
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
	// Of the same shape as before, which takes less time and room than made anew.
	const rebuilt: Record<string, unknown> = { ...object };
	const removed: string[] = [];
	let found = 0;
	for (const key in rebuilt) {
		const child = children.get(key);
		if (!child || !Object.hasOwn(rebuilt, key)) continue;
		if (child.inserts) throw new Error("Expected a list to put a value into.");
		found += 1;
		if (child.edit?.kind === "remove") removed.push(key);
		// A key such as `__proto__` is one of its own here, and stays data.
		else rebuilt[key] = rebuild(object[key], child);
	}
	if (found !== children.size) throw new Error("Expected a key that is not there.");
	return removed.length === 0 ? rebuilt : without(rebuilt, removed);
}

function without(object: Record<string, unknown>, keys: readonly string[]): unknown {
	// `fromEntries` defines own properties too.
	return Object.fromEntries(Object.entries(object).filter(([key]) => !keys.includes(key)));
}
