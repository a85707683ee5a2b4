import { applyPlan } from "../../engine/apply.ts";
import type { Edit } from "../../engine/edit.ts";
import { itemBeside, jsonPointer, type Path, valueAt } from "../../engine/path.ts";
import type { ReadConversation } from "../../formats/read-conversation.ts";
import { sha256Of } from "../../json-text/value.ts";
import type { EditRecord } from "../edit-record.ts";
import { messageOrigins } from "./message-origins.ts";
import { pathOf, type Step, stepsOf, tracePath, tracksOf } from "./trace-path.ts";

/** Two rounds of edits: those of `first` are of the document of `source`, those of `second` of what the first made of it. */
export interface TwoRounds {
	readonly source: ReadConversation;
	readonly between: ReadConversation;
	readonly first: readonly EditRecord[];
	readonly second: readonly EditRecord[];
}

/**
 * The edits of two rounds as one list of edits of the first document. What the second round does to a value that the first
 * has put in is done to that value; what it takes out or replaces takes the first round's edits there with it.
 */
export function composeEdits({ source, between, first, second }: TwoRounds): EditRecord[] {
	const { document } = source;
	let steps = stepsOf(first, document);
	const tracks = tracksOf(document, steps);
	const messages = messageOrigins(source, between, tracks);
	const changes = new Map<Step, { readonly record: EditRecord; readonly path: Path }[]>();

	for (const record of second) {
		const origin = tracePath(tracks, pathOf(record, between.document));
		if (origin.kind === "before") {
			const { path } = origin;
			const inside = record.kind === "insert" ? [] : steps.filter(({ path: one }) => startsWith(one, path));
			if (inside.length > 0) steps = steps.filter((one) => !inside.includes(one));
			steps.push({ path, record: placed(record, { path, inside, source, messages }) });
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
			steps.splice(steps.indexOf(step), 0, { path, record: placed(record, { path, inside: [], source, messages }) });
		}
	}
	return steps.map((step) => withChanges(step.record, changes.get(step) ?? []));
}

/** A record of the second round as one of the first document. */
function placed(
	record: EditRecord,
	at: {
		readonly path: Path;
		/** Edits of the first round that it takes the place of. */
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
	// What is archived there stands for all that the first round took out, where that was a value of its own.
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

/** A value of the first round's with the second round's changes in it. */
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

/** An edit that is made to a value by itself: only what it does to it counts. */
function editWithin(record: EditRecord, path: Path): Edit {
	const size = { chars: 0, tokens: 0 };
	const base = { path, message: 0, before: size, after: size, reason: record.reason } as const;
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
