import { compactJson } from "../compact-json.ts";
import { type PairedResult, pairResults } from "../pairing.ts";
import { valueAt } from "../path.ts";
import type { ToolCall, Transcript } from "../transcript.ts";
import type { ReadDocument } from "../verify.ts";
import type { Violation } from "../violation.ts";
import { isNew } from "./rewritten-messages.ts";

/** A call with the number of its results. */
interface CountedCall extends ToolCall {
	readonly message: number;
	/** Results that name it. */
	readonly results: number;
	/** Results without an id, which an API gives to the last message with calls. */
	readonly unnamed: number;
}

/**
 * Checks calls and results of a rewritten conversation. Calls that are still there are some of those before, in their
 * order, with as many results as before; a result that stays has the call that it had; none is without a call that was
 * not so before; and nothing new stands between a call and its results. `origins` holds for each message its index
 * before, or `isNew`.
 */
export function verifyRewrittenCalls(before: ReadDocument, after: ReadDocument, origins: Int32Array): Violation[] {
	return [
		...verifyCalls(countCalls(before.transcript), countCalls(after.transcript)),
		...verifyOrphans(before.transcript, after.transcript),
		...verifyKeptPairs(before, after, origins),
		...verifyNothingBetween(after.transcript, origins),
	];
}

function countCalls(transcript: Transcript): CountedCall[] {
	const results = new Map<ToolCall, number>();
	for (const { call } of pairResults(transcript)) if (call) results.set(call, (results.get(call) ?? 0) + 1);
	const counted: { -readonly [Key in keyof CountedCall]: CountedCall[Key] }[] = [];
	transcript.messages.forEach((message, index) => {
		for (const call of message.calls) {
			counted.push({ id: call.id, name: call.name, message: index, results: results.get(call) ?? 0, unnamed: 0 });
		}
		const last = counted.at(-1);
		if (last) last.unnamed += message.results.filter(({ callId }) => callId === undefined).length;
	});
	return counted;
}

const nameOf = ({ id, name }: CountedCall) => JSON.stringify([id ?? null, name ?? null]);
const fullNameOf = (call: CountedCall) => JSON.stringify([nameOf(call), call.results, call.unnamed]);

/** The calls are a subsequence of those before, results counted; where they are not, tells in which way. */
function verifyCalls(before: readonly CountedCall[], after: readonly CountedCall[]): Violation[] {
	const byFullName = indexesBy(before, fullNameOf);
	const byName = indexesBy(before, nameOf);
	const violations: Violation[] = [];
	let next = 0;
	for (const call of after) {
		const detail = `call in message ${call.message} of the result`;
		const found = firstFrom(byFullName.get(fullNameOf(call)), next);
		if (found !== undefined) {
			next = found + 1;
			continue;
		}
		const named = byName.get(nameOf(call));
		if (!named) violations.push({ promise: "ids_kept", detail });
		else if (firstFrom(named, next) === undefined) violations.push({ promise: "order_kept", detail });
		else violations.push({ promise: "pairing_kept", detail });
	}
	return violations;
}

function indexesBy(calls: readonly CountedCall[], keyOf: (call: CountedCall) => string): Map<string, number[]> {
	const indexes = new Map<string, number[]>();
	calls.forEach((call, index) => {
		const key = keyOf(call);
		const known = indexes.get(key);
		if (known) known.push(index);
		else indexes.set(key, [index]);
	});
	return indexes;
}

/** The first of ascending indexes that is not below a number. */
function firstFrom(indexes: readonly number[] | undefined, least: number): number | undefined {
	let [low, high] = [0, indexes?.length ?? 0];
	while (low < high) {
		const middle = (low + high) >> 1;
		if ((indexes?.[middle] ?? 0) < least) low = middle + 1;
		else high = middle;
	}
	return indexes?.[low];
}

/** Results that name no call, or stand before all calls, are no more than before. */
function verifyOrphans(before: Transcript, after: Transcript): Violation[] {
	const allowed = new Map<string | undefined, number>();
	for (const { callId } of orphansOf(before)) allowed.set(callId, (allowed.get(callId) ?? 0) + 1);
	return orphansOf(after).flatMap(({ callId, message }): Violation[] => {
		const left = allowed.get(callId) ?? 0;
		allowed.set(callId, left - 1);
		if (left > 0) return [];
		return [{ promise: "pairing_kept", detail: `result in message ${message} of the result has no call before it` }];
	});
}

function orphansOf(transcript: Transcript): { readonly callId: string | undefined; readonly message: number }[] {
	const firstCaller = transcript.messages.findIndex(({ calls }) => calls.length > 0);
	return pairResults(transcript).flatMap(({ caller, message, result: { callId } }) => {
		const isOrphan = callId === undefined ? firstCaller === -1 || message < firstCaller : caller === undefined;
		return isOrphan ? [{ callId, message }] : [];
	});
}

function verifyKeptPairs(before: ReadDocument, after: ReadDocument, origins: Int32Array): Violation[] {
	const keyOf = ({ result: { callId } }: PairedResult, message: number) => `${message}:${callId}`;
	const callers = new Map(pairResults(before.transcript).map((pair) => [keyOf(pair, pair.message), pair.caller]));
	const kept = new Set(origins);
	const isSame = (was: number | undefined, is: number | undefined): boolean => {
		if (was === undefined || is === undefined) return was === is;
		const origin = origins[is] ?? isNew;
		// A caller that is new may be the old one with another text, which then is there no more.
		if (origin === isNew) return !kept.has(was);
		// Of equal messages no one can tell which of them stayed.
		return origin === was || valuesOf(before, was) === valuesOf(after, is);
	};
	return pairResults(after.transcript).flatMap((pair): Violation[] => {
		const origin = origins[pair.message] ?? isNew;
		const key = keyOf(pair, origin);
		if (origin === isNew || !callers.has(key) || isSame(callers.get(key), pair.caller)) return [];
		return [{ promise: "pairing_kept", detail: `result in message ${origin} has another call` }];
	});
}

function valuesOf({ document, transcript }: ReadDocument, message: number): string {
	return compactJson(transcript.messages[message]?.paths.map((path) => valueAt(document, path)));
}

/** An API wants the results right behind their calls. */
function verifyNothingBetween(after: Transcript, origins: Int32Array): Violation[] {
	const ends = new Int32Array(after.messages.length);
	for (const { caller, message } of pairResults(after)) {
		if (caller !== undefined) ends[caller] = Math.max(ends[caller] ?? 0, message);
	}
	const violations: Violation[] = [];
	let reach = 0;
	after.messages.forEach(({ calls, results }, index) => {
		if (index < reach && origins[index] === isNew && calls.length + results.length === 0) {
			const detail = `message ${index} of the result stands between a call and its results`;
			violations.push({ promise: "pairing_kept", detail });
		}
		reach = Math.max(reach, ends[index] ?? 0);
	});
	return violations;
}
