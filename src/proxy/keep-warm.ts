import { keepWarm as rule } from "../engine/replaying/pauses.ts";
import { writeValues } from "../formats/json-text/edit.ts";
import { readJsonText } from "../formats/json-text/read.ts";
import { objectOf, stringAt } from "../formats/json-text/value.ts";
import type { Log } from "../log.ts";
import { readUsage } from "./billing/read-usage.ts";
import { type CacheTerms, servedTerms } from "./billing/terms.ts";
import { promptTokens, type Usage } from "./billing/usage.ts";
import { decodeBody } from "./body.ts";
import { withoutBodyChecksum } from "./body-checksum.ts";
import type { Asked, Upstream } from "./forward.ts";
import type { Ledger } from "./ledger.ts";
import { asksForSummary } from "./sending/clearing.ts";

/** A request that was answered, as it was sent. */
export interface AnsweredRequest {
	readonly asked: Asked & { readonly body: { readonly bytes: Buffer; readonly decoded: boolean } };
	/** The encoding of its body, unless that is decoded. */
	readonly encoding: string | undefined;
	readonly upstream: Upstream;
	/** When it was sent, in ms since 1970. */
	readonly at: number;
	readonly terms: CacheTerms;
	readonly usage: Usage | undefined;
	/** Whether its answer calls tools, so that the program is going to answer. */
	readonly callsTools: boolean;
	/** The program's name of its session, empty where it gives none. Subagents have that of their caller. */
	readonly session: string;
	/** Whether the program may still be there. */
	readonly isThere: () => boolean;
}

/** Runs something later, which never rejects; returns how to cancel that. */
export type Later = (ms: number, run: () => Promise<void>) => () => void;

export type KeepWarm = ReturnType<typeof createKeepWarm>;

/** Conversations whose last request is held. */
const mostHeld = 20;
/** A larger request is not held. */
const mostBytes = 8 * 1024 * 1024;
const mostSessions = 200;

/**
 * Sends the last request of a conversation once more before its cache expires, for one token, which reads the whole prefix and
 * so renews it (https://platform.claude.com/docs/en/build-with-claude/prompt-caching). Holds that request with its headers until
 * the next one comes, or none is to be sent. `renewed` hears of each renewal.
 */
