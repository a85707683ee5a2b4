import type { NoDecision } from "./compose.ts";
import { type Fault, faults } from "./editing.ts";
import type { EditedResult, RequestFacts } from "./facts.ts";
import { commonTokens, type SizedPart, tokensOf } from "./parts.ts";

import type { Route } from "./routes.ts";
import { inputBill, type Usage } from "./usage.ts";

/** Sums over all requests whose conversation may be edited. Bills are those of the input, in prices of an input token. */
export interface ProxyTotals {
	readonly requests: number;
	readonly tokensSent: number;
	readonly tokensLeftOut: number;
	readonly billed: number;
	/** What the same requests would have billed as they came, if the provider had cached all that stayed the same. */
	readonly billedUnedited: number;
}

const mostConversations = 200;
/** Only the latest ones list their requests and results, so that the status stays small and quick to write. */
export const mostDetailed = 20;
const mostRequests = 2_000;

export type Ledger = ReturnType<typeof createLedger>;

/** Keeps the bill of each conversation, from the usage in the answers, and the bill of the same requests without edits. */
export function createLedger({ now }: { readonly now: () => number }) {
	const started = now();
	const conversations = new Map<string, Account>();
	const faultCounts = Object.fromEntries(faults.map((fault) => [fault, 0])) as Record<Fault, number>;
	const counts = { requests: 0, edited: 0, passed: 0, sent_again: 0, threads: 0 };
	const undecided: Partial<Record<NoDecision, number>> = {};
	const all = { edited: newSums(), held_out: newSums() };

	const accountOf = ({ conversation, start }: RequestFacts, route: Route): Account => {
		const id = conversation ?? start;
		// Before its first tool turn a conversation is known by its first message.
		const known = conversations.get(id) ?? conversations.get(start);
		const account = known ?? newAccount(route, now());
		conversations.delete(start);
		conversations.delete(id);
		conversations.set(id, account);
		for (const oldest of conversations.keys()) {
			if (conversations.size <= mostConversations) break;
			conversations.delete(oldest);
		}
		return account;
	};

	return {
		fault: (kind: Fault) => {
			faultCounts[kind] += 1;
		},
		withoutDecision: (reason: NoDecision) => {
			undecided[reason] = (undecided[reason] ?? 0) + 1;
		},
		count: (kind: keyof typeof counts) => {
			counts[kind] += 1;
		},
		/** Enters a request whose answer has ended. `usage` is the provider's; without it, the bill is estimated. */
		enter(
			facts: RequestFacts,
			given: { readonly route: Route; readonly wasEdited: boolean; readonly usage: Usage | undefined },
		): void {
			const { route, wasEdited, usage } = given;
			const account = accountOf(facts, route);
			const { prices } = facts.terms;
			const { unedited, sent: edited } = facts.parts();
			const sentParts = wasEdited ? edited : unedited;
			const counted = tokensOf(sentParts);
			const came = tokensOf(unedited);
			const real = usage && usage.input + usage.cacheRead + usage.cacheWrite;
			// The provider counts in tokens of its own. Placeholders have more of them in a character than results.
			const isLike = !wasEdited || account.scale === undefined;
			if (real && counted > 0 && isLike) account.scale = real / counted;
			const { scale = 1 } = account;
			const estimate = (parts: readonly SizedPart[], before: readonly SizedPart[]) => {
				const cached = facts.isCold ? 0 : commonTokens(parts, before);
				return (cached * prices.cache_read + (tokensOf(parts) - cached) * prices.cache_write) * scale;
			};
			const billed = usage ? inputBill(usage, facts.terms) : estimate(sentParts, account.sent);
			account.wasEdited ||= wasEdited;
			const billedUnedited = account.wasEdited ? estimate(unedited, account.unedited) : billed;
			const sums = {
				requests: 1,
				tokens_sent: Math.round(real ?? counted),
				tokens_left_out: wasEdited ? Math.max(0, Math.round(came * scale - (real ?? counted))) : 0,
				output_tokens: usage?.output ?? 0,
				cache_read_tokens: usage?.cacheRead ?? 0,
				cache_write_tokens: usage?.cacheWrite ?? 0,
				billed,
				billed_unedited: billedUnedited,
			};
			addTo(account.sums, sums);
			addTo(facts.why === "held_out" ? all.held_out : all.edited, sums);
			account.unedited = unedited;
			account.sent = sentParts;
			account.model = facts.model ?? account.model;
			account.last = now();
			account.state = wasEdited ? "edited" : facts.why === "edited" ? "sent_again" : facts.why;
			const { tokens_sent: sent, tokens_left_out: leftOut } = sums;
			if (account.points.length < mostRequests)
				account.points.push([sent, leftOut, Math.round(billed), Math.round(billedUnedited)]);
			for (const result of wasEdited ? facts.results : []) noteEdit(account, result, facts.isCold);
		},
		totals(): ProxyTotals {
			const { edited, held_out } = all;
			return {
				requests: edited.requests + held_out.requests,
				tokensSent: edited.tokens_sent + held_out.tokens_sent,
				tokensLeftOut: edited.tokens_left_out + held_out.tokens_left_out,
				billed: edited.billed + held_out.billed,
				billedUnedited: edited.billed_unedited + held_out.billed_unedited,
			};
		},
		/** Plain JSON, without any text of a conversation. */
		status: () => ({
			started,
			requests: { ...counts },
			faults: { ...faultCounts },
			edited: figuresOf(all.edited),
			held_out: figuresOf(all.held_out),
			conversations: [...conversations].reverse().map(([id, account], index) => ({
				id,
				api: account.api,
				model: account.model ?? null,
				state: account.state,
				first: account.first,
				last: account.last,
				...figuresOf(account.sums),
				/** By request: tokens sent, tokens left out, billed, billed unedited. */
				points: index < mostDetailed ? account.points : [],
				results: index < mostDetailed ? [...account.results.values()] : [],
			})),
		}),
	};
}

