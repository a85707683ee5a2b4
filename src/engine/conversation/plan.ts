import { type Path, startsWith } from "./paths.ts";

/** Collects edits without overlap: a drop removes others of its message, a smaller placeholder removes truncations. */
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
		saved.add(current);
		saved.subtract(after);
		return true;
	}

	return {
		/** Adds an edit unless an earlier one covers that part; tells whether it was added. */
		add(edit: Edit): boolean {
			const present = byMessage[edit.message];
			if (!present) return setEdits(edit.message, [edit]);
			if (edit.kind === "insert") return setEdits(edit.message, [...present, edit]);
			if (takesMessageOut(edit)) {
				// Insertions before the message, and its replacement, stay.
				const staying = present.filter((one) => takesMessageOut(one) || one.kind === "insert");
				return setEdits(edit.message, [...staying, edit]);
			}
			if (present.some(takesMessageOut)) return false;
			const overlapping = present.filter(
				({ path, kind }) => kind !== "insert" && (startsWith(path, edit.path) || startsWith(edit.path, path)),
			);
			if (overlapping.some((one) => one.reason === edit.reason || edit.reason === "truncate")) return false;
			if (overlapping.length > 0 && savedBy([edit]) <= savedBy(overlapping)) return false;
			return setEdits(edit.message, [...present.filter((one) => !overlapping.includes(one)), edit]);
		},
		plan: (): Plan => byMessage.flatMap((edits) => edits ?? []),
		sizes: (): readonly Size[] => sizes,
		saved: saved.total,
	};
}

export type Draft = ReturnType<typeof startDraft>;

function sizeAfter(before: Size, edits: readonly Edit[]): Size {
	const sum = startSum(before);
	for (const edit of edits) {
		if (edit.unsent) continue;
		sum.add(edit.after);
		sum.subtract(edit.before);
	}
	return sum.total();
}

/** Tokens that edits save; of unsent copies, characters. */
function savedBy(edits: readonly Edit[]): number {
	const key = edits[0]?.unsent ? "chars" : "tokens";
	return edits.reduce((sum, edit) => sum + edit.before[key] - edit.after[key], 0);
}

/** Sums up a plan. Sizes leave out unsent parts. */
export function totalsOf(plan: Plan) {
	const of = (wanted: EditReason) => plan.filter(({ reason }) => reason === wanted);
	const sent = plan.filter(({ unsent }) => !unsent);
	const [mask, truncate, drop] = [of("mask"), of("truncate"), of("drop")];
	const summary = [...of("summary"), ...of("merge")];
	const dropped = messagesOf(drop);
	const summarised = messagesOf(summary.filter(takesMessageOut));
	const ofMessages = sent.filter(({ message }) => message >= 0);
	const sentMasks = mask.filter(({ unsent }) => !unsent);
	const charsOf = (edits: readonly Edit[], size: "before" | "after") =>
		edits.reduce((sum, edit) => sum + edit[size].chars, 0);
	const replaced = sent.filter(({ kind, reason }) => kind === "replace" && reason !== "summary" && reason !== "merge");
	return {
		saved: savedSize(sent),
		savedInMessages: savedSize(ofMessages),
		firstMessage: messagesOf(ofMessages).toSorted((a, b) => a - b)[0],
		resultChars: charsOf(replaced, "before") - charsOf(replaced, "after"),
		gone: [...new Set([...dropped, ...summarised])],
		added: plan.filter((edit) =>
			edit.kind === "insert" ? edit.inserts === "message" : edit.kind === "replace" && edit.reason === "summary",
		).length,
		dropped: { messages: dropped.length, before: sizeOfEdits(drop, "before") },
		summarised: {
			messages: summarised.length,
			before: sizeOfEdits(summary, "before"),
			after: sizeOfEdits(summary, "after"),
		},
		masked: {
			results: resultsOf(mask),
			edits: sentMasks.length,
			charsBefore: charsOf(sentMasks, "before"),
			charsAfter: charsOf(sentMasks, "after"),
		},
		truncated: { results: resultsOf(truncate), edits: truncate.filter(({ unsent }) => !unsent) },
	};
}

function messagesOf(edits: readonly Edit[]): number[] {
	return [...new Set(edits.map(({ message }) => message))];
}

function resultsOf(edits: readonly Edit[]): number {
	return new Set(edits.map(({ result }) => result)).size;
}

function sizeOfEdits(edits: readonly Edit[], size: "before" | "after"): Size {
	const sum = startSum();
	for (const edit of edits) sum.add(edit[size]);
	return sum.total();
}

/** The tokens and characters that edits save. */
export function savedSize(edits: readonly Edit[]): Size {
	return subtractSizes(sizeOfEdits(edits, "before"), sizeOfEdits(edits, "after"));
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

/** Whether an edit drops its message or replaces it by a summary. */
export function takesMessageOut({ reason, kind }: Edit): boolean {
	return reason === "drop" || (reason === "summary" && kind !== "insert");
}

/** `merge`: a summary joins the text of a user message that stays. */
export type EditReason = "mask" | "truncate" | "drop" | "thinking" | "relink" | "summary" | "merge" | "append";

export interface Size {
	/** UTF-16 code units. */
	readonly chars: number;
	/** In the encoding of the call. */
	readonly tokens: number;
	/** Tokens among them that no tokenizer counts: the delimiters of messages, images. */
	readonly fixed?: number;
}

/** An original to archive. */
export interface TakenOut {
	readonly ref: string;
	/** JSON for an image, a document or a group. */
	readonly text: string;
	/** `group`: a list of messages. */
	readonly kind: "result" | "media" | "group";
}

interface EditBase {
	/** In the document before any edit of the plan. */
	readonly path: Path;
	readonly reason: EditReason;
	/** Index of its message; -1 in a record that is not a message. */
	readonly message: number;
	/** Set on edits of copies and of compacted messages. No total counts them. */
	readonly unsent?: true;
	readonly before: Size;
	readonly after: Size;
	/** The tool result that it changes; the tool's name is untrusted. */
	readonly result?: { readonly toolCallId: string | undefined; readonly toolName: string | undefined };
	readonly takenOut?: TakenOut | undefined;
}

/** Replaces a tool result's text, its content, or a link between records. */
export interface ReplaceEdit extends EditBase {
	readonly kind: "replace";
	/** A string, or the JSON value that a format writes. */
	readonly replacement: unknown;
}

/** Removes a message, one of its values, or a reasoning block. */
export interface RemoveEdit extends EditBase {
	readonly kind: "remove";
}

export interface InsertEdit extends EditBase {
	readonly kind: "insert";
	/** The last segment is the index of the next item, or the length of the list. `message` is an index in the same way. */
	readonly path: Path;
	readonly value: unknown;
	readonly inserts: "message" | "part";
}

export type Edit = ReplaceEdit | RemoveEdit | InsertEdit;

/** Edits whose paths do not overlap. */
export type Plan = readonly Edit[];
