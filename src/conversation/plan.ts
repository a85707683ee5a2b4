import type { Path } from "./transcript.ts";

/**
 * Starts a plan over messages of the given sizes, to which several strategies add edits that do not overlap. A dropped
 * message takes its other edits with it; a placeholder takes the place of truncations inside its content where it is
 * smaller than what they leave, never the other way round.
 */
export function startDraft(before: readonly Size[]) {
	const byMessage: (readonly Edit[] | undefined)[] = before.map(() => undefined);
	const sizes = [...before];
	const saved = startSum();

	function setEdits(message: number, edits: readonly Edit[]): true {
		byMessage[message] = edits;
		const [original, current] = [before[message], sizes[message]];
		if (!original || !current) return true;
		const after = sizeAfter(original, edits);
		sizes[message] = after;
		addDifference(saved, current, after);
		return true;
	}

	return {
		/** Adds an edit unless an earlier one covers that part already; tells whether it was added. */
		add(edit: Edit): boolean {
			const present = byMessage[edit.message];
			if (!present) return setEdits(edit.message, [edit]);
			if (edit.reason === "drop") {
				// Other edits of a dropped message go, so that its first edit tells that it is dropped.
				return setEdits(edit.message, present[0]?.reason === "drop" ? [...present, edit] : [edit]);
			}
			if (present.some((one) => one.reason === "drop")) return false;
			const overlapping = present.filter((one) => overlap(one.path, edit.path));
			if (overlapping.some((one) => one.reason === edit.reason || edit.reason === "truncate")) return false;
			if (overlapping.length > 0 && savedBy([edit]) <= savedBy(overlapping)) return false;
			return setEdits(edit.message, [...present.filter((one) => !overlapping.includes(one)), edit]);
		},
		/** The edits so far, by message, oldest first. */
		plan: (): Plan => byMessage.flatMap((edits) => edits ?? []),
		/** Size of each message with the edits so far. */
		sizes: (): readonly Size[] => sizes,
		saved: saved.total,
	};
}

export type Draft = ReturnType<typeof startDraft>;

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

/** Tokens that edits save, or characters where they stand in a copy that costs no tokens. */
function savedBy(edits: readonly Edit[]): number {
	const key = edits[0]?.unsent ? "chars" : "tokens";
	return edits.reduce((sum, edit) => sum + edit.before[key] - edit.after[key], 0);
}

function overlap(a: Path, b: Path): boolean {
	const length = Math.min(a.length, b.length);
	for (let index = 0; index < length; index += 1) if (a[index] !== b[index]) return false;
	return true;
}

/**
 * Sums up a plan in one pass. Sizes leave out what is sent to no model. The edits of a result stand side by side in a plan,
 * and so do those that drop a message.
 */
export function totalsOf(plan: Plan) {
	const [saved, savedElsewhere] = [startSum(), startSum()];
	/** The first message with an edit of what is sent. */
	let firstMessage: number | undefined;
	/** Characters that results lost. */
	let resultChars = 0;
	/** Messages that were not there before. */
	let added = 0;
	/** Messages that go, each once. */
	const gone: number[] = [];
	const dropped = { messages: 0, before: startSum() };
	const summarised = { messages: new Set<number>(), before: startSum(), after: startSum() };
	const masked = { results: 0, edits: 0, charsBefore: 0, charsAfter: 0 };
	const truncated = { results: 0, edits: [] as Edit[] };
	const last: { dropped: number; masked: unknown; truncated: unknown } = { dropped: -1, masked: plan, truncated: plan };
	for (const edit of plan) {
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

export const noSize: Size = { chars: 0, tokens: 0 };

export function addSizes(a: Size, b: Size): Size {
	const chars = a.chars + b.chars;
	const tokens = a.tokens + b.tokens;
	if (a.fixed === undefined && b.fixed === undefined) return { chars, tokens };
	return { chars, tokens, fixed: (a.fixed ?? 0) + (b.fixed ?? 0) };
}

export function subtractSizes(a: Size, b: Size): Size {
	// Never 0 times -1: one -0 makes V8 keep the numbers of all sizes in objects of their own.
	const chars = a.chars - b.chars;
	const tokens = a.tokens - b.tokens;
	if (a.fixed === undefined && b.fixed === undefined) return { chars, tokens };
	return { chars, tokens, fixed: (a.fixed ?? 0) - (b.fixed ?? 0) };
}

/** Starts a sum of sizes, which changes in place. */
export function startSum(from: Size = noSize) {
	let { chars, tokens, fixed = 0 } = from;
	return {
		add(size: Size): void {
			chars += size.chars;
			tokens += size.tokens;
			fixed += size.fixed ?? 0;
		},
		subtract(size: Size): void {
			chars -= size.chars;
			tokens -= size.tokens;
			fixed -= size.fixed ?? 0;
		},
		total: (): Size => ({ chars, tokens, fixed }),
	};
}

export type SizeSum = ReturnType<typeof startSum>;

/** Whether an edit takes its message out of the conversation: it is dropped, or replaced by a summary. */
export function takesMessageOut({ reason, kind }: Edit): boolean {
	return reason === "drop" || (reason === "summary" && kind !== "insert");
}

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

/** An original in the form in which it is archived. */
export interface TakenOut {
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
	/** Set on edits of what is sent to no model, so that no total counts them: a second copy, a message compacted away. */
	readonly unsent?: true;
	readonly before: Size;
	readonly after: Size;
	/** The tool result that it changes; the tool's name is untrusted. */
	readonly result?: { readonly toolCallId: string | undefined; readonly toolName: string | undefined };
	/** The original to archive before the edit is made. */
	readonly takenOut?: TakenOut | undefined;
}

/** Replaces a tool result's text, its whole content, or a record's link to another. */
export interface ReplaceEdit extends EditBase {
	readonly kind: "replace";
	/** A string, or the JSON value that a format writes for a whole content or a media part. */
	readonly replacement: unknown;
}

/** Takes a message, one of the values that make it up, or a reasoning block out of its list. */
export interface RemoveEdit extends EditBase {
	readonly kind: "remove";
}

/** Puts a new message, or a part of one, into a list. */
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

export type Edit = ReplaceEdit | RemoveEdit | InsertEdit;

/** The changes to make in a document: edits whose paths do not overlap. */
export type Plan = readonly Edit[];
