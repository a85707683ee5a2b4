import type { Path } from "./transcript.ts";

/** A plan in the making: edits of several strategies, none overlapping another. */
export interface Draft {
	/** Adds an edit unless an earlier one settles that part already; tells whether it was added. */
	readonly add: (edit: Edit) => boolean;
	/** The edits so far, by message, oldest first. */
	readonly plan: () => Plan;
	/** Size of each message with the edits made so far; follows them. */
	readonly sizes: () => readonly Size[];
	/** What the edits made so far save. */
	readonly saved: () => Size;
}

/**
 * Starts a plan over messages of the given sizes. A dropped message takes its other edits with it; a placeholder takes
 * the place of truncations inside its content where it is smaller than what they leave, never the other way round.
 */
export function startDraft(before: readonly Size[]): Draft {
	const byMessage: (readonly Edit[] | undefined)[] = before.map(() => undefined);
	const sizes = [...before];
	const saved = startSum();

	/** Puts edits in the place of those that a message had. */
	function settle(message: number, edits: readonly Edit[]): true {
		byMessage[message] = edits;
		const was = sizes[message];
		const original = before[message];
		if (!was || !original) return true;
		const is = sizeAfter(original, edits);
		sizes[message] = is;
		saved.add(was);
		saved.subtract(is);
		return true;
	}

	return {
		add(edit) {
			const present = byMessage[edit.message];
			if (!present) return settle(edit.message, [edit]);
			if (edit.reason === "drop") {
				// What drops a message stands alone there, so that the first edit tells.
				return settle(edit.message, present[0]?.reason === "drop" ? [...present, edit] : [edit]);
			}
			if (present.some((one) => one.reason === "drop")) return false;
			const overlapping = present.filter((one) => overlap(one.path, edit.path));
			if (overlapping.some((one) => one.reason === edit.reason || edit.reason === "truncate")) return false;
			if (overlapping.length > 0 && savedBy([edit]) <= savedBy(overlapping)) return false;
			return settle(edit.message, [...present.filter((one) => !overlapping.includes(one)), edit]);
		},
		plan() {
			const plan: Edit[] = [];
			for (let message = 0; message < byMessage.length; message += 1) {
				const edits = byMessage[message];
				if (edits) for (let index = 0; index < edits.length; index += 1) plan.push(edits[index] as Edit);
			}
			return plan;
		},
		sizes: () => sizes,
		saved: saved.total,
	};
}

function sizeAfter(before: Size, edits: readonly Edit[]): Size {
	if (edits[0]?.reason === "drop") return noSize;
	let { chars, tokens, fixed = 0 } = before;
	for (const { unsent, before: was, after: is } of edits) {
		if (unsent) continue;
		chars += is.chars - was.chars;
		tokens += is.tokens - was.tokens;
		fixed += (is.fixed ?? 0) - (was.fixed ?? 0);
	}
	return { chars, tokens, fixed };
}

/** What edits save: tokens, or characters where they stand in a copy that costs none. */
function savedBy(edits: readonly Edit[]): number {
	const key = edits[0]?.unsent ? "chars" : "tokens";
	return edits.reduce((sum, edit) => sum + edit.before[key] - edit.after[key], 0);
}

function overlap(a: Path, b: Path): boolean {
	const length = Math.min(a.length, b.length);
	for (let index = 0; index < length; index += 1) if (a[index] !== b[index]) return false;
	return true;
}

/** What the edits of a plan come to, all together. Sizes leave out what is sent to no model. */
export interface PlanTotals {
	/** What the edits take away less what they put in. */
	readonly saved: Size;
	/** The same of those that stand in a message. */
	readonly savedInMessages: Size;
	/** The first message with such an edit; `undefined` where there is none. */
	readonly firstMessage: number | undefined;
	/** Characters that results lost. */
	readonly resultChars: number;
	/** Messages that go, each once. */
	readonly gone: readonly number[];
	/** Messages that were not there before. */
	readonly added: number;
	readonly dropped: { readonly messages: number; readonly before: Size };
	readonly summarised: { readonly messages: number; readonly before: Size; readonly after: Size };
	/** Results masked and the edits that do it, with the characters of what these take out and put in. */
	readonly masked: {
		readonly results: number;
		readonly edits: number;
		readonly charsBefore: number;
		readonly charsAfter: number;
	};
	/** Results truncated, and the edits that do it. */
	readonly truncated: { readonly results: number; readonly edits: readonly Edit[] };
}

