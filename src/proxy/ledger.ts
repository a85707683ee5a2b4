import type { CacheTerms } from "../billing/terms.ts";
import { billUnedited, estimatedBill, type RequestParts, tokensOf } from "../billing/unedited-bill.ts";
import { type Cleared, dollarsOf, inputBill, outputBill, promptTokens, type Usage } from "../billing/usage.ts";
import { modelName } from "../figures/line.ts";
import type { Figures } from "../figures/store.ts";
import type { NoDecision, Why } from "../sending/decisions.ts";
import { type Fault, faults } from "../sending/editing.ts";
import type { EditedResult, RequestFacts } from "../sending/facts.ts";
import { type BreakRecord, newBreakRecord, noteRequest } from "./break-record.ts";
import { lineOfPassed, type PassedRequest } from "./passed-request.ts";

/** Sums over all requests whose conversation may be edited. Bills are those of the input, in prices of an input token. */
export interface ProxyTotals {
	readonly requests: number;
	readonly tokensSent: number;
	readonly tokensLeftOut: number;
	readonly billed: number;
	/** The bill of the same requests unedited, without requests whose unedited bill is unknown. */
	readonly billedUnedited: number;
	/** The conversations whose unedited bill is unknown, and their bill. */
	readonly untoldRequests: number;
	readonly untoldBilled: number;
	/** Priced without a cache, since the upstream never tells of tokens read from one. */
	readonly uncachedRequests: number;
	/** Tokens of reasoning that was left out of requests, counted in each of them. */
	readonly reasoningLeftOut: number;
	/** Requests that got no new decisions, by the reason. */
	readonly undecided: Readonly<Partial<Record<Undecided, number>>>;
	/** Conversations that once got no new decisions after a refusal. */
	readonly frozen: number;
	readonly keptWarm: KeptWarm;
	/** Of all requests: their number, and those for an answer that got none. */
	readonly asked: number;
	readonly failed: number;
	/** In an encoding that cannot be read, and so unedited. */
	readonly unread: number;
	/** With new messages alone, and so unedited. */
	readonly threads: number;
}

/** `signed`: the request has a signature or a digest of its body, and passed unread. */
export type Undecided = NoDecision | "signed";

/** Pings that keep caches warm. They are in no other figure. */
export interface KeptWarm {
	/** Answered, with their bill. */
	readonly pings: number;
	readonly billed: number;
	/** Without an answer that tells what they cost. */
	readonly failed: number;
}

const mostConversations = 200;
/** Only the latest ones list their requests and results, so that the status stays small and quick to write. */
export const mostDetailed = 20;
const mostRequests = 2_000;

export type Ledger = ReturnType<typeof createLedger>;

/**
 * Keeps the bill of each conversation, from the usage in the answers, and the bill of the same requests without edits. Each
 * request is also written to `figures`, which outlive the process.
 */
