import type { Edit, Plan } from "./edit.ts";
import { jsonPointer, type Path } from "./path.ts";
import type { Violation } from "./violation.ts";

/**
 * Checks that a document differs from the one before only where the plan says so: every value beside the edited paths
 * is the very same object, keys stand in the same order, and each edited place holds its replacement.
 */
export function verifyUntouched(before: unknown, after: unknown, plan: Plan): Violation[] {
	const edits = new Map<string, Edit>(plan.map((edit) => [jsonPointer(edit.path), edit]));
	const onTheWay = new Set<string>();
	for (const { path } of plan) {
		for (let length = 0; length < path.length; length += 1) onTheWay.add(jsonPointer(path.slice(0, length)));
	}
	const violations: Violation[] = [];
	const report = (path: Path) =>
		violations.push({ promise: "untouched_parts_identical", detail: jsonPointer(path) || "the whole document" });

	const compare = (old: unknown, current: unknown, path: Path): void => {
		const pointer = jsonPointer(path);
		const edit = edits.get(pointer);
		if (edit?.kind === "replace") {
			if (current !== edit.replacement) report(path);
			return;
		}
		if (!onTheWay.has(pointer)) {
			if (!Object.is(old, current)) report(path);
			return;
		}
		if (Array.isArray(old) && Array.isArray(current)) {
			const kept = old.flatMap((item, index) => (isRemoved(edits, [...path, index]) ? [] : [{ item, index }]));
			if (kept.length !== current.length) return void report(path);
			for (const [position, { item, index }] of kept.entries()) compare(item, current[position], [...path, index]);
			return;
		}
		if (!isObject(old) || !isObject(current)) return void report(path);
		const keys = Object.keys(old).filter((key) => !isRemoved(edits, [...path, key]));
		if (keys.join("\n") !== Object.keys(current).join("\n")) return void report(path);
		for (const key of keys) compare(old[key], current[key], [...path, key]);
	};
	compare(before, after, []);
	return violations;
}

function isRemoved(edits: ReadonlyMap<string, Edit>, path: Path): boolean {
	return edits.get(jsonPointer(path))?.kind === "remove";
}

function isObject(value: unknown): value is Record<string, unknown> {
	return typeof value === "object" && value !== null && !Array.isArray(value);
}
