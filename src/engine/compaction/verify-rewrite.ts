import { compactJson } from "../compact-json.ts";
import type { Plan } from "../edit.ts";
import { jsonPointer, type Path, valueAt } from "../path.ts";
import type { Message, Transcript } from "../transcript.ts";
import type { ReadDocument } from "../verify.ts";
import { verifyUntouched } from "../verify-untouched.ts";
import type { Violation } from "../violation.ts";
import { isNew, type RewrittenMessages, rewrittenMessages } from "./rewritten-messages.ts";
import { verifyRewrittenCalls } from "./verify-rewritten-calls.ts";

/** What the verifier of a rewrite is given beside the documents. */
export interface VerifyRewriteParameters {
	/** All edits that were made, ties of records and reasoning blocks among them. */
	readonly plan: Plan;
	/** Path of the list of messages or records. */
	readonly base: Path;
	/** Tokens of the whole conversation, before and as it was read again. */
	readonly tokensBefore: number;
	readonly tokensAfter: number;
}

/**
 * Checks what an external strategy made of a conversation, once it was written and read again. Returns nothing where all
 * promises hold: what the plan does not touch is the very same; calls and results still belong together; system messages
 * are those that were there; messages that stay are in their order; what is new is a message of the user's, the
 * assistant's or a tool's; something is left, beginning with the user where the API wants it so; and it is not larger.
 *
 * `after` has to be read anew as a whole, so that its paths are those of the document that was written.
 */
export function verifyRewrite(
	before: ReadDocument,
	after: ReadDocument,
	parameters: VerifyRewriteParameters,
): Violation[] {
	const { plan, base, tokensBefore, tokensAfter } = parameters;
	const rewritten = rewrittenMessages(before, after, parameters);
	const growth: Violation[] =
		tokensAfter > tokensBefore
			? [{ promise: "every_edit_shrinks", detail: `${tokensAfter} tokens in all, ${tokensBefore} before` }]
			: [];
	return [
		...verifyUntouched(before.document, after.document, plan),
		...verifySystem(before, after),
		...verifyNew(before.transcript, after.transcript, { depth: base.length, rewritten }),
		...verifyRewrittenCalls(before, after, rewritten.origins),
		...verifyOrder(before.document, after.document, { base, rewritten }),
		...verifyStart(before.transcript, after.transcript),
		...growth,
	];
}

function verifySystem(before: ReadDocument, after: ReadDocument): Violation[] {
	const [were, are] = [systemMessages(before), systemMessages(after)];
	if (were.length === are.length && were.every((text, index) => text === are[index])) return [];
	return [
		{ promise: "system_messages_kept", detail: `${are.length} of them where ${were.length} should stay as they are` },
	];
}

function systemMessages({ document, transcript }: ReadDocument): string[] {
	return transcript.messages
		.filter(({ role }) => role === "system")
		.map(({ paths }) => compactJson(paths.map((path) => valueAt(document, path))));
}

/**
 * What is new is read as a message of a role that a strategy may write. Records that are no message are at most changed,
 * so that no more of them are put in than are taken out.
 */
function verifyNew(
	before: Transcript,
	after: Transcript,
	{ depth, rewritten }: { readonly depth: number; readonly rewritten: RewrittenMessages },
): Violation[] {
	const violations: Violation[] = [];
	const report = (detail: string) => violations.push({ promise: "inserted_as_planned", detail });
	after.messages.forEach(({ role }, index) => {
		// New messages of the system are told by comparing with those before.
		if (rewritten.origins[index] === isNew && role === "other")
			report(`message ${index} of the result has no known role`);
	});
	const { valueOrigins } = rewritten;
	const [wasRead, isRead] = [valuesRead(before, depth), valuesRead(after, depth)];
	const stays = new Set(valueOrigins);
	let unread = 0;
	for (let value = 0; value < rewritten.valuesBefore; value += 1)
		if (!wasRead.has(value) && !stays.has(value)) unread += 1;
	valueOrigins.forEach((origin, index) => {
		if (origin !== isNew || isRead.has(index)) return;
		unread -= 1;
		if (unread < 0) report(`value ${index} of the result is no message`);
	});
	return violations;
}

function valuesRead({ messages }: Transcript, depth: number): ReadonlySet<number> {
	return new Set(messages.flatMap(({ paths }) => paths.map((path) => Number(path[depth]))));
}

/** Values that occur once before and once afterwards stand in the same order. */
function verifyOrder(
	before: unknown,
	after: unknown,
	{ base, rewritten }: { readonly base: Path; readonly rewritten: RewrittenMessages },
): Violation[] {
	const [old, current] = [listAt(before, base), listAt(after, base)];
	const stays = new Uint8Array(old.length);
	for (const origin of rewritten.valueOrigins) if (origin !== isNew) stays[origin] = 1;
	const gone = new Set(old.flatMap((value, index) => (stays[index] ? [] : [compactJson(value)])));
	const isMoved = (value: unknown, index: number) =>
		rewritten.valueOrigins[index] === isNew && gone.has(compactJson(value));
	if (gone.size === 0 || !current.some(isMoved)) return [];
	const [were, are] = [uniqueIndexes(old), uniqueIndexes(current)];
	let latest = -1;
	const violations: Violation[] = [];
	for (const [key, index] of are) {
		const was = were.get(key) ?? -1;
		if (index === -1 || was === -1) continue;
		if (was < latest) violations.push({ promise: "order_kept", detail: jsonPointer([...base, was]) });
		latest = Math.max(latest, was);
	}
	return violations;
}

function listAt(document: unknown, base: Path): readonly unknown[] {
	const list = valueAt(document, base);
	return Array.isArray(list) ? list : [];
}

/** Index of each value that occurs once, in order; -1 of the others. */
function uniqueIndexes(list: readonly unknown[]): Map<string, number> {
	const indexes = new Map<string, number>();
	list.forEach((value, index) => {
		const key = compactJson(value);
		indexes.set(key, indexes.has(key) ? -1 : index);
	});
	return indexes;
}

function verifyStart(before: Transcript, after: Transcript): Violation[] {
	const [was, is] = [firstOf(before), firstOf(after)];
	if (was === undefined) return [];
	if (is === undefined) return [{ promise: "start_kept", detail: "no message is left" }];
	if (!before.opensWithUser || was.role !== "user" || is.role === "user") return [];
	return [{ promise: "start_kept", detail: "the first message is not the user's" }];
}

function firstOf({ messages }: Transcript): Message | undefined {
	return messages.find(({ role, sent }) => role !== "system" && sent !== false);
}
