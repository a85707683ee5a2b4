/** How deep the values are that are copied and compared, past any conversation's own nesting. */
const deepest = 64;

/** A copy of a JSON value, with what it holds alive. */
export interface JsonCopy {
	readonly value: unknown;
	/** Characters (UTF-16 code units) of its texts, and some for each list, object and key. */
	readonly chars: number;
}

/** What an empty list or object, a number or a key takes beside its text, in characters. */
const overhead = 16;

/**
 * A copy of a JSON value of its own: lists and objects anew, texts shared. `undefined` where the value is no plain JSON
 * (an instance of a class, a function) or nested deeper than 64 levels.
 */
export function copyJson(value: unknown): JsonCopy | undefined {
	const state: CopyState = { value: undefined, chars: 0, plain: true };
	state.value = copyAt(value, 0, state);
	return state.plain ? state : undefined;
}

/**
 * The same for a JSON value that nobody else holds: the value itself. `undefined` where `copyJson` gives nothing.
 */
export function uncopiedJson(value: unknown): JsonCopy | undefined {
	const state: CopyState = { value, chars: 0, plain: true };
	addUp(value, 0, state);
	return state.plain ? state : undefined;
}

interface CopyState {
	value: unknown;
	chars: number;
	/** Whether all that was met is plain JSON. */
	plain: boolean;
}

/** Adds up what a value takes, without what it holds; tells whether it is a list or an object to be gone through. */
function addOne(value: unknown, depth: number, state: CopyState): value is object {
	state.chars += overhead;
	if (typeof value === "string") {
		state.chars += value.length;
		return false;
	}
	if (typeof value !== "object" || value === null) {
		state.plain &&= typeof value !== "function" && typeof value !== "symbol" && typeof value !== "bigint";
		return false;
	}
	state.plain &&= depth <= deepest && isPlain(value);
	return state.plain;
}

function addUp(value: unknown, depth: number, state: CopyState): void {
	if (!addOne(value, depth, state)) return;
	if (Array.isArray(value)) {
		for (let index = 0; index < value.length; index += 1) addUp(value[index], depth + 1, state);
		return;
	}
	for (const key in value) {
		if (key === "__proto__") state.plain = false;
		if (!state.plain) return;
		addUp((value as JsonRecord)[key], depth + 1, state);
	}
}

function copyAt(original: unknown, depth: number, state: CopyState): unknown {
	if (!addOne(original, depth, state)) return state.plain ? original : undefined;
	if (Array.isArray(original)) {
		const list: unknown[] = new Array(original.length);
		for (let index = 0; index < original.length; index += 1) list[index] = copyAt(original[index], depth + 1, state);
		return list;
	}
	const copied: Record<string, unknown> = {};
	// Makes no list of the keys, which would be most of what a copy takes.
	for (const key in original) {
		// As a plain assignment this key would set the prototype.
		if (key === "__proto__") state.plain = false;
		if (!state.plain) return undefined;
		copied[key] = copyAt((original as Record<string, unknown>)[key], depth + 1, state);
	}
	return copied;
}

/** Whether a value is what was copied: the same texts, and the same keys in the same order. */
export function equalsCopy(copy: unknown, value: unknown): boolean {
	return equalsAt(copy, value, 0);
}

function equalsAt(copy: unknown, value: unknown, depth: number): boolean {
	// First, since it does not look into a text that is the very same: most are, where only the lists around them are new.
	if (Object.is(copy, value)) return true;
	if (typeof copy !== "object" || copy === null) return false;
	if (typeof value !== "object" || value === null || !isPlain(value)) return false;
	if (Array.isArray(copy)) {
		if (!Array.isArray(value) || copy.length !== value.length) return false;
		for (let index = 0; index < copy.length; index += 1) {
			if (!equalsAt(copy[index], value[index], depth + 1)) return false;
		}
		return true;
	}
	return !Array.isArray(value) && equalsObject(copy as JsonRecord, value as JsonRecord, depth);
}

type JsonRecord = Readonly<Record<string, unknown>>;

// A list for each level, used again and again: one for each object compared would be most of what a comparison takes.
const keysByDepth: string[][] = [];

function equalsObject(copy: JsonRecord, value: JsonRecord, depth: number): boolean {
	keysByDepth[depth] ??= [];
	const keys = keysByDepth[depth];
	let count = 0;
	for (const key in copy) {
		keys[count] = key;
		count += 1;
	}
	let index = 0;
	for (const key in value) {
		if (index >= count || key !== keys[index] || !equalsAt(copy[key], value[key], depth + 1)) return false;
		index += 1;
	}
	return index === count;
}

function isPlain(value: object): boolean {
	const prototype: unknown = Object.getPrototypeOf(value);
	return prototype === Object.prototype || prototype === Array.prototype || prototype === null;
}

/** A value for somebody else to keep: a copy where one can be made, so that what they do to it changes nothing here. */
export function ownJson(value: unknown): unknown {
	return typeof value === "object" ? (copyJson(value)?.value ?? value) : value;
}
