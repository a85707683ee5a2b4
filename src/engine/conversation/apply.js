import { isJsonObject } from "./json.js";
/** The new document shares all values without edits with the input. Throws if a path of the plan does not exist in it. */
export function applyPlan(document, plan) {
	return rebuild(document, editTree(plan));
}
function rebuild(value, tree) {
	if (tree.edit?.kind === "replace") return tree.edit.replacement;
	if (!tree.children) return value;
	if (Array.isArray(value)) return rebuildArray(value, tree.children);
	if (isJsonObject(value)) return rebuildObject(value, tree.children);
	throw new Error("Expected an object or an array, since a path of the plan continues.");
}
function rebuildArray(array, children) {
	for (const [index, { edit, children: below }] of children) {
		// After the last item only an insert is possible.
		const isThere = typeof index === "number" && (index in array || (index === array.length && !edit && !below));
		if (!isThere) throw new Error(`Expected an item ${index} in a list.`);
	}
	const rebuilt = [];
	array.forEach((item, index) => {
		const child = children.get(index);
		for (const { value } of child?.inserts ?? []) rebuilt.push(value);
		if (child?.edit?.kind === "remove") return;
		rebuilt.push(child ? rebuild(item, child) : item);
	});
	for (const { value } of children.get(array.length)?.inserts ?? []) rebuilt.push(value);
	return rebuilt;
}
function rebuildObject(object, children) {
	// A copy of the same shape is faster and smaller than a new object.
	const rebuilt = { ...object };
	const removed = [];
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
export function editTree(plan) {
	const root = {};
	for (const edit of plan) {
		let node = root;
		for (const segment of edit.path) {
			node.children ??= new Map();
			const child = node.children.get(segment) ?? {};
			node.children.set(segment, child);
			node = child;
		}
		if (edit.kind !== "insert") node.edit = edit;
		else {
			node.inserts ??= [];
			node.inserts.push(edit);
		}
	}
	return root;
}
/** The keys have to be in the same order. */
export function equalsJson(a, b) {
	if (Object.is(a, b)) return true;
	if (typeof a !== "object" || a === null || typeof b !== "object" || b === null) return false;
	if (Array.isArray(a)) {
		return Array.isArray(b) && a.length === b.length && a.every((item, index) => equalsJson(item, b[index]));
	}
	if (Array.isArray(b)) return false;
	const [keys, others] = [Object.keys(a), Object.keys(b)];
	const isSame = (key) => equalsJson(a[key], b[key]);
	return keys.length === others.length && keys.every((key, index) => key === others[index] && isSame(key));
}
