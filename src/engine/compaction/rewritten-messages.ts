import type { Plan } from "../edit.ts";
import { type Path, valueAt } from "../path.ts";
import type { Transcript } from "../transcript.ts";
import type { ReadDocument } from "../verify.ts";

/** In the place of an index before: what was not there. */
export const isNew = -1;

/** Where the messages of a rewritten conversation come from. */
export interface RewrittenMessages {
	/** Values that the list had before. */
	readonly valuesBefore: number;
	/** By value of the list afterwards: its index before, or `isNew`. */
	readonly valueOrigins: Int32Array;
	/** By message afterwards: its index before, or `isNew` where its first value was put in. */
	readonly origins: Int32Array;
}

/** Tells by the plan alone which values and messages stay, and which are new. */
export function rewrittenMessages(
	before: ReadDocument,
	after: ReadDocument,
	{ plan, base }: { readonly plan: Plan; readonly base: Path },
): RewrittenMessages {
	const valuesBefore = lengthOf(before.document, base);
	const valueOrigins = originsOfValues(valuesBefore, plan, base.length);
	const known = messagesByValue(before.transcript, base.length);
	const origins = new Int32Array(after.transcript.messages.length).fill(isNew);
	for (const [value, messages] of messagesByValue(after.transcript, base.length)) {
		const old = known.get(valueOrigins[value] ?? isNew);
		messages.forEach((message, position) => {
			origins[message] = old?.[position] ?? isNew;
		});
	}
	return { valuesBefore, valueOrigins, origins };
}

function originsOfValues(length: number, plan: Plan, depth: number): Int32Array {
	const changes = new Map<number, "remove" | "replace">();
	const inserted = new Uint32Array(length + 1);
	for (const { kind, path } of plan) {
		if (path.length !== depth + 1) continue;
		const index = Number(path[depth]);
		if (kind === "insert") inserted[index] = (inserted[index] ?? 0) + 1;
		else changes.set(index, kind);
	}
	const origins: number[] = [];
	for (let index = 0; index <= length; index += 1) {
		for (let count = inserted[index] ?? 0; count > 0; count -= 1) origins.push(isNew);
		const change = changes.get(index);
		if (index < length && change !== "remove") origins.push(change === "replace" ? isNew : index);
	}
	return Int32Array.from(origins);
}

/** The messages that begin in each value, in order. */
function messagesByValue({ messages }: Transcript, depth: number): Map<number, number[]> {
	const byValue = new Map<number, number[]>();
	messages.forEach(({ paths }, index) => {
		const value = Number(paths[0]?.[depth] ?? isNew);
		const known = byValue.get(value);
		if (known) known.push(index);
		else byValue.set(value, [index]);
	});
	return byValue;
}

function lengthOf(document: unknown, base: Path): number {
	const list = valueAt(document, base);
	return Array.isArray(list) ? list.length : 0;
}
