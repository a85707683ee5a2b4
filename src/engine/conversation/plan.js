import { startsWith } from "./paths.js";
/** Collects edits without overlap: a drop removes others of its message, a smaller placeholder removes truncations. */
export function startDraft(before) {
	const byMessage = before.map(() => undefined);
	const sizes = [...before];
	const saved = startSum();
	function setEdits(message, edits) {
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
		add(edit) {
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
		plan: () => byMessage.flatMap((edits) => edits ?? []),
		sizes: () => sizes,
		saved: saved.total,
	};
}
function sizeAfter(before, edits) {
	const sum = startSum(before);
	for (const edit of edits) {
		if (edit.unsent) continue;
		sum.add(edit.after);
		sum.subtract(edit.before);
	}
	return sum.total();
}
/** Tokens that edits save; of unsent copies, characters. */
function savedBy(edits) {
	const key = edits[0]?.unsent ? "chars" : "tokens";
	return edits.reduce((sum, edit) => sum + edit.before[key] - edit.after[key], 0);
}
/** Sums up a plan. Sizes leave out unsent parts. */
export function totalsOf(plan) {
	const of = (wanted) => plan.filter(({ reason }) => reason === wanted);
	const sent = plan.filter(({ unsent }) => !unsent);
	const [mask, truncate, drop] = [of("mask"), of("truncate"), of("drop")];
	const summary = [...of("summary"), ...of("merge")];
	const dropped = messagesOf(drop);
	const summarised = messagesOf(summary.filter(takesMessageOut));
	const ofMessages = sent.filter(({ message }) => message >= 0);
	const sentMasks = mask.filter(({ unsent }) => !unsent);
	const charsOf = (edits, size) => edits.reduce((sum, edit) => sum + edit[size].chars, 0);
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
function messagesOf(edits) {
	return [...new Set(edits.map(({ message }) => message))];
}
function resultsOf(edits) {
	return new Set(edits.map(({ result }) => result)).size;
}
function sizeOfEdits(edits, size) {
	const sum = startSum();
	for (const edit of edits) sum.add(edit[size]);
	return sum.total();
}
/** The tokens and characters that edits save. */
export function savedSize(edits) {
	return subtractSizes(sizeOfEdits(edits, "before"), sizeOfEdits(edits, "after"));
}
export const noSize = { chars: 0, tokens: 0 };
export function addSizes(a, b) {
	const chars = a.chars + b.chars;
	const tokens = a.tokens + b.tokens;
	if (a.fixed === undefined && b.fixed === undefined) return { chars, tokens };
	return { chars, tokens, fixed: (a.fixed ?? 0) + (b.fixed ?? 0) };
}
export function subtractSizes(a, b) {
	// Never 0 times -1: one -0 makes V8 keep the numbers of all sizes in objects of their own.
	const chars = a.chars - b.chars;
	const tokens = a.tokens - b.tokens;
	if (a.fixed === undefined && b.fixed === undefined) return { chars, tokens };
	return { chars, tokens, fixed: (a.fixed ?? 0) - (b.fixed ?? 0) };
}
export function startSum(from = noSize) {
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
/** Whether an edit drops its message or replaces it by a summary. */
export function takesMessageOut({ reason, kind }) {
	return reason === "drop" || (reason === "summary" && kind !== "insert");
}
