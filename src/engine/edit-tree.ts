import type { Edit, InsertEdit, Plan } from "./edit.ts";

/** The edits below one value, by the next segment of their paths. */
export interface EditTree {
	/** What is done to this value itself. */
	edit?: Exclude<Edit, InsertEdit>;
	/** What is put in front of it, in this order. */
	inserts?: InsertEdit[];
	children?: Map<string | number, EditTree>;
}

/** Sorts the edits of a plan by the values that they stand in, from the root of the document. */
export function editTree(plan: Plan): EditTree {
	let tree = trees.get(plan);
	if (!tree) {
		tree = buildTree(plan);
		trees.set(plan, tree);
	}
	return tree;
}

// A plan is applied and verified by the same tree.
const trees = new WeakMap<Plan, EditTree>();

function buildTree(plan: Plan): EditTree {
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
