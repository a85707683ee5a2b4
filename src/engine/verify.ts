import type { Edit, Plan } from "./edit.ts";
import { type CountTokens, sizeOfResult } from "./measure.ts";
import { pairResults } from "./pairing.ts";
import { jsonPointer, type Path } from "./path.ts";
import type { Message, Transcript } from "./transcript.ts";
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
	return [
		...verifyTargets(before.transcript, plan, isLink),
		...plan.flatMap(verifyShrinks),
		...verifyWrittenSizes(before.transcript, after.transcript, { plan, countTokens }),
		...verifyUntouched(before.document, after.document, plan),
		...verifyMessages(before.transcript, after.transcript, plan),
	];
}

function verifyTargets(transcript: Transcript, plan: Plan, isLink: (path: Path) => boolean): Violation[] {
	const removesValues = plan.some((edit) => edit.kind === "remove");
	return plan.flatMap((edit): Violation[] => {
		const message = transcript.messages[edit.message];
		const pointer = jsonPointer(edit.path);
		const isOneOf = (paths: readonly Path[] | undefined) =>
			paths?.some((path) => jsonPointer(path) === pointer) ?? false;
		if (edit.reason === "relink") {
			return removesValues && isLink(edit.path)
				? []
				: [{ promise: "only_tool_results_edited", detail: `${pointer} is no tie to a dropped record` }];
		}
		if (edit.kind === "remove") {
			const removable = edit.reason === "drop" ? message?.paths : message?.thinking.map((block) => block.path);
			if (!isOneOf(removable))
				return [{ promise: "only_tool_results_edited", detail: `${pointer} may not be removed` }];
			const isSystem = edit.reason === "drop" && message?.role === "system";
			return isSystem ? [{ promise: "system_messages_kept", detail: pointer }] : [];
		}
		const editable = message?.results.flatMap(({ texts, whole, copies, media }) => [
			...[...texts, ...copies, ...media].map((node) => node.path),
			...(whole ? [whole.path] : []),
		]);
		return isOneOf(editable) ? [] : [{ promise: "only_tool_results_edited", detail: `${pointer} is no tool result` }];
	});
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
		case "relink":
			return true;
	}
}

/** What an edit claims of sizes is measured again on what was written: results of edited messages take fewer tokens. */
function verifyWrittenSizes(
	before: Transcript,
	after: Transcript,
	{ plan, countTokens }: VerifyParameters,
): Violation[] {
	const edited = new Set(
		plan
			.filter((edit) => (edit.reason === "mask" || edit.reason === "truncate") && !edit.unsent)
			.map((edit) => edit.message),
	);
	const tokens = (message: Message | undefined) => {
		const texts = message?.results.reduce((sum, result) => sum + sizeOfResult(result, countTokens).tokens, 0) ?? 0;
		return texts + (message?.mediaTokens ?? 0);
	};
	return keptMessages(before, plan).flatMap((original, index): Violation[] => {
		if (!edited.has(original)) return [];
		const [was, is] = [tokens(before.messages[original]), tokens(after.messages[index])];
		return is <= was
			? []
			: [{ promise: "every_edit_shrinks", detail: `message ${original} takes ${is} tokens, took ${was}` }];
	});
}

function keptMessages(before: Transcript, plan: Plan): number[] {
	const removed = new Set(plan.filter((edit) => edit.reason === "drop").map((edit) => edit.message));
	return before.messages.flatMap((_, index) => (removed.has(index) ? [] : [index]));
}

/** Order, roles, ids and pairing of the messages that stay. */
function verifyMessages(before: Transcript, after: Transcript, plan: Plan): Violation[] {
	const kept = keptMessages(before, plan);
	if (kept.length !== after.messages.length) {
		return [{ promise: "order_kept", detail: `${after.messages.length} messages where ${kept.length} should stay` }];
	}
	const violations: Violation[] = [];
	kept.forEach((original, index) => {
		const [old, current] = [before.messages[original], after.messages[index]];
		if (old?.role !== current?.role) violations.push({ promise: "order_kept", detail: `message ${original}` });
		const ids = (message: typeof old) =>
			JSON.stringify([message?.calls, message?.results.map((result) => [result.callId, result.isError])]);
		if (ids(old) !== ids(current)) violations.push({ promise: "ids_kept", detail: `message ${original}` });
	});
	return [...violations, ...verifyPairing(before, after, kept)];
}

/** Each result that stays answers the same call as before, and each call that stays has all its results. */
function verifyPairing(before: Transcript, after: Transcript, kept: readonly number[]): Violation[] {
	const position = new Map(kept.map((original, index) => [original, index]));
	const describe = (message: number, caller: number | undefined, callId: string | undefined) =>
		JSON.stringify([message, caller ?? null, callId ?? null]);
	const expected = new Map<string, number>();
	for (const { message, caller, result } of pairResults(before)) {
		const [at, by] = [position.get(message), caller === undefined ? undefined : position.get(caller)];
		// A pair goes as a whole: it counts as expected as soon as one side of it stays.
		if (at === undefined && by === undefined) continue;
		const key = describe(at ?? -1, by ?? (caller === undefined ? undefined : -1), result.callId);
		expected.set(key, (expected.get(key) ?? 0) + 1);
	}
	for (const { message, caller, result } of pairResults(after)) {
		const key = describe(message, caller, result.callId);
		expected.set(key, (expected.get(key) ?? 0) - 1);
	}
	return Array.from(expected)
		.filter(([, count]) => count !== 0)
		.map(([key]) => {
			const [message, caller] = JSON.parse(key) as [number, number | null];
			return { promise: "pairing_kept", detail: `result in message ${message}, call in message ${caller ?? "none"}` };
		});
}