/** Sums up a plan in one pass. The edits of a result stand side by side in it, and so do those that drop a message. */
export function totalsOf(plan: Plan): PlanTotals {
	const [saved, savedElsewhere] = [startSum(), startSum()];
	let firstMessage: number | undefined;
	let resultChars = 0;
	let added = 0;
	const gone: number[] = [];
	const dropped = { messages: 0, before: startSum() };
	const summarised = { messages: new Set<number>(), before: startSum(), after: startSum() };
	const masked = { results: 0, edits: 0, charsBefore: 0, charsAfter: 0 };
	const truncated = { results: 0, edits: [] as Edit[] };
	const last: { dropped: number; masked: unknown; truncated: unknown } = { dropped: -1, masked: plan, truncated: plan };
	for (let index = 0; index < plan.length; index += 1) {
		const edit = plan[index] as Edit;
		const { kind, reason, message, before, after, result, unsent } = edit;
		if (kind === "insert" ? edit.inserts === "message" : kind === "replace" && reason === "summary") added += 1;
		switch (reason) {
			case "drop":
				dropped.before.add(before);
				if (message !== last.dropped) {
					last.dropped = message;
					dropped.messages += 1;
					gone.push(message);
				}
				break;
			case "summary":
				if (takesMessageOut(edit) && !summarised.messages.has(message)) {
					summarised.messages.add(message);
					gone.push(message);
				}
				summarised.before.add(before);
				summarised.after.add(after);
				break;
			case "mask":
				if (result !== last.masked) {
					last.masked = result;
					masked.results += 1;
				}
				if (unsent) break;
				masked.edits += 1;
				masked.charsBefore += before.chars;
				masked.charsAfter += after.chars;
				break;
			case "truncate":
				if (result !== last.truncated) {
					last.truncated = result;
					truncated.results += 1;
				}
				if (!unsent) truncated.edits.push(edit);
				break;
		}
		if (unsent) continue;
		addDifference(saved, before, after);
		if (kind === "replace" && reason !== "summary") resultChars += before.chars - after.chars;
		if (message < 0) {
			addDifference(savedElsewhere, before, after);
			continue;
		}
		if (firstMessage === undefined || message < firstMessage) firstMessage = message;
	}
	return {
		saved: saved.total(),
		savedInMessages: subtractSizes(saved.total(), savedElsewhere.total()),
		firstMessage,
		resultChars,
		gone,
		added,
		dropped: { messages: dropped.messages, before: dropped.before.total() },
		summarised: {
			messages: summarised.messages.size,
			before: summarised.before.total(),
			after: summarised.after.total(),
		},
		masked,
		truncated,
	};
}

function addDifference(sum: SizeSum, before: Size, after: Size): void {
	sum.add(before);
	sum.subtract(after);
}

/** The size of nothing. */
export const noSize: Size = { chars: 0, tokens: 0 };

/** Two sizes together. */
export function addSizes(a: Size, b: Size): Size {
	const chars = a.chars + b.chars;
	const tokens = a.tokens + b.tokens;
	if (a.fixed === undefined && b.fixed === undefined) return { chars, tokens };
	return { chars, tokens, fixed: (a.fixed ?? 0) + (b.fixed ?? 0) };
}

/** What is left of a size without another. */
export function subtractSizes(a: Size, b: Size): Size {
	// Never 0 times -1: one -0 makes V8 keep the numbers of all sizes in objects of their own.
	const chars = a.chars - b.chars;
	const tokens = a.tokens - b.tokens;
	if (a.fixed === undefined && b.fixed === undefined) return { chars, tokens };
	return { chars, tokens, fixed: (a.fixed ?? 0) - (b.fixed ?? 0) };
}

/** A sum of many sizes, taken up one by one. */
export interface SizeSum {
	readonly add: (size: Size) => void;
	readonly subtract: (size: Size) => void;
	readonly total: () => Size;
}