export type ProxyStatus = ReturnType<Ledger["status"]>;

interface Account {
	readonly api: string;
	readonly first: number;
	last: number;
	model: string | undefined;
	state: RequestFacts["why"] | "sent_again";
	readonly sums: Sums;
	readonly points: number[][];
	/** By key, what happened to it last. */
	readonly results: Map<string, ResultEntry>;
	wasEdited: boolean;
	/** Tokens of the provider for each of ours, from the last request that was not edited. */
	scale: number | undefined;
	/** The last request, as it came and as it went out. */
	unedited: readonly SizedPart[];
	sent: readonly SizedPart[];
}

interface ResultEntry {
	readonly request: number;
	readonly what: "masked" | "cut";
	readonly why: "it pays" | "the cache had expired" | "it is large";
	readonly tool: string | null;
	readonly ref: string | null;
	readonly tokens_before: number;
	readonly tokens_after: number;
}

function newAccount({ api }: Route, at: number): Account {
	const parts: readonly SizedPart[] = [];
	const about = { api, first: at, last: at, model: undefined, state: "nothing_to_edit" } as const;
	return {
		...about,
		sums: newSums(),
		points: [],
		results: new Map(),
		wasEdited: false,
		scale: undefined,
		unedited: parts,
		sent: parts,
	};
}

const newSums = () => ({
	requests: 0,
	tokens_sent: 0,
	tokens_left_out: 0,
	output_tokens: 0,
	cache_read_tokens: 0,
	cache_write_tokens: 0,
	billed: 0,
	billed_unedited: 0,
});

type Sums = ReturnType<typeof newSums>;

function addTo(sums: Sums, more: Sums): void {
	for (const key of Object.keys(sums) as (keyof Sums)[]) sums[key] += more[key];
}

function figuresOf(sums: Sums) {
	const { billed, billed_unedited: unedited } = sums;
	const ratio = unedited > 0 ? billed / unedited : 1;
	return {
		...sums,
		billed: Math.round(billed),
		billed_unedited: Math.round(unedited),
		ratio: Math.round(ratio * 1_000) / 1_000,
	};
}

function noteEdit(account: Account, result: EditedResult, isCold: boolean): void {
	const { key, reason, toolName, ref, tokensBefore, tokensAfter } = result;
	if (account.results.get(key)?.what === reason) return;
	account.results.delete(key);
	account.results.set(key, {
		request: account.sums.requests,
		what: reason,
		why: reason === "cut" ? "it is large" : isCold ? "the cache had expired" : "it pays",
		tool: toolName ?? null,
		ref: ref ?? null,
		tokens_before: tokensBefore,
		tokens_after: tokensAfter,
	});
	const [oldest] = account.results.keys();
	if (account.results.size > mostRequests && oldest !== undefined) account.results.delete(oldest);
}
