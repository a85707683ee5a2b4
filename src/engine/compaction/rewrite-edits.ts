import { compactJson, isJsonObject } from "../conversation/json.ts";
import { addToList, firstReaching } from "../conversation/lists.ts";
import type { Path } from "../conversation/paths.ts";
import {
	addSizes,
	type Edit,
	type InsertEdit,
	noSize,
	type RemoveEdit,
	type ReplaceEdit,
	type Size,
} from "../conversation/plan.ts";
import type { Transcript } from "../conversation/transcript.ts";

/** The messages that a strategy returned as edits, or the reason why they cannot be used. */
type Rewrite =
	| {
			readonly kind: "rewrite";
			/** In document order. A new value is inserted before a removed one; a value with an identity is replaced. */
			readonly plan: readonly Edit[];
			readonly removed: readonly number[];
			readonly kept: number;
	  }
	| { readonly kind: "unchanged" }
	| { readonly kind: "refused"; readonly detail: string };

interface RewriteParameters {
	readonly source: RewriteSource;
	/** The list that the strategy returned, unchecked. */
	readonly after: unknown;
	readonly sizes: readonly Size[];
	/** Size of a value that the strategy wrote, as a message of the format. */
	readonly sizeOf: (value: unknown) => Size;
	/** The id of a record of a session. A record rewritten under its id stays in place. */
	readonly identityOf?: (value: unknown) => string | undefined;
}

interface RewriteSource {
	readonly transcript: Transcript;
	readonly base: Path;
	readonly messages: readonly unknown[];
}

/**
 * Turns the list that a strategy returned into edits. Values equal to earlier ones, in the same order, stay untouched to
 * the byte; all others are removed or inserted.
 */
export function planRewrite(parameters: RewriteParameters): Rewrite {
	const { source, after } = parameters;
	const refuse = (detail: string): Rewrite => ({ kind: "refused", detail });
	if (after === null) return { kind: "unchanged" };
	if (!Array.isArray(after)) return refuse("Expected a list of messages or null, got neither.");
	if (after.length === 0 && source.messages.length > 0) return refuse("Expected at least one message, got none.");
	const values: unknown[] = [];
	// By index, so that holes of the list are seen too.
	for (let index = 0; index < after.length; index += 1) {
		try {
			values.push(copyPlainJson(after[index]));
		} catch (error) {
			const problem = error instanceof NotPlainJson ? error.message : "a property that cannot be read";
			return refuse(`Expected plain JSON, got ${problem} in message ${index}.`);
		}
		if (!isJsonObject(values[index]))
			return refuse(`Expected each message to be an object; message ${index} is not one.`);
	}
	const matches = matchValues(source.messages.map(compactJson), values.map(compactJson));
	const kept = matches.reduce((count, match) => count + (match === -1 ? 0 : 1), 0);
	if (kept === values.length && kept === source.messages.length) return { kind: "unchanged" };
	return { kind: "rewrite", kept, ...rewriteEdits({ ...parameters, values, matches }) };
}

/** No real conversation is nested as deeply. */
const deepestValue = 64;

class NotPlainJson extends Error {}

/** Copies a value without `undefined` fields. Throws `NotPlainJson`, and whatever reading a property throws. */
function copyPlainJson(value: unknown, depth = 0): unknown {
	if (depth > deepestValue) throw new NotPlainJson(`values nested deeper than ${deepestValue} levels`);
	if (value === null || typeof value === "string" || typeof value === "boolean" || Number.isFinite(value)) return value;
	if (typeof value === "number") throw new NotPlainJson("a number that is not finite");
	if (typeof value !== "object") throw new NotPlainJson(value === undefined ? "undefined" : `a ${typeof value}`);
	if (Array.isArray(value)) return Array.from(value as unknown[], (item) => copyPlainJson(item, depth + 1));
	if (!isPlainObject(value)) throw new NotPlainJson("an instance of a class");
	const entries: [string, unknown][] = [];
	for (const [key, item] of Object.entries(value)) {
		if (key === "__proto__") throw new NotPlainJson("a key that sets the prototype");
		if (item !== undefined) entries.push([key, copyPlainJson(item, depth + 1)]);
	}
	return Object.fromEntries(entries);
}

/** Whether an object has no prototype, or that of objects, in this realm or another. */
function isPlainObject(value: object): boolean {
	const prototype: unknown = Object.getPrototypeOf(value);
	if (prototype === null) return true;
	return Object.getPrototypeOf(prototype) === null && Object.hasOwn(prototype as object, "hasOwnProperty");
}

interface Matched extends Omit<RewriteParameters, "after"> {
	readonly values: readonly unknown[];
	/** For each of them the index of the equal value in the source, or -1. */
	readonly matches: Int32Array;
}

