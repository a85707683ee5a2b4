import crypto from "node:crypto";
import { sha256 } from "../archive/text-bytes.ts";
import { type Message, resultText, type ToolResult, type Transcript } from "../conversation/transcript.ts";
import { callArguments, isToolTurn, pairResults } from "../conversation/turns.ts";

/** An id that a provider made at random, such as `toolu_01A09q90qw90lq917835lq9`; `call_1` may stand anywhere. */
const distinctId = /^[\w-]{16,}$/;

/**
 * Names a conversation by its start: the calls of its first tool turn, and the first user message unless the ids of the
 * calls are distinct. No host rewrites these but by compaction, which starts another conversation. `undefined` before
 * the first tool turn, when there is nothing to edit.
 */
export function conversationKey({ messages }: Transcript): string | undefined {
	const first = messages.find(isToolTurn);
	if (!first) return undefined;
	const { calls } = first;
	const isDistinct = calls.some(({ id }) => id !== undefined && distinctId.test(id));
	const user = isDistinct ? [] : (messages.find(({ role }) => role === "user")?.counted ?? []);
	return hashOf([calls.map(({ id, name }) => [id, name]), callArguments(first), user]);
}

/**
 * By place, a key for each result: its text with its call. Results whose calls have distinct ids are known in every
 * conversation, so they are still known after a host has compacted it; others only in `conversation`, by their number
 * among equal ones.
 */
export function resultKeys(transcript: Transcript, conversation: string): string[] {
	const seen = new Map<string, number>();
	return pairResults(transcript).map(({ result, call, caller }) => {
		const text = textHash(result);
		const id = result.callId;
		if (id !== undefined && distinctId.test(id)) return hashOf([id, text]);
		const calling = caller === undefined ? undefined : transcript.messages[caller];
		const input = calling && call ? callArguments(calling)[calling.calls.indexOf(call)] : undefined;
		const key = hashOf([conversation, call?.name, input, text]);
		const number = seen.get(key) ?? 0;
		seen.set(key, number + 1);
		return number === 0 ? key : hashOf([key, number]);
	});
}

/** Names a message by its texts and the ids of its calls, so that it is found again when a host has dropped others. */
export function messageKey(message: Pick<Message, "role" | "counted" | "calls" | "results">): string {
	const { role, counted, calls, results } = message;
	return hashOf([role, counted, calls.map(({ id }) => id), results.map((one) => [one.callId, textHash(one)])]);
}

/** Results are most of a request, and both keys need them. */
const textHashes = new WeakMap<ToolResult, string>();

function textHash(result: ToolResult): string {
	const frames = result.texts.flatMap(({ frame }) => (frame ? [frame.before, frame.after] : []));
	const known = textHashes.get(result) ?? shortened(sha256([resultText(result), ...frames].join("\0")));
	textHashes.set(result, known);
	return known;
}

function hashOf(value: unknown): string {
	return shortened(crypto.hash("sha256", JSON.stringify(value), "hex"));
}

function shortened(hash: string): string {
	return hash.slice(0, 32);
}
