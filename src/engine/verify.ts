import type { Edit, Plan } from "./edit.ts";
import { type CountTokens, sizeOfResult } from "./measure.ts";
import { jsonPointer, type Path } from "./path.ts";
import { takesMessageOut } from "./takes-message-out.ts";
import type { Message, Transcript } from "./transcript.ts";
import { newMessage, verifyMessages } from "./verify-messages.ts";
import { verifySummary } from "./verify-summary.ts";
import { verifyTargets } from "./verify-targets.ts";
import { verifyUntouched } from "./verify-untouched.ts";
import type { Violation } from "./violation.ts";

/** A document and the transcript read from it. */
export interface ReadDocument {
	readonly document: unknown;
	readonly transcript: Transcript;
}

/** What the verifier is given beside the documents. */
export interface VerifyParameters {
	readonly plan: Plan;
	readonly countTokens: CountTokens;
	/** Tells the places that tie a record to the one before it, which may be rewritten where messages are dropped. */
	readonly isLink?: (path: Path) => boolean;
}

/** Checks what was really written against the promises. Returns nothing where all of them hold. */
export function verify(before: ReadDocument, after: ReadDocument, parameters: VerifyParameters): Violation[] {
	const { plan, countTokens, isLink } = parameters;
	const kept = keptMessages(before.transcript, plan);
	return [
		...verifyTargets(before.transcript, plan, isLink),
		...verifyShrinks(plan),
		...verifySummary(before.transcript, plan),
		...verifyWrittenSizes(before.transcript, after.transcript, { plan, countTokens, kept }),
		...verifyUntouched(before.document, after.document, plan),
		...verifyMessages(before.transcript, after.transcript, kept),
	];
}

function verifyShrinks(plan: Plan): Violation[] {
	return plan
		.filter((edit) => !shrinks(edit))
		.map(({ path }) => ({ promise: "every_edit_shrinks", detail: jsonPointer(path) }));
}

function shrinks({ before, after, reason, unsent }: Edit): boolean {
	if (unsent) return after.chars < before.chars || after.tokens < before.tokens;
	switch (reason) {
		case "mask":
			return after.tokens < before.tokens;
		case "truncate":
			return after.chars < before.chars && after.tokens <= before.tokens;
		case "drop":
		case "thinking":
			return after.tokens === 0;
		// Of a summary all edits together shrink.
		case "summary":
		case "append":
		case "relink":
			return true;
	}
}

/** What an edit claims of sizes is measured again on what was written: results of edited messages take fewer tokens. */
function verifyWrittenSizes(
	before: Transcript,
	after: Transcript,
	{ plan, countTokens, kept }: VerifyParameters & { readonly kept: readonly number[] },
): Violation[] {
	const edited = new Uint8Array(before.messages.length);
	for (const { reason, unsent, message } of plan) {
		if ((reason === "mask" || reason === "truncate") && !unsent) edited[message] = 1;
	}
	const tokens = (message: Message | undefined) => {
		let sum = message?.mediaTokens ?? 0;
		for (const result of message?.results ?? []) sum += sizeOfResult(result, countTokens).tokens;
		return sum;
	};
	const violations: Violation[] = [];
	for (let index = 0; index < kept.length; index += 1) {
		const original = kept[index] as number;
		if (!edited[original]) continue;
		const was = tokens(before.messages[original]);
		const is = tokens(after.messages[index]);
		if (is <= was) continue;
		const detail = `message ${original} takes ${is} tokens, took ${was}`;
		violations.push({ promise: "every_edit_shrinks", detail });
	}
	return violations;
}

/** The index before of each message afterwards. */
function keptMessages(before: Transcript, plan: Plan): number[] {
	const { length } = before.messages;
	const removed = new Uint8Array(length);
	const added = new Uint32Array(length + 1);
	for (const edit of plan) {
		if (takesMessageOut(edit)) removed[edit.message] = 1;
		const isNew =
			edit.kind === "insert" ? edit.inserts === "message" : edit.reason === "summary" && edit.kind === "replace";
		if (isNew && edit.message <= length) added[edit.message] = (added[edit.message] ?? 0) + 1;
	}
	const kept: number[] = [];
	for (let index = 0; index <= length; index += 1) {
		for (let count = added[index] ?? 0; count > 0; count -= 1) kept.push(newMessage);
		if (index < length && removed[index] === 0) kept.push(index);
	}
	return kept;
}
