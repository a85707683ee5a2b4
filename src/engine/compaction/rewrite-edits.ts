import type { Edit, InsertEdit, RemoveEdit, ReplaceEdit, Size } from "../edit.ts";
import { addSizes } from "../size.ts";
import type { PlanRewriteParameters, Rewrite, RewriteSource } from "./rewrite.ts";

/** What was there and what is to be, with what of it is the same. */
export interface Matched extends Pick<PlanRewriteParameters, "source" | "sizes" | "sizeOf" | "identityOf"> {
	/** The values that are to be there. */
	readonly values: readonly unknown[];
	/** For each of them the index of the value that it is, or -1. */
	readonly matches: Int32Array;
}

const nothing: Size = { chars: 0, tokens: 0 };

/** The edits that make of a list what it is to be, and the messages all of whose values go. */
export function rewriteEdits(matched: Matched): Pick<Extract<Rewrite, { kind: "rewrite" }>, "plan" | "removed"> {
	const { source, values, matches, sizes, sizeOf } = matched;
	const { base, messages, transcript } = source;
	const places = placesOf(source);
	const isKept = new Uint8Array(messages.length);
	for (const match of matches) if (match !== -1) isKept[match] = 1;
	const removed = transcript.messages.flatMap(({ paths }, index) =>
		paths.length > 0 && paths.every((path) => isKept[Number(path[base.length])] === 0) ? [index] : [],
	);
	const isRemoved = new Set(removed);
	const counted = new Set<number>();

	const takeOut = (position: number): Pick<RemoveEdit, "path" | "message" | "before" | "unsent"> => {
		const held = places.messagesAt[position] ?? [];
		const [message = -1] = held;
		// A message of several values is counted with the first of them that goes.
		let before = nothing;
		for (const index of held) {
			if (counted.has(index)) continue;
			counted.add(index);
			before = addSizes(before, isRemoved.has(index) ? (sizes[index] ?? nothing) : sizeOf(messages[position]));
		}
		const isUnsent = held.length > 0 && held.every((index) => transcript.messages[index]?.sent === false);
		return { path: [...base, position], message, before, ...(isUnsent ? { unsent: true } : {}) };
	};
	const remove = (position: number): RemoveEdit => {
		return { kind: "remove", reason: "summary", ...takeOut(position), after: nothing };
	};
	const replace = (position: number, value: unknown): ReplaceEdit => {
		return { kind: "replace", reason: "summary", ...takeOut(position), after: sizeOf(value), replacement: value };
	};
	const insert = (position: number, value: unknown): InsertEdit => {
		const message = places.firstFrom[position] ?? transcript.messages.length;
		const edit = { kind: "insert", reason: "summary", inserts: "message" } as const;
		return { ...edit, path: [...base, position], message, before: nothing, after: sizeOf(value), value };
	};

	const plan: Edit[] = [];
	const forerunners = forerunnersOf(matched, isKept);
	const claimed = new Set(forerunners.values());
	let [position, index] = [0, 0];
	while (position < messages.length || index < values.length) {
		const goes = position < messages.length && isKept[position] === 0;
		const comes = index < values.length && matches[index] === -1;
		if (!goes && !comes) {
			position += 1;
			index += 1;
			continue;
		}
		const forerunner = comes ? forerunners.get(index) : undefined;
		if (forerunner !== undefined) {
			for (; position < forerunner; position += 1) plan.push(remove(position));
			plan.push(replace(position, values[index]));
			position += 1;
			index += 1;
			continue;
		}
		// What is new goes one for one in front of what is taken out, so that each stands where its forerunner stood.
		if (comes) {
			plan.push(insert(position, values[index]));
			index += 1;
		}
		if (goes && !claimed.has(position)) {
			plan.push(remove(position));
			position += 1;
		}
	}
	return { plan, removed };
}

/** For each new value that has the identity of one that goes, with none that stays between them, that one's index. */
function forerunnersOf({ source, values, matches, identityOf }: Matched, isKept: Uint8Array): Map<number, number> {
	const forerunners = new Map<number, number>();
	if (!identityOf) return forerunners;
	const positions = new Map<string, number>();
	source.messages.forEach((value, position) => {
		const identity = isKept[position] === 0 ? identityOf(value) : undefined;
		if (identity !== undefined && !positions.has(identity)) positions.set(identity, position);
	});
	/** By value: the index of the next one that stays. */
	const ends = new Int32Array(values.length);
	let end = source.messages.length;
	for (let index = values.length - 1; index >= 0; index -= 1) {
		if (matches[index] !== -1) end = matches[index] as number;
		ends[index] = end;
	}
	let first = 0;
	values.forEach((value, index) => {
		const match = matches[index] as number;
		if (match !== -1) first = match + 1;
		const identity = match === -1 ? identityOf(value) : undefined;
		const position = identity === undefined ? undefined : positions.get(identity);
		if (position === undefined || position < first || position >= (ends[index] as number)) return;
		forerunners.set(index, position);
		first = position + 1;
	});
	return forerunners;
}

/** Which messages stand in which value of the list. */
interface Places {
	/** By value: indexes of the messages that hold it or stand in it. */
	readonly messagesAt: readonly (readonly number[] | undefined)[];
	/** By value: index of the first message from there on. */
	readonly firstFrom: readonly number[];
}

function placesOf({ transcript, base, messages }: RewriteSource): Places {
	const messagesAt = new Array<number[] | undefined>(messages.length);
	transcript.messages.forEach(({ paths }, message) => {
		for (const path of paths) {
			const value = Number(path[base.length]);
			const known = messagesAt[value];
			if (!known) messagesAt[value] = [message];
			else if (known.at(-1) !== message) known.push(message);
		}
	});
	const firstFrom = new Array<number>(messages.length);
	let first = transcript.messages.length;
	for (let value = messages.length - 1; value >= 0; value -= 1) {
		first = messagesAt[value]?.[0] ?? first;
		firstFrom[value] = first;
	}
	return { messagesAt, firstFrom };
}