export function createKeepWarm(what: {
	readonly ledger: Pick<Ledger, "pinged">;
	readonly renewed: (conversation: string) => void;
	readonly log: Log | undefined;
	readonly now: () => number;
	readonly later?: Later | undefined;
}) {
	const { ledger, renewed, log, now, later = afterMs } = what;
	const underWay = new Map<string, number>();
	const held = new Map<string, Held>();
	/** By session, the conversation of the last request that was worth a ping. */
	const latest = new Map<string, string>();
	let isClosed = false;

	const forget = (conversation: string): void => {
		held.get(conversation)?.left.abort();
		held.get(conversation)?.cancel();
		held.delete(conversation);
	};

	const hold = (conversation: string, request: AnsweredRequest): void => {
		const one: Held = { ...request, renewedAt: request.at, pings: 0, left: new AbortController(), cancel: () => {} };
		latest.delete(request.session);
		latest.set(request.session, conversation);
		dropOldest(latest.keys(), latest.size - mostSessions, (session) => latest.delete(session));
		held.set(conversation, one);
		schedule(conversation, one);
		dropOldest(held.keys(), held.size - mostHeld, forget);
	};

	const schedule = (conversation: string, one: Held): void => {
		const longest = rule.after * one.terms.lifetime;
		// A clock that was set back would have it wait until the cache is long lost.
		one.cancel = later(Math.min(longest, Math.max(0, one.renewedAt + longest - now())), () =>
			ping(conversation, one).catch(() => fail(conversation, one, "no whole answer")),
		);
	};

	const ping = async (conversation: string, one: Held): Promise<void> => {
		const at = now();
		// A machine that slept, an answer that took long, or a clock that was set.
		const isExpired = at < one.renewedAt || at >= one.renewedAt + one.terms.lifetime;
		// A subagent that has done its work.
		const isOver = !one.callsTools && latest.get(one.session) !== conversation;
		if (isExpired || isOver || !one.isThere()) return forget(conversation);
		const asked = await pingOf(one);
		if (held.get(conversation) !== one) return;
		if (!asked) return forget(conversation);
		const answer = await one.upstream.ask(asked);
		const reader = readUsage(answer, "anthropic");
		for await (const piece of answer as AsyncIterable<Buffer>) reader.push(piece);
		const usage = await reader.end();
		if ((answer.statusCode ?? 500) >= 300) return fail(conversation, one, `status ${answer.statusCode}`);
		if (!usage) return fail(conversation, one, "no usage");
		ledger.pinged({ usage, terms: servedTerms(one.terms, reader.served()) });
		if (held.get(conversation) !== one) return;
		renewed(conversation);
		one.renewedAt = at;
		one.pings += 1;
		// A ping that wrote the prefix again came too late.
		const hasRead = usage.cacheRead > promptTokens(usage) / 2;
		if (hasRead && one.pings < rule.mostPings) schedule(conversation, one);
		else forget(conversation);
	};

	const fail = (conversation: string, one: Held, reason: string): void => {
		ledger.pinged("failed");
		// A request of the conversation ended it.
		if (held.get(conversation) !== one) return;
		const message = `A ping to keep the cache warm failed (${reason}); no other follows in this pause.`;
		log?.({ level: "info", message, data: { event: "ping_failed" } });
		forget(conversation);
	};

	return {
		/** A request ends the pause of its conversation. Call the result when it is over, with the request if it was answered. */
		begin(conversation: string): (request: AnsweredRequest | undefined) => void {
			forget(conversation);
			underWay.set(conversation, (underWay.get(conversation) ?? 0) + 1);
			return (request) => {
				const others = (underWay.get(conversation) ?? 1) - 1;
				if (others > 0) underWay.set(conversation, others);
				else underWay.delete(conversation);
				if (request && others === 0 && !isClosed && isWorthAPing(request)) hold(conversation, request);
			};
		},
		close(): void {
			isClosed = true;
			for (const conversation of held.keys()) forget(conversation);
		},
	};
}

const afterMs: Later = (ms, run) => {
	const timer = setTimeout(() => void run(), ms).unref();
	return () => clearTimeout(timer);
};

interface Held extends AnsweredRequest {
	/** When its cache was last read or written. */
	renewedAt: number;
	pings: number;
	readonly left: AbortController;
	cancel: () => void;
}

function dropOldest(keys: Iterable<string>, count: number, drop: (key: string) => void): void {
	let left = count;
	for (const key of keys) {
		if (left <= 0) return;
		drop(key);
		left -= 1;
	}
}

function isWorthAPing({ asked, terms, usage }: AnsweredRequest): boolean {
	const cached = usage ? usage.cacheRead + usage.cacheWrite : 0;
	// After a compaction of the provider, no request has this prompt again.
	if (usage?.passes) return false;
	return terms.caching === "asked" && cached > rule.moreThanTokens && asked.body.bytes.length <= mostBytes;
}

/** The same bytes, but for one token and without a stream: neither is part of the prefix. */
async function pingOf({ asked, encoding, left }: Held): Promise<Asked | undefined> {
	const { bytes, decoded } = asked.body;
	const plain = decoded ? bytes : await decodeBody(bytes, encoding, mostBytes);
	if (typeof plain === "string") return undefined;
	const document = readJsonText(plain.toString("utf8"), "the request");
	const { max_tokens, stream, thinking } = objectOf(document.value);
	if (asksForSummary(document.value)) return undefined;
	// The API refuses a limit below the budget of thinking.
	if (typeof max_tokens !== "number" || stringAt(objectOf(thinking), "type") === "enabled") return undefined;
	const text = writeValues(document, [
		{ kind: "replace", path: ["max_tokens"], replacement: 1 },
		...(stream === undefined ? [] : [{ kind: "replace" as const, path: ["stream"], replacement: false }]),
	]);
	return {
		...asked,
		body: { bytes: Buffer.from(withoutBodyChecksum(text, document.value)), decoded: true },
		signal: left.signal,
	};
}
