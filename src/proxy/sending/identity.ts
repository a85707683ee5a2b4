import crypto from "node:crypto";
import { valueAt } from "../../engine/conversation/paths.ts";
import {
	hasSameRest,
	type Message,
	resultText,
	type ThinkingBlock,
	type ToolResult,
	type Transcript,
} from "../../engine/conversation/transcript.ts";
import { callArguments, isToolTurn, type PairedResult, pairResults } from "../../engine/conversation/turns.ts";
import { sha256 } from "../../formats/json-text/text-bytes.ts";
import { objectOf } from "../../formats/json-text/value.ts";

/** An id that a provider made at random, such as `toolu_01A09q90qw90lq917835lq9`; `call_1` may be in any conversation. */
const distinctId = /^[\w-]{16,}$/;

/**
 * Names a conversation by its start: the calls of its first tool turn, and the first user message before it unless the ids of
 * the calls are distinct. No host rewrites these but by compaction, which starts another conversation. `undefined` before
 * the first tool turn, when there is nothing to edit.
 */
export function conversationKey({ messages }: Transcript): string | undefined {
	const at = messages.findIndex(isToolTurn);
	const first = messages[at];
	if (!first) return undefined;
	const { calls } = first;
	const isDistinct = calls.some(({ id }) => id !== undefined && distinctId.test(id));
	const user = isDistinct ? undefined : messages.slice(0, at).find(({ role }) => role === "user");
	return hashOf([calls.map(({ id, name }) => [id, name]), callArguments(first), user?.counted ?? []]);
}

/**
 * Names the conversation of one of several people, so that states, plans, figures and pings of each are apart also where their
 * texts are the same. `owner` is the caller's identity; "" is the only user of a machine.
 */
export function ownedName(owner: string, conversation: string): string {
	return owner === "" ? conversation : `${hashOf([owner]).slice(0, 16)}-${conversation}`;
}

/** The keys of the results of a history, by place. */
export interface KnownKeys {
	readonly paired: readonly PairedResult[];
	readonly keys: readonly string[];
}

/**
 * Makes a key for each result, by place: its text with its call. Results whose calls have distinct ids are known in every
 * conversation of the same owner, so they are still known after a host has compacted it; others only in `conversation`, by
 * their number among those that are equal in the id as well: else the next equal one would take the state of one that a host
 * rewrites. The results that an earlier history begins with keep their keys without being hashed, which is most of the time that
 * a request of 1 MB would take (`npm run bench -- proxy`).
 */
export function resultKeys(transcript: Transcript, conversation: string, before?: KnownKeys): string[] {
	const owner = conversation.split("-").slice(0, -1);
	const paired = pairResults(transcript);
	let same = 0;
	while (before && same < paired.length && isSameResult(paired[same], before.paired[same])) same += 1;
	const keys = before?.keys.slice(0, same) ?? [];
	const seen = new Map<string, number>();
	const plainKey = ({ result, call, caller }: PairedResult): string => {
		const calling = caller === undefined ? undefined : transcript.messages[caller];
		const input = calling && call ? callArguments(calling)[calling.calls.indexOf(call)] : undefined;
		return hashOf([conversation, result.callId, call?.name, input, textHash(result)]);
	};
	const hasPlain = paired.slice(same).some(({ result }) => !isDistinct(result));
	if (hasPlain) for (const one of paired.slice(0, same)) if (!isDistinct(one.result)) count(seen, plainKey(one));
	for (const one of paired.slice(same)) {
		if (isDistinct(one.result)) {
			keys.push(hashOf([one.result.callId, textHash(one.result), ...owner]));
			continue;
		}
		const key = plainKey(one);
		const number = count(seen, key);
		keys.push(number === 0 ? key : hashOf([key, number]));
	}
	return keys;
}

function count(seen: Map<string, number>, key: string): number {
	const number = seen.get(key) ?? 0;
	seen.set(key, number + 1);
	return number;
}

/** Whether the id of its call names it in every conversation. */
export function isDistinct({ callId }: ToolResult): boolean {
	return callId !== undefined && distinctId.test(callId);
}

function isSameResult(one: PairedResult | undefined, other: PairedResult | undefined): boolean {
	if (!one || !other || one.message !== other.message || one.caller !== other.caller) return false;
	const [{ callId, texts }, before] = [one.result, other.result];
	if (callId !== before.callId || one.call?.name !== other.call?.name || texts.length !== before.texts.length)
		return false;
	return (
		hasSameRest(one.result, before) &&
		texts.every(({ text, frame }, index) => {
			const known = before.texts[index];
			return text === known?.text && frame?.before === known.frame?.before && frame?.after === known.frame?.after;
		})
	);
}

/** Names a message by its texts and the ids of its calls, so that it is found again when a host has dropped others. */
export function messageKey(message: Pick<Message, "role" | "counted" | "calls" | "results">): string {
	const { role, counted, calls, results } = message;
	return hashOf([role, counted, calls.map(({ id }) => id), results.map((one) => [one.callId, textHash(one)])]);
}

/** Names a reasoning block by its signature or encrypted data, else by all of it. */
export function blockKey(document: unknown, { path }: ThinkingBlock): string {
	const block = valueAt(document, path);
	const { signature, data } = objectOf(block);
	return hashOf(signature ?? data ?? block).slice(0, 16);
}

function textHash(result: ToolResult): string {
	const frames = result.texts.flatMap(({ frame }) => (frame ? [frame.before, frame.after] : []));
	return shortened(sha256([resultText(result), ...frames].join("\0")));
}

function hashOf(value: unknown): string {
	return shortened(crypto.hash("sha256", JSON.stringify(value), "hex"));
}

function shortened(hash: string): string {
	return hash.slice(0, 32);
}
