import { compactJson } from "../compact-json.ts";
import type { Edit, InsertEdit, RemoveEdit, Size } from "../edit.ts";
import type { Path } from "../path.ts";
import { addSizes } from "../size.ts";
import type { Transcript } from "../transcript.ts";
import { matchValues } from "./match-values.ts";
import { plainJson } from "./plain-json.ts";

/** The conversation that a strategy was given. */
export interface RewriteSource {
	readonly transcript: Transcript;
	/** Path of the list of messages or records in the document. */
	readonly base: Path;
	/** The list, as it stands in the document. */
	readonly messages: readonly unknown[];
}

/** What a strategy's outcome is planned from. */
export interface PlanRewriteParameters {
	readonly source: RewriteSource;
	/** What the strategy gave: anything. */
	readonly after: unknown;
	/** Size of each message of the transcript. */
	readonly sizes: readonly Size[];
	/** Size of a value that the strategy wrote, as a message of the format. */
	readonly sizeOf: (value: unknown) => Size;
}

/** A strategy's outcome as edits; none where it changed nothing; or why it cannot be used. */
export type Rewrite =
	| {
			readonly kind: "rewrite";
			/** In the order of their places. A value that is replaced is taken out, and the new one put in front of it. */
			readonly plan: readonly Edit[];
			/** Indexes of the messages all of whose values are taken out, ascending. */
			readonly removed: readonly number[];
			/** Values of the list that stay untouched. */
			readonly kept: number;
	  }
	| { readonly kind: "unchanged" }
	| { readonly kind: "refused"; readonly detail: string };

const nothing: Size = { chars: 0, tokens: 0 };

/**
 * Turns the list that a strategy gave into edits of the conversation: values equal to those that were there, in their
 * order, stay untouched, to the byte; all others are taken out or put in.
 */
export function planRewrite({ source, after, sizes, sizeOf }: PlanRewriteParameters): Rewrite {
	const refuse = (detail: string): Rewrite => ({ kind: "refused", detail });
	if (after === null) return { kind: "unchanged" };
	if (!Array.isArray(after)) return refuse("Expected a list of messages or null, got neither.");
	if (after.length === 0 && source.messages.length > 0) return refuse("Expected at least one message, got none.");
	const values: unknown[] = [];
	// By index, so that holes of the list are met too.
	for (let index = 0; index < after.length; index += 1) {
		const read = plainJson(after[index]);
		if (read.kind === "refused") return refuse(`Expected plain JSON, got ${read.problem} in message ${index}.`);
		if (!isObject(read.value)) return refuse(`Expected each message to be an object; message ${index} is none.`);
		values.push(read.value);
	}
	const matches = matchValues(source.messages.map(compactJson), values.map(compactJson));
	const kept = matches.reduce((count, match) => count + (match === -1 ? 0 : 1), 0);
	if (kept === values.length && kept === source.messages.length) return { kind: "unchanged" };
	return { kind: "rewrite", kept, ...editsOf({ source, values, matches, sizes, sizeOf }) };
}

interface Matched extends Pick<PlanRewriteParameters, "source" | "sizes" | "sizeOf"> {
	readonly values: readonly unknown[];
	readonly matches: Int32Array;
}

function editsOf({
	source,
	values,
	matches,
	sizes,
	sizeOf,
}: Matched): Pick<Extract<Rewrite, { kind: "rewrite" }>, "plan" | "removed"> {
	const { base, messages, transcript } = source;
	const places = placesOf(source);
	const plan: Edit[] = [];
	const isKept = new Uint8Array(messages.length);
	for (const match of matches) if (match !== -1) isKept[match] = 1;
	const removed = transcript.messages.flatMap(({ paths }, index) =>
		paths.length > 0 && paths.every((path) => isKept[Number(path[base.length])] === 0) ? [index] : [],
	);
	const isRemoved = new Set(removed);
	const counted = new Set<number>();

	const remove = (position: number): RemoveEdit => {
		const path = [...base, position];
		const edit = { kind: "remove", reason: "summary", path, after: nothing } as const;
		const held = places.messagesAt[position] ?? [];
		const [message = -1] = held;
		// A message of several values is counted with the first of them that goes.
		let before = nothing;
		for (const index of held) {
			if (counted.has(index)) continue;
			counted.add(index);
			const size = isRemoved.has(index) ? (sizes[index] ?? nothing) : sizeOf(messages[position]);
			before = addSizes(before, size);
		}
		const isUnsent = held.length > 0 && held.every((index) => transcript.messages[index]?.sent === false);
		return { ...edit, message, before, ...(isUnsent ? { unsent: true } : {}) };
	};
	const insert = (position: number, value: unknown): InsertEdit => {
		const after = sizeOf(value);
		const message = places.firstFrom[position] ?? transcript.messages.length;
		const edit = { kind: "insert", reason: "summary", inserts: "message" } as const;
		return { ...edit, path: [...base, position], message, before: nothing, after, value };
	};

	let [position, index] = [0, 0];
	while (position < messages.length || index < values.length) {
		if (position < messages.length && isKept[position] === 1 && matches[index] === position) {
			position += 1;
			index += 1;
			continue;
		}
		// What is new goes one for one in front of what is taken out, so that each stands where its forerunner stood.
		if (index < values.length && matches[index] === -1) {
			plan.push(insert(position, values[index]));
			index += 1;
		}
		if (position < messages.length && isKept[position] === 0) {
			plan.push(remove(position));
			position += 1;
		}
	}
	return { plan, removed };
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

function isObject(value: unknown): boolean {
	return typeof value === "object" && value !== null && !Array.isArray(value);
}
