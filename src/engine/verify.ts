import type { Edit, Plan } from "./edit.ts";
import { type CountTokens, sizeOfResult } from "./measure.ts";
import { jsonPointer, type Path, samePath } from "./path.ts";
import { takesMessageOut } from "./takes-message-out.ts";
import type { Message, Transcript } from "./transcript.ts";
import { newMessage, verifyMessages } from "./verify-messages.ts";
import { verifySummary } from "./verify-summary.ts";
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
	const { plan, countTokens, isLink = () => false } = parameters;
	const kept = keptMessages(before.transcript, plan);
	return [
		...verifyTargets(before.transcript, plan, isLink),
		...plan.flatMap(verifyShrinks),
		...verifySummary(before.transcript, plan),
		...verifyWrittenSizes(before.transcript, after.transcript, { plan, countTokens, kept }),
		...verifyUntouched(before.document, after.document, plan),
		...verifyMessages(before.transcript, after.transcript, kept),
	];
}

function verifyTargets(transcript: Transcript, plan: Plan, isLink: (path: Path) => boolean): Violation[] {
	const removesValues = plan.some((edit) => edit.kind === "remove");
	const editablePaths = rememberLast((message: Message) => pathSet(editable(message)));
	const verifyTarget = (edit: Edit): readonly Violation[] => {
		const message = transcript.messages[edit.message];
		if (edit.reason === "relink") {
			return removesValues && isLink(edit.path)
				? []
				: [{ promise: "only_tool_results_edited", detail: `${jsonPointer(edit.path)} is no tie to a dropped record` }];
		}
		if (edit.kind === "remove") {
			const isRemovable = takesMessageOut(edit)
				? message?.paths.some((path) => samePath(path, edit.path))
				: message?.thinking.some((block) => samePath(block.path, edit.path));
			if (!isRemovable) {
				return [{ promise: "only_tool_results_edited", detail: `${jsonPointer(edit.path)} may not be removed` }];
			}
			const isSystem = takesMessageOut(edit) && message?.role === "system";
			return isSystem ? [{ promise: "system_messages_kept", detail: jsonPointer(edit.path) }] : [];
		}
		// What is inserted, and where a summary is put, is checked with the summary.
		if (edit.kind === "insert" || edit.reason === "summary") return [];
		if (message && editablePaths(message)(edit.path)) return [];
		return [{ promise: "only_tool_results_edited", detail: `${jsonPointer(edit.path)} is no tool result` }];
	};
	return plan.flatMap(verifyTarget);
}

/** The paths that hold what tools answered. */
function editable(message: Message): Path[] {
	const paths: Path[] = [];
	for (const { texts, whole, copies, media } of message.results) {
		for (const node of texts) paths.push(node.path);
		for (const node of copies) paths.push(node.path);
		for (const node of media) paths.push(node.path);
		if (whole) paths.push(whole.path);
	}
	return paths;
}

/** Whether a path is one of some: looked up by its JSON Pointer only where there are many. */
function pathSet(paths: readonly Path[]): (path: Path) => boolean {
	if (paths.length <= 8) return (path) => paths.some((one) => samePath(one, path));
	const pointers = new Set(paths.map(jsonPointer));
	return (path) => pointers.has(jsonPointer(path));
}

/** The edits of a message stand one after the other in a plan, so that its answer is asked for again at once. */
function rememberLast<Key, Value>(of: (key: Key) => Value): (key: Key) => Value {
	let last: { readonly key: Key; readonly value: Value } | undefined;
	return (key) => {
		if (last?.key !== key) last = { key, value: of(key) };
		return last.value;
	};
}

function verifyShrinks(edit: Edit): Violation[] {
	return shrinks(edit) ? [] : [{ promise: "every_edit_shrinks", detail: jsonPointer(edit.path) }];
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
		const texts = message?.results.reduce((sum, result) => sum + sizeOfResult(result, countTokens).tokens, 0) ?? 0;
		return texts + (message?.mediaTokens ?? 0);
	};
	const violations: Violation[] = [];
	for (let index = 0; index < kept.length; index += 1) {
		const original = kept[index] as number;
		if (!edited[original]) continue;
		const [was, is] = [tokens(before.messages[original]), tokens(after.messages[index])];
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
