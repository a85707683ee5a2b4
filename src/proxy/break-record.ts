import { type Figure, modelName } from "../storage/figures/line.ts";
import { adviceOn } from "./billing/break-advice.ts";
import { type BreakCause, breakDollars, type CacheBreak, findBreak, type SeenRequest } from "./billing/cache-break.ts";
import type { RequestParts } from "./billing/unedited-bill.ts";
import type { Usage } from "./billing/usage.ts";
import { causeTold } from "./diagnosis.ts";
import type { RequestFacts } from "./sending/facts.ts";

/** The cache breaks of a conversation, and its last request, with which the next one is compared. */
export interface BreakRecord {
	readonly entries: BreakEntry[];
	/** `undefined` before the first request. */
	seen: SeenRequest | "without usage" | undefined;
	/** By MCP server, the breaks for which its tools changed. */
	readonly servers: Map<string, number>;
}

export interface BreakEntry {
	/** Counted from 1. */
	readonly request: number;
	readonly cause: BreakCause;
	readonly detail: string;
	/** Sent before and again, and not read from the cache. */
	readonly tokens: number;
	/** What they cost more than reading them; `null` if the price of the model is unknown. */
	readonly usd: number | null;
	readonly advice: string | null;
}

const mostEntries = 200;

export function newBreakRecord(): BreakRecord {
	return { entries: [], seen: undefined, servers: new Map() };
}

/**
 * Compares a request with the one before it, and enters a break of the cache, whose figure is returned. Nothing that goes wrong
 * here reaches the caller.
 */
export function noteRequest(
	record: BreakRecord,
	facts: RequestFacts,
	request: {
		readonly parts: RequestParts;
		readonly usage: Usage | undefined;
		readonly number: number;
		/** When the last answer ended, in ms since 1970. */
		readonly last: number;
		/** Why, as the provider tells it. */
		readonly missReason?: string | undefined;
	},
): Figure | undefined {
	const { usage, number } = request;
	try {
		const broken = breakOf(record, facts, request);
		if (!broken || !usage) return undefined;
		const { tokens, servers } = broken;
		const told = causeTold(request.missReason, broken.cause);
		const cause = told ?? broken.cause;
		const detail = told === undefined ? broken.detail : `the provider says so; ${broken.detail}`;
		for (const server of servers) record.servers.set(server, (record.servers.get(server) ?? 0) + 1);
		const [server] = servers;
		const times = server === undefined ? undefined : record.servers.get(server);
		const usd = breakDollars(tokens, usage, facts.terms);
		const advice = adviceOn({ cause, server, times }) ?? null;
		record.entries.push({ request: number, cause, detail, tokens, usd: usd ?? null, advice });
		if (record.entries.length > mostEntries) record.entries.shift();
		const model = facts.model === undefined ? undefined : modelName(facts.model);
		return { kind: "break", model, cause, tokens, usd, servers: servers.length > 0 ? servers : undefined };
	} catch {
		return undefined;
	}
}

function breakOf(
	record: BreakRecord,
	{ model, terms, isCold: isKnownCold, isResumed, results, prompt }: RequestFacts,
	{ parts, usage, last }: Parameters<typeof noteRequest>[2],
): CacheBreak | undefined {
	const { seen: before } = record;
	record.seen = "without usage";
	if (!usage) return undefined;
	const headBefore = typeof before === "object" ? before.head : undefined;
	const isSameHead = typeof before === "object" && hasSameHead(parts, before.parts);
	const head = headBefore && isSameHead ? headBefore : prompt.head(headBefore);
	const now = { model, head, settings: prompt.settings(), parts, usage };
	record.seen = now;
	if (before === "without usage") return undefined;
	const pause = prompt.idle ?? (before ? prompt.at - last : undefined);
	const isCold = isKnownCold || (pause !== undefined && terms.lifetime > 0 && pause > terms.lifetime);
	const changed = results.filter(({ isNew }) => isNew);
	const { roleOf, beginsTurn } = prompt;
	const keepsHead = prompt.keepsHead();
	return findBreak({ before, now, terms, isCold, isResumed, pause, roleOf, changed, keepsHead, beginsTurn });
}

/** The texts around the messages; in the API of chat completions the system prompt is the first message. */
function hasSameHead({ unedited }: RequestParts, { unedited: before }: RequestParts): boolean {
	return unedited[0]?.key === before[0]?.key && unedited[1]?.key === before[1]?.key;
}
