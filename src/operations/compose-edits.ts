import { applyPlan } from "../conversation/apply.ts";
import { type Edit, noSize } from "../conversation/plan.ts";
import {
	itemBeside,
	jsonPointer,
	type Path,
	parseInsertPointer,
	parseJsonPointer,
	valueAt,
} from "../conversation/transcript.ts";
import type { ReadConversation } from "../formats/detect.ts";
import { sha256Of } from "../json-text/value.ts";
import type { EditRecord } from "./edit-record.ts";

/**
 * Combines two rounds of edits into one list of edits of the first document. `first` edits the document of `source`,
 * `second` the resulting one. `origins` are the indexes of the messages between the rounds in the first document; -1
 * for those that the first round inserted.
 */
export function composeEdits({
	source,
	between,
	first,
	second,
}: {
	readonly source: ReadConversation;
	readonly between: ReadConversation;
	readonly first: readonly EditRecord[];
	readonly second: readonly EditRecord[];
}): { readonly edits: EditRecord[]; readonly origins: readonly number[] } {
	const { document } = source;
	let steps = stepsOf(first, document);
	const tracks = tracksOf(document, steps);
	const origins = messageOrigins(source, between, tracks);
	const changes = new Map<Step, { readonly record: EditRecord; readonly path: Path }[]>();

	for (const record of second) {
		const origin = tracePath(tracks, pathOf(record, between.document));
		if (origin.kind === "before") {
			const { path } = origin;
			const inside = record.kind === "insert" ? [] : steps.filter(({ path: one }) => startsWith(one, path));
			if (inside.length > 0) steps = steps.filter((one) => !inside.includes(one));
			steps.push({ path, record: placed(record, { path, inside, source, origins }) });
			continue;
		}
		const { step, rest } = origin;
		if (rest.length > 0) {
			changes.set(step, [...(changes.get(step) ?? []), { record, path: rest }]);
		} else if (record.kind === "remove") {
			steps = steps.filter((one) => one !== step);
		} else if (record.kind === "replace") {
			step.record = { ...step.record, value: record.replacement, after: record.after };
		} else {
			const { path } = step;
			steps.splice(steps.indexOf(step), 0, { path, record: placed(record, { path, inside: [], source, origins }) });
		}
	}
	return { edits: steps.map((step) => withChanges(step.record, changes.get(step) ?? [])), origins };
}

function placed(
	record: EditRecord,
	at: {
		readonly path: Path;
		/** Edits of the first round that it replaces. */
		readonly inside: readonly Step[];
		readonly source: ReadConversation;
		readonly origins: readonly number[];
	},
): EditRecord {
	const { path, inside, source, origins } = at;
	const { document, transcript } = source;
	const before = { ...record.before };
	for (const { record: gone } of inside) {
		before.chars += gone.before.chars - gone.after.chars;
		before.tokens += gone.before.tokens - gone.after.tokens;
	}
	const { message, ...rest } = record;
	const index = message === undefined ? undefined : (origins[message] ?? transcript.messages.length);
	// The first round archived the whole value.
	const ref = inside.find((one) => one.path.length === path.length)?.record.ref ?? record.ref;
	return {
		...rest,
		path: jsonPointer(path),
		sha256_before: sha256Of(record.kind === "insert" ? itemBeside(document, path) : valueAt(document, path)),
		before,
		...(index === undefined || index < 0 ? {} : { message: index }),
		...(ref === undefined ? {} : { ref }),
	};
}

function withChanges(
	record: EditRecord,
	changes: readonly { readonly record: EditRecord; readonly path: Path }[],
): EditRecord {
	if (changes.length === 0) return record;
	const plan = changes.map((change) => editWithin(change.record, change.path));
	const after = { ...record.after };
	for (const { record: change } of changes) {
		after.chars += change.after.chars - change.before.chars;
		after.tokens += change.after.tokens - change.before.tokens;
	}
	return record.kind === "insert"
		? { ...record, after, value: applyPlan(record.value, plan) }
		: { ...record, after, replacement: applyPlan(record.replacement, plan) };
}