/** Starts a sum from a size. */
export function startSum(from: Size = noSize): SizeSum {
	let { chars, tokens, fixed = 0 } = from;
	return {
		add(size) {
			chars += size.chars;
			tokens += size.tokens;
			fixed += size.fixed ?? 0;
		},
		subtract(size) {
			chars -= size.chars;
			tokens -= size.tokens;
			fixed -= size.fixed ?? 0;
		},
		total: () => ({ chars, tokens, fixed }),
	};
}

/** Whether an edit takes its message out of the conversation: it is dropped, or a summary stands for it. */
export function takesMessageOut({ reason, kind }: Edit): boolean {
	return reason === "drop" || (reason === "summary" && kind !== "insert");
}

/**
 * Remembers the sizes of parts of a transcript while these are held: they never change once they are read, and several
 * steps of a call measure them.
 */
export function rememberSize<Part extends object, Meter extends object>(
	measure: (part: Part, meter: Meter) => Size,
): (part: Part, meter: Meter) => Size {
	const byMeter = new WeakMap<Meter, WeakMap<Part, Size>>();
	return (part, meter) => {
		let sizes = byMeter.get(meter);
		if (!sizes) {
			sizes = new WeakMap();
			byMeter.set(meter, sizes);
		}
		let size = sizes.get(part);
		if (!size) {
			size = measure(part, meter);
			sizes.set(part, size);
		}
		return size;
	};
}

/** Why an edit is made. */
export type EditReason = "mask" | "truncate" | "drop" | "thinking" | "relink" | "summary" | "append";

/** Size of a text before or after an edit. */
export interface Size {
	/** Characters (UTF-16 code units). */
	readonly chars: number;
	/** Tokens in the encoding of the call. */
	readonly tokens: number;
	/** Those of them that no tokenizer counts: the delimiters of messages, images. Absent: none. */
	readonly fixed?: number;
}

/** The tool result that an edit concerns. */
export interface EditedResult {
	readonly toolCallId: string | undefined;
	/** The tool's name as the call gave it, untrusted; `undefined` where unknown. */
	readonly toolName: string | undefined;
}

/** What an edit takes out, in the form in which it is archived. */
export interface TakenOut {
	/** The reference that stands in its place. */
	readonly ref: string;
	/** The text of a result or a cut text; of an image or a document, its JSON. */
	readonly text: string;
	/** `group`: a list of whole messages, as JSON. */
	readonly kind: "result" | "media" | "group";
}

interface EditBase {
	/** Where in the document; paths of a plan all refer to the document before any edit. */
	readonly path: Path;
	readonly reason: EditReason;
	/** Index of the message that it stands in; -1 where it stands in a record that is no message. */
	readonly message: number;
	/** Set on edits of what is sent to no model, so that no total counts it: a second copy, a message compacted away. */
	readonly unsent?: true;
	readonly before: Size;
	readonly after: Size;
	readonly result?: EditedResult;
	/** Set where what stood there is to be archived before the edit is made. */
	readonly takenOut?: TakenOut | undefined;
}

/** Puts another value in the place of a tool result's text, of its whole content, or of a record's tie to another. */
export interface ReplaceEdit extends EditBase {
	readonly kind: "replace";
	/** A string, or what a format writes in the place of a whole content or of a media part. */
	readonly replacement: unknown;
}

/** Takes a message, one of the values that make it up, or a reasoning block out of its list. */
export interface RemoveEdit extends EditBase {
	readonly kind: "remove";
}

/** Puts a new value into a list: a message, or a part of one. */
export interface InsertEdit extends EditBase {
	readonly kind: "insert";
	/**
	 * Its last segment is the index of the item that the value is put in front of, or the length of the list to put it
	 * behind the last. `message` is the index of the message there, or their number behind the last.
	 */
	readonly path: Path;
	readonly value: unknown;
	readonly inserts: "message" | "part";
}

/** One change of the document. */
export type Edit = ReplaceEdit | RemoveEdit | InsertEdit;

/** What is to be done to a document: edits whose paths do not overlap. */
export type Plan = readonly Edit[];