function rewriteEdits(matched: Matched) {
	const { source, values, matches, sizes, sizeOf } = matched;
	const { base, messages, transcript } = source;
	const { messagesAt, firstFrom } = messagesByValue(source);
	const isKept = new Uint8Array(messages.length);
	for (const match of matches) if (match !== -1) isKept[match] = 1;
	const removed = transcript.messages.flatMap(({ paths }, index) =>
		paths.length > 0 && paths.every((path) => isKept[Number(path[base.length])] === 0) ? [index] : [],
	);
	const isRemoved = new Set(removed);
	const counted = new Set<number>();

	const takeOut = (position: number): Pick<RemoveEdit, "path" | "message" | "before" | "unsent"> => {
		const held = messagesAt[position] ?? [];
		const [message = -1] = held;
		// If a message has several values, count it with the first one removed.
		let before = noSize;
		for (const index of held) {
			if (counted.has(index)) continue;
			counted.add(index);
			before = addSizes(before, isRemoved.has(index) ? (sizes[index] ?? noSize) : sizeOf(messages[position]));
		}
		const isUnsent = held.length > 0 && held.every((index) => transcript.messages[index]?.sent === false);
		return { path: [...base, position], message, before, ...(isUnsent ? { unsent: true } : {}) };
	};
	const remove = (position: number): RemoveEdit => {
		return { kind: "remove", reason: "summary", ...takeOut(position), after: noSize };
	};
	const replace = (position: number, value: unknown): ReplaceEdit => {
		return { kind: "replace", reason: "summary", ...takeOut(position), after: sizeOf(value), replacement: value };
	};
	const insert = (position: number, value: unknown): InsertEdit => {
		const message = firstFrom[position] ?? transcript.messages.length;
		const edit = { kind: "insert", reason: "summary", inserts: "message" } as const;
		return { ...edit, path: [...base, position], message, before: noSize, after: sizeOf(value), value };
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
		// New values go in front of removed ones, one by one, so that each takes the place of one.
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

/** For each new value the index of the removed one with the same identity, if no kept value is between them. */
function forerunnersOf({ source, values, matches, identityOf }: Matched, isKept: Uint8Array): Map<number, number> {
	const forerunners = new Map<number, number>();
	if (!identityOf) return forerunners;
	const positions = new Map<string, number>();
	source.messages.forEach((value, position) => {
		const identity = isKept[position] === 0 ? identityOf(value) : undefined;
		if (identity !== undefined && !positions.has(identity)) positions.set(identity, position);
	});
	/** By value: the index of the next kept one. */
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

function messagesByValue({ transcript, base, messages }: RewriteSource) {
	const messagesAt = messages.map((): number[] => []);
	transcript.messages.forEach(({ paths }, message) => {
		for (const value of new Set(paths.map((path) => Number(path[base.length])))) messagesAt[value]?.push(message);
	});
	const firstFrom = new Array<number>(messages.length);
	let first = transcript.messages.length;
	for (let value = messages.length - 1; value >= 0; value -= 1) {
		first = messagesAt[value]?.[0] ?? first;
		firstFrom[value] = first;
	}
	return { messagesAt, firstFrom };
}

/**
 * For each key of `after` the index of its match in `before`, or -1. Common beginnings and ends match first, then as
 * many as keep their order of the keys that both lists have equally often, and at last each other key with the next.
 */
function matchValues(before: readonly string[], after: readonly string[]): Int32Array {
	const matches = new Int32Array(after.length).fill(-1);
	let start = 0;
	let [oldEnd, end] = [before.length, after.length];
	while (start < oldEnd && start < end && before[start] === after[start]) {
		matches[start] = start;
		start += 1;
	}
	while (start < oldEnd && start < end && before[oldEnd - 1] === after[end - 1]) {
		end -= 1;
		oldEnd -= 1;
		matches[end] = oldEnd;
	}
	const places = placesOf(before, start, oldEnd);
	const pairs: Pair[] = [];
	for (const [key, indexes] of placesOf(after, start, end)) {
		const old = places.get(key) ?? [];
		if (old.length === indexes.length) pairs.push(...indexes.map((index, nth) => ({ old: old[nth] as number, index })));
	}
	const anchors = longestIncreasing(pairs.sort((a, b) => a.index - b.index));
	for (const { old, index } of anchors) matches[index] = old;
	let next = start;
	for (let index = start; index < end; index += 1) {
		if (matches[index] !== -1) anchors.pop();
		else {
			const limit = anchors.at(-1)?.old ?? oldEnd;
			const left = places.get(after[index] as string) ?? [];
			while ((left.at(-1) ?? next) < next) left.pop();
			if ((left.at(-1) ?? limit) < limit) matches[index] = left.pop() as number;
		}
		next = Math.max(next, (matches[index] as number) + 1);
	}
	return matches;
}

/** The indexes of each key of a part of a list, the last first. */
function placesOf(keys: readonly string[], start: number, end: number): Map<string, number[]> {
	const places = new Map<string, number[]>();
	for (let index = end - 1; index >= start; index -= 1) addToList(places, keys[index] as string, index);
	return places;
}

interface Pair {
	readonly old: number;
	readonly index: number;
}

/** The longest subsequence in which `old` increases, the last pair first. */
function longestIncreasing(pairs: readonly Pair[]): Pair[] {
	/** By length less one: the position in `pairs` of the smallest last pair of a subsequence of that length. */
	const lasts: number[] = [];
	const previous = pairs.map(({ old }, position) => {
		const length = firstReaching(0, lasts.length, (index) => (pairs[lasts[index] as number] as Pair).old >= old);
		lasts[length] = position;
		return lasts[length - 1];
	});
	const found: Pair[] = [];
	for (let position = lasts.at(-1); position !== undefined; position = previous[position]) {
		found.push(pairs[position] as Pair);
	}
	return found;
}
