import type { Plan } from "./edit.ts";
import { type EditTree, editTree } from "./edit-tree.ts";
import { equalsJson } from "./equals-json.ts";
import { jsonPointer } from "./path.ts";
import type { Violation } from "./violation.ts";

/**
 * Checks that a document differs from the one before only where the plan says so: every value beside the edited paths
 * is the very same object, keys stand in the same order, and each edited place holds its replacement, or what was inserted there.
 */
export function verifyUntouched(before: unknown, after: unknown, plan: Plan): Violation[] {
	const violations: Violation[] = [];
	const path: (string | number)[] = [];
	const report = () => {
		violations.push({ promise: "untouched_parts_identical", detail: jsonPointer(path) || "the whole document" });
	};
	const compareAt = (segment: string | number, old: unknown, current: unknown, tree: EditTree | undefined) => {
		path.push(segment);
		compare(old, current, tree);
		path.pop();
	};

	const compare = (old: unknown, current: unknown, tree: EditTree | undefined): void => {
		if (tree?.edit?.kind === "replace") {
			if (!equalsJson(tree.edit.replacement, current)) report();
			return;
		}
		const children = tree?.children;
		if (!children) {
			if (!Object.is(old, current)) report();
			return;
		}
		if (Array.isArray(old) && Array.isArray(current)) {
			let grown = 0;
			children.forEach(({ edit, inserts }) => {
				grown += (inserts?.length ?? 0) - (edit?.kind === "remove" ? 1 : 0);
			});
			if (old.length + grown !== current.length) return void report();
			let position = 0;
			const compareInserted = (child: EditTree | undefined) => {
				for (const { value } of child?.inserts ?? []) {
					if (!equalsJson(value, current[position])) report();
					position += 1;
				}
			};
			for (let index = 0; index <= old.length; index += 1) {
				const child = children.get(index);
				compareInserted(child);
				if (index === old.length || child?.edit?.kind === "remove") continue;
				compareAt(index, old[index], current[position], child);
				position += 1;
			}
			return;
		}
		if (!isObject(old) || !isObject(current)) return void report();
		const keys = Object.keys(old);
		const currentKeys = Object.keys(current);
		let position = 0;
		for (const key of keys) {
			if (children.get(key)?.edit?.kind === "remove") continue;
			if (key !== currentKeys[position]) return void report();
			position += 1;
		}
		if (position !== currentKeys.length) return void report();
		for (const key of currentKeys) compareAt(key, old[key], current[key], children.get(key));
	};
	compare(before, after, editTree(plan));
	return violations;
}

function isObject(value: unknown): value is Record<string, unknown> {
	return typeof value === "object" && value !== null && !Array.isArray(value);
}