export function createLedger({ now, figures }: { readonly now: () => number; readonly figures?: Figures | undefined }) {
	const started = now();
	const conversations = new Map<string, Account>();
	const faultCounts = Object.fromEntries(faults.map((fault) => [fault, 0])) as Record<Fault, number>;
	const counts = { requests: 0, edited: 0, passed: 0, sent_again: 0, threads: 0, failed: 0 };
	const undecided: Partial<Record<Undecided, number>> = {};
	let frozen = 0;
	const all = { edited: newSums(), held_out: newSums() };
	const keptWarm = { pings: 0, billed: 0, failed: 0 };

	const accountOf = ({ conversation, start }: RequestFacts, api: string): Account => {
		const id = conversation ?? start;
		// Before its first tool turn a conversation is known by its first message.
		const known = conversations.get(id) ?? conversations.get(start);
		const account = known ?? newAccount(api, now());
		conversations.delete(start);
		conversations.delete(id);
		conversations.set(id, account);
		for (const oldest of conversations.keys()) {
			if (conversations.size <= mostConversations) break;
			conversations.delete(oldest);
		}
		return account;
	};

	/** From now on its bill is shown alone, without the unedited bill. */
	const claimNothing = (account: Account): void => {
		if (!account.isTold) return;
		account.isTold = false;
		const { requests, billed, billed_unedited } = account.sums;
		for (const sums of [account.sums, all.edited]) {
			sums.billed_unedited = Math.max(0, sums.billed_unedited - billed_unedited);
			sums.untold_requests += requests;
			sums.untold_billed += billed;
		}
	};

	return {
		fault: (kind: Fault) => {
			faultCounts[kind] += 1;
		},
		withoutDecision: (reason: Undecided) => {
			undecided[reason] = (undecided[reason] ?? 0) + 1;
		},
		count: (kind: keyof typeof counts) => {
			counts[kind] += 1;
			if (kind === "sent_again") figures?.add({ kind: "refusal" });
		},
		/** Writes down a request that passed unread: its bill is in the figures alone. */
		passed: (request: PassedRequest) => figures?.add(lineOfPassed(request), request.program),
		/** Enters a ping that keeps a cache warm. */
		pinged(answer: { readonly usage: Usage; readonly terms: CacheTerms } | "failed"): void {
			if (answer === "failed") {
				keptWarm.failed += 1;
				return;
			}
			const { usage, terms } = answer;
			const billed = inputBill(usage, terms);
			keptWarm.pings += 1;
			keptWarm.billed += billed;
			const model = terms.model === undefined ? undefined : modelName(terms.model);
			figures?.add({ kind: "ping", model, billed, usd: dollarsOf(billed + outputBill(usage, terms), terms) });
		},
		/**
		 * Enters a request whose answer has ended. `usage` is the provider's; without it, the bill is estimated. Returns the
		 * tokens that were sent before and again.
		 */
		enter(
			facts: RequestFacts,
			given: {
				/** The name of its API. */
				readonly api: string;
				readonly wasEdited: boolean;
				readonly usage: Usage | undefined;
				readonly cleared?: Cleared | undefined;
				/** For the figures: the program of the request, and its decisions. */
				readonly program?: string | undefined;
				readonly decisions?: number | undefined;
				readonly noDecision?: NoDecision | undefined;
			},
		): { readonly repeated: number } {
			const { api, wasEdited, usage, cleared, program } = given;
			const { terms, isCold, isResumed } = facts;
			const account = accountOf(facts, api);
			const { unedited, sent: edited } = facts.parts();
			const parts = { unedited, sent: wasEdited ? edited : unedited };
			const counted = tokensOf(parts.sent);
			const real = usage && promptTokens(usage);
			// The provider counts in tokens of its own. Placeholders have more of them in a character than results.
			const isLike = !wasEdited || account.scale === undefined;
			if (real && counted > 0 && isLike) account.scale = real / counted;
			const { scale = 1, before } = account;
			const request = { parts, before, usage, scale, terms, isCold, isResumed };
			const billed = usage ? inputBill(usage, terms) : estimatedBill(request);
			const raw = billUnedited(request);
			account.wasEdited ||= wasEdited;
			if (account.wasEdited && raw.isUnexplained) claimNothing(account);
			const { isTold } = account;
			const billedUnedited = account.wasEdited ? raw.billed : billed;
			const sums = {
				requests: 1,
				tokens_sent: Math.round(real ?? counted),
				tokens_left_out: wasEdited ? Math.max(0, Math.round(tokensOf(unedited) * scale - (real ?? counted))) : 0,
				output_tokens: usage?.output ?? 0,
				cache_read_tokens: usage?.cacheRead ?? 0,
				cache_write_tokens: usage?.cacheWrite ?? 0,
				billed,
				billed_unedited: isTold ? billedUnedited : 0,
				untold_requests: isTold ? 0 : 1,
				untold_billed: isTold ? 0 : billed,
				uncached_requests: terms.caching === "never_read" ? 1 : 0,
				reasoning_left_out: wasEdited ? facts.reasoningLeftOut : 0,
				provider_cleared_results: cleared?.results ?? 0,
				provider_cleared_tokens: cleared?.tokens ?? 0,
			};
			addTo(account.sums, sums);
			addTo(facts.why === "held_out" ? all.held_out : all.edited, sums);
			const broken = noteRequest(account.breaks, facts, {
				parts,
				usage,
				number: account.sums.requests,
				last: account.last,
			});
			account.before = parts;
			if (facts.isFrozen && !account.wasFrozen) frozen += 1;
			account.wasFrozen ||= facts.isFrozen;
			account.model = facts.model === undefined ? account.model : shownName(facts.model);
			account.last = now();
			account.state = facts.why;
			const { tokens_sent: sent, tokens_left_out: leftOut } = sums;
			if (account.points.length < mostRequests)
				account.points.push([sent, leftOut, Math.round(billed), Math.round(billedUnedited)]);
			for (const result of wasEdited ? facts.results : []) noteEdit(account, result);
			const output = usage ? outputBill(usage, terms) : 0;
			const wholePrompt = Math.max(real ?? 0, tokensOf(unedited) * scale);
			const outputUnedited = usage ? outputBill(usage, terms, wholePrompt) : 0;
			figures?.add(
				{
					kind: "request",
					model: facts.model === undefined ? undefined : modelName(facts.model),
					...(usage
						? { input: usage.input, read: usage.cacheRead, write: usage.cacheWrite, output: usage.output }
						: { input: sums.tokens_sent, read: 0, write: 0, output: 0, estimated: true }),
					left_out: sums.tokens_left_out,
					billed,
					unedited: isTold ? billedUnedited : undefined,
					usd: dollarsOf(billed + output, terms),
					usd_unedited: isTold ? dollarsOf(billedUnedited + outputUnedited, terms) : undefined,
					decisions: given.decisions ?? 0,
					held_out: facts.why === "held_out" ? true : undefined,
					undecided: given.noDecision,
				},
				program,
			);
			if (broken) figures?.add(broken, program);
			return { repeated: raw.repeated };
		},
		totals(): ProxyTotals {
			const { edited, held_out } = all;
			return {
				requests: edited.requests + held_out.requests,
				tokensSent: edited.tokens_sent + held_out.tokens_sent,
				tokensLeftOut: edited.tokens_left_out + held_out.tokens_left_out,
				billed: edited.billed + held_out.billed,
				billedUnedited: edited.billed_unedited + held_out.billed_unedited,
				untoldRequests: edited.untold_requests + held_out.untold_requests,
				untoldBilled: edited.untold_billed + held_out.untold_billed,
				uncachedRequests: edited.uncached_requests + held_out.uncached_requests,
				reasoningLeftOut: edited.reasoning_left_out + held_out.reasoning_left_out,
				undecided: { ...undecided },
				frozen,
				keptWarm: { ...keptWarm },
				asked: counts.requests,
				failed: counts.failed,
				unread: faultCounts.encoding,
				threads: counts.threads,
			};
		},
		/** Plain JSON, without any text of a conversation. */
		status: () => ({
			started,
			requests: { ...counts },
			faults: { ...faultCounts },
			/** Requests that got no new decisions, by the reason. */
			undecided: { ...undecided },
			/** Conversations that once got no new decisions after a refusal. */
			frozen_conversations: frozen,
			/** Pings that keep caches warm, and their bill, which is in no other figure. */
			kept_warm: { ...keptWarm, billed: Math.round(keptWarm.billed) },
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
				/** By request: tokens sent, tokens left out, billed, billed unedited (0 if that cannot be told). */
				points: index < mostDetailed ? pointsOf(account) : [],
				results: index < mostDetailed ? [...account.results.values()] : [],
				/** Requests of which the provider read less from its cache than was sent before, and why. */
				breaks: index < mostDetailed ? [...account.breaks.entries] : [],
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
	state: RequestFacts["why"];
	readonly sums: Sums;
	readonly points: (readonly [number, number, number, number])[];
	/** By key, its last change. */
	readonly results: Map<string, ResultEntry>;
	wasEdited: boolean;
	wasFrozen: boolean;
	/** Tokens of the provider for each of ours, from the last request that was not edited. */
	scale: number | undefined;
	/** Whether the unedited bill of the requests is known. */
	isTold: boolean;
	/** The last request, unedited and as sent. */
	before: RequestParts | undefined;
	readonly breaks: BreakRecord;
}

interface ResultEntry {
	readonly request: number;
	readonly what: EditedResult["reason"];
	readonly why: Why | "it is large";
	readonly tool: string | null;
	readonly ref: string | null;
	readonly tokens_before: number;
	readonly tokens_after: number;
}

function newAccount(api: string, at: number): Account {
	const about = { api, first: at, last: at, model: undefined, state: "nothing_to_edit" } as const;
	return {
		...about,
		sums: newSums(),
		points: [],
		results: new Map(),
		wasEdited: false,
		wasFrozen: false,
		scale: undefined,
		isTold: true,
		before: undefined,
		breaks: newBreakRecord(),
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
	/** The requests whose unedited bill is unknown, and their bill. */
	untold_requests: 0,
	untold_billed: 0,
	/** Requests priced without a cache, since the upstream never tells of tokens read from one. */
	uncached_requests: 0,
	/** Tokens of reasoning that was left out, counted in each request. */
	reasoning_left_out: 0,
	/** What the provider has cleared itself, as its answers say, counted in each request. */
	provider_cleared_results: 0,
	provider_cleared_tokens: 0,
});

type Sums = ReturnType<typeof newSums>;

function addTo(sums: Sums, more: Sums): void {
	for (const key of Object.keys(sums) as (keyof Sums)[]) sums[key] += more[key];
}

/** `billed_unedited` and `ratio` are those of the requests of which they can be told; null if there are none. */
function figuresOf(sums: Sums) {
	const { requests, billed, billed_unedited: unedited, untold_requests: untold, untold_billed: billedUntold } = sums;
	const isTold = requests === 0 || untold < requests;
	const ratio = unedited > 0 ? (billed - billedUntold) / unedited : 1;
	return {
		...sums,
		billed: Math.round(billed),
		untold_billed: Math.round(billedUntold),
		billed_unedited: isTold ? Math.round(unedited) : null,
		ratio: isTold ? Math.round(ratio * 1_000) / 1_000 : null,
	};
}

function pointsOf({ points, isTold }: Account): Account["points"] {
	return isTold ? points : points.map(([sent, leftOut, billed]) => [sent, leftOut, billed, 0]);
}

const longestName = 100;

/** Names come from requests: they stay on one line, without characters that a terminal acts on, and have a limit. */
function shownName(name: string): string {
	const start = name.slice(0, longestName).toWellFormed();
	const shown = start.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\s]+/gu, " ").trim();
	return name.length > longestName ? `${shown}…` : shown;
}

function noteEdit(account: Account, result: EditedResult): void {
	const { key, reason, why = "it pays", toolName, ref, tokensBefore, tokensAfter } = result;
	if (account.results.get(key)?.what === reason) return;
	account.results.delete(key);
	account.results.set(key, {
		request: account.sums.requests,
		what: reason,
		why: reason === "cut" ? "it is large" : why,
		tool: toolName === undefined ? null : shownName(toolName),
		ref: ref ?? null,
		tokens_before: tokensBefore,
		tokens_after: tokensAfter,
	});
	const [oldest] = account.results.keys();
	if (account.results.size > mostRequests && oldest !== undefined) account.results.delete(oldest);
}
