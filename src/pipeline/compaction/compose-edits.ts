import { sha256Of } from "../../documents/sha256-of.ts";
import { applyPlan } from "../../engine/apply.ts";
import {
	itemBeside,
	jsonPointer,
	type Path,
	parseInsertPointer,
	parseJsonPointer,
	valueAt,
} from "../../engine/path.ts";
import type { ReadConversation } from "../../formats/read-conversation.ts";
import type { EditRecord } from "../edit-record.ts";

/** Two rounds of edits: those of `first` are of the document of `source`, those of `second` of what the first made of it. */
export interface TwoRounds {
	readonly source: ReadConversation;
	readonly between: ReadConversation;
	readonly first: readonly EditRecord[];
	readonly second: readonly EditRecord[];
}

interface Step {
	readonly path: Path;
	record: EditRecord;
}

/**
 * The edits of two rounds as one list of edits of the first document. What the second round does to a value that the first
 * has put in is done to that value; what it takes out or replaces takes the first round's edits there with it.
 */
export function composeEdits({ source, between, first, second }: TwoRounds): EditRecord[] {
	const { document, located } = source;
	const depth = located.base.length;
	let steps = first.map((record): Step => ({ record, path: pathOf(record, document) }));
	const origins = originsOf(steps, located.messages.length, depth);
	const messages = messagesBefore(source, between, origins);

	for (const record of second) {
		const path = pathOf(record, between.document);
		const index = path[depth];
		const origin = typeof index === "number" ? (origins[index] ?? located.messages.length) : undefined;
		if (typeof origin === "object") {
			// The value is one of the first round's own: it is written with the change, or not at all.
			const rest = path.slice(depth + 1);
			if (rest.length > 0) origin.record = withChange(origin.record, record, rest);
			else if (record.kind === "remove" && origin.record.kind === "insert")
				steps = steps.filter((one) => one !== origin);
			else if (record.kind === "remove") origin.record = asRemoval(origin.record);
			continue;
		}
		const moved = origin === undefined ? path : [...path.slice(0, depth), origin, ...path.slice(depth + 1)];
		const inside = record.kind === "insert" ? [] : steps.filter(({ path: one }) => startsWith(one, moved));
		steps = steps.filter((one) => !inside.includes(one));
		steps.push({ path: moved, record: placed(record, { path: moved, inside, source, messages }) });
	}
	return steps.map(({ record }) => record);
}

function pathOf({ kind, path }: EditRecord, document: unknown): Path {
	const found = kind === "insert" ? parseInsertPointer(path, document) : parseJsonPointer(path, document);
	if (!found) throw new Error("Expected an edit of this document.");
	return found;
}

/** For each value of the list between the rounds: its index before, or the step that has put it in. */
function originsOf(steps: readonly Step[], length: number, depth: number): (number | Step)[] {
	const ofValues = steps.filter(({ path }) => path.length === depth + 1);
	const at = new Map<number, Step[]>();
	for (const step of ofValues) {
		const index = Number(step.path[depth]);
		at.set(index, [...(at.get(index) ?? []), step]);
	}
	const origins: (number | Step)[] = [];
	for (let index = 0; index <= length; index += 1) {
		const here = at.get(index) ?? [];
		origins.push(...here.filter(({ record }) => record.kind === "insert"));
		const change = here.find(({ record }) => record.kind !== "insert");
		if (index < length && change?.record.kind !== "remove") origins.push(change ?? index);
	}
	return origins;
}

/** For each message between the rounds its index before; -1 for one that is new. */
function messagesBefore(source: ReadConversation, between: ReadConversation, origins: readonly (number | Step)[]) {
	const depth = source.located.base.length;
	const byValue = new Map<number, number[]>();
	source.transcript.messages.forEach(({ paths }, message) => {
		const value = Number(paths[0]?.[depth]);
		byValue.set(value, [...(byValue.get(value) ?? []), message]);
	});
	const taken = new Map<number, number>();
	return between.transcript.messages.map(({ paths }) => {
		const origin = origins[Number(paths[0]?.[depth])];
		if (typeof origin !== "number") return -1;
		const ordinal = taken.get(origin) ?? 0;
		taken.set(origin, ordinal + 1);
		return byValue.get(origin)?.[ordinal] ?? -1;
	});
}

/** A record of the second round as one of the first document. */
function placed(
	record: EditRecord,
	at: {
		readonly path: Path;
		readonly inside: readonly Step[];
		readonly source: ReadConversation;
		readonly messages: readonly number[];
	},
): EditRecord {
	const { path, inside, source, messages } = at;
	const { document, transcript } = source;
	const before = { ...record.before };
	for (const { record: gone } of inside) {
		before.chars += gone.before.chars - gone.after.chars;
		before.tokens += gone.before.tokens - gone.after.tokens;
	}
	const { message, ...rest } = record;
	const index = message === undefined ? undefined : (messages[message] ?? transcript.messages.length);
	return {
		...rest,
		path: jsonPointer(path),
		sha256_before: sha256Of(record.kind === "insert" ? itemBeside(document, path) : valueAt(document, path)),
		before,
		...(index === undefined || index < 0 ? {} : { message: index }),
	};
}

/** A value of the first round's with the second round's change in it. */
function withChange(record: EditRecord, change: EditRecord, path: Path): EditRecord {
	const size = { chars: 0, tokens: 0 };
	const base = { path, message: 0, before: size, after: size } as const;
	const edit =
		change.kind === "replace"
			? ({ ...base, kind: "replace", reason: "mask", replacement: change.replacement } as const)
			: change.kind === "insert"
				? ({ ...base, kind: "insert", reason: "append", inserts: "part", value: change.value } as const)
				: ({ ...base, kind: "remove", reason: "drop" } as const);
	const after = {
		chars: record.after.chars + change.after.chars - change.before.chars,
		tokens: record.after.tokens + change.after.tokens - change.before.tokens,
	};
	return record.kind === "insert"
		? { ...record, after, value: applyPlan(record.value, [edit]) }
		: { ...record, after, replacement: applyPlan(record.replacement, [edit]) };
}

function asRemoval({ replacement: _, ...record }: EditRecord): EditRecord {
	return { ...record, kind: "remove", after: { chars: 0, tokens: 0 } };
}

function startsWith(path: Path, start: Path): boolean {
	return start.length <= path.length && start.every((segment, index) => segment === path[index]);
}