function editWithin(record: EditRecord, path: Path): Edit {
	const base = { path, message: 0, before: noSize, after: noSize, reason: record.reason } as const;
	switch (record.kind) {
		case "replace":
			return { ...base, kind: "replace", replacement: record.replacement };
		case "insert":
			return { ...base, kind: "insert", inserts: "part", value: record.value };
		case "remove":
			return { ...base, kind: "remove" };
	}
}

function startsWith(path: Path, start: Path): boolean {
	return start.length <= path.length && start.every((segment, index) => segment === path[index]);
}

function messageOrigins(source: ReadConversation, between: ReadConversation, tracks: Tracks): readonly number[] {
	const depth = source.located.base.length;
	const byValue = new Map<unknown, number[]>();
	source.transcript.messages.forEach(({ paths }, message) => {
		const value = paths[0]?.[depth];
		byValue.set(value, [...(byValue.get(value) ?? []), message]);
	});
	const taken = new Map<unknown, number>();
	return between.transcript.messages.map(({ paths: [path] }) => {
		const origin = path && tracePath(tracks, path.slice(0, depth + 1));
		if (origin?.kind !== "before") return -1;
		const value = origin.path[depth];
		const ordinal = taken.get(value) ?? 0;
		taken.set(value, ordinal + 1);
		return byValue.get(value)?.[ordinal] ?? -1;
	});
}

interface Step {
	readonly path: Path;
	record: EditRecord;
}

type Origin =
	| { readonly kind: "before"; readonly path: Path }
	/** `rest` is a path within a value that a step inserted. */
	| { readonly kind: "step"; readonly step: Step; readonly rest: Path };

interface Tracks {
	readonly document: unknown;
	readonly replacements: ReadonlyMap<string, Step>;
	/** By pointer of a list; `origins` once they are known. */
	readonly lists: Map<string, { readonly steps: Step[]; origins?: readonly (number | Step)[] }>;
}

function stepsOf(records: readonly EditRecord[], document: unknown): Step[] {
	return records.map((record) => ({ record, path: pathOf(record, document) }));
}

function pathOf({ kind, path }: EditRecord, document: unknown): Path {
	const found = kind === "insert" ? parseInsertPointer(path, document) : parseJsonPointer(path, document);
	if (!found) throw new Error("Expected an edit of this document.");
	return found;
}

function tracksOf(document: unknown, steps: readonly Step[]): Tracks {
	const replacements = new Map<string, Step>();
	const lists: Tracks["lists"] = new Map();
	for (const step of steps) {
		if (step.record.kind === "replace") {
			replacements.set(jsonPointer(step.path), step);
			continue;
		}
		const pointer = jsonPointer(step.path.slice(0, -1));
		const list = lists.get(pointer);
		if (list) list.steps.push(step);
		else lists.set(pointer, { steps: [step] });
	}
	return { document, replacements, lists };
}

function tracePath(tracks: Tracks, path: Path): Origin {
	let before: Path = [];
	for (const [depth, segment] of path.entries()) {
		const origin = typeof segment === "number" ? originOfItem(tracks, before, segment) : segment;
		if (typeof origin === "object") return { kind: "step", step: origin, rest: path.slice(depth + 1) };
		before = [...before, origin];
		const step = tracks.replacements.get(jsonPointer(before));
		if (step && depth < path.length - 1) return { kind: "step", step, rest: path.slice(depth + 1) };
	}
	return { kind: "before", path: before };
}

/** The index that an item of a list had before the first round, or the step that put it there. */
function originOfItem({ lists, document }: Tracks, list: Path, index: number): number | Step {
	const moved = lists.get(jsonPointer(list));
	if (!moved) return index;
	const items = valueAt(document, list);
	const length = Array.isArray(items) ? items.length : 0;
	moved.origins ??= originsOf(moved.steps, length);
	return moved.origins[index] ?? length;
}

function originsOf(steps: readonly Step[], length: number): (number | Step)[] {
	const at = new Map<number, Step[]>();
	for (const step of steps) {
		const index = Number(step.path.at(-1));
		const here = at.get(index);
		if (here) here.push(step);
		else at.set(index, [step]);
	}
	const origins: (number | Step)[] = [];
	for (let index = 0; index <= length; index += 1) {
		const here = at.get(index) ?? [];
		origins.push(...here.filter(({ record }) => record.kind === "insert"));
		if (index < length && !here.some(({ record }) => record.kind === "remove")) origins.push(index);
	}
	return origins;
}
