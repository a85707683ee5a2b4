import type { Log } from "../log.ts";
import { agentName, modelName, programName } from "../storage/figures/line.ts";
import type { Figures } from "../storage/figures/store.ts";
import type { CacheTerms } from "./billing/terms.ts";
import { countUnasked } from "./billing/unasked-cache.ts";
import { dollarsOfAnswer, inputBill, outputBill, type Usage } from "./billing/usage.ts";
import { noteRequest } from "./break-record.ts";
import { type Account, chosenOf, newAccount, noteEdit, notePoint, shownAccount, shownName } from "./ledger-account.ts";
import { lineOfPassed, type PassedRequest } from "./passed-request.ts";
import { billOf, type EnteredRequest } from "./request-bill.ts";
import { addTo, newSums } from "./request-sums.ts";
import { type Fault, faults } from "./sending/editing.ts";
import type { RequestFacts } from "./sending/facts.ts";
import { statusOf } from "./status.ts";
import { toolsOf } from "./tool-record.ts";
import { type Books, type Failure, type ProxyTotals, totalsOf, type Undecided } from "./totals.ts";

const mostConversations = 200;
const mostFields = 50;
/** Only the latest ones list their requests and results, so that the status stays small and quick to write. */
export const mostDetailed = 20;

export type Ledger = ReturnType<typeof createLedger>;

interface LedgerParts {
	readonly now: () => number;
	readonly figures?: Figures | undefined;
	readonly log?: Log | undefined;
}

/**
 * Keeps the bill of each conversation, from the usage in the answers, and the bill of the same requests without edits. Each
 * request is also written to `figures`, which outlive the process.
 */
export function createLedger(parts: LedgerParts) {
	const { now, figures } = parts;
	const held = startHolding(parts);
	const { listeners, undecided, undecidedLast, keptWarm, conversations } = held;
	return {
		/** Calls back for each request and ping that is entered. Returns what ends that. */
		onEntry(listener: () => void): () => void {
			listeners.add(listener);
			return () => void listeners.delete(listener);
		},
		fault: (kind: Fault) => {
			held.faults[kind] += 1;
		},
		withoutDecision: (reason: Undecided) => {
			undecided[reason] = (undecided[reason] ?? 0) + 1;
			undecidedLast[reason] = now();
		},
		failed: (one: Failure) => {
			held.counts.failed += 1;
			held.failure = one;
		},
		count: (kind: Exclude<keyof Held["counts"], "failed">) => {
			held.counts[kind] += 1;
			if (kind === "sent_again") figures?.add({ kind: "refusal" });
		},
		/** Writes down a request that passed unread: its bill is in the figures alone. */
		passed(request: PassedRequest): void {
			noteUnknownFields(held, request.usage);
			if (!request.usage) held.unknownUsage += 1;
			figures?.add(lineOfPassed(request), request);
		},
		/** Enters a ping that keeps a cache warm. */
		pinged(answer: { readonly usage: Usage; readonly terms: CacheTerms } | "failed"): void {
			if (answer === "failed") {
				keptWarm.failed += 1;
				tellListeners(held);
				return;
			}
			keptWarm.pings += 1;
			enterOwn(held, { ...answer, billed: inputBill(answer.usage, answer.terms) });
		},
		/** Enters a summary of the provider: like a ping, a request of our own, whose cost is taken off what is saved. */
		summarised({ usage, terms }: { readonly usage: Usage; readonly terms: CacheTerms }): void {
			enterOwn(held, { billed: inputBill(usage, terms) + outputBill(usage, terms), usage, terms, summary: true });
		},
		/** Enters a request whose answer has ended. Returns the tokens that were sent before and again. */
		enter: (facts: RequestFacts, given: EnteredRequest) => enter(held, facts, given),
		totals: (): ProxyTotals => totalsOf(booksOf(held)),
		/** The latest conversations list their requests and results, or `alone` does: a conversation by its id, else the busiest in use. */
		status(alone?: string) {
			const shown = [...conversations].reverse();
			const chosen = alone === undefined ? undefined : chosenOf(conversations, alone);
			const hasDetails = (id: string, index: number) => (alone === undefined ? index < mostDetailed : id === chosen);
			return statusOf(
				booksOf(held),
				shown.map(([id, account], index) => ({
					id,
					/** The last name of the folder in which the program was started, unless figures are private. */
					folder: figures?.folder ?? null,
					...shownAccount(account, hasDetails(id, index)),
				})),
			);
		},
		books: () => booksOf(held),
	};
}

function startHolding({ now, figures, log }: LedgerParts) {
	return {
		now,
		figures,
		log,
		started: now(),
		conversations: new Map<string, Account>(),
		faults: Object.fromEntries(faults.map((fault) => [fault, 0])) as Record<Fault, number>,
		counts: { requests: 0, edited: 0, passed: 0, sent_again: 0, threads: 0, failed: 0 },
		undecided: {} as Partial<Record<Undecided, number>>,
		undecidedLast: {} as Partial<Record<Undecided, number>>,
		frozen: 0,
		failure: undefined as Failure | undefined,
		all: { edited: newSums(), held_out: newSums(), subagents: newSums() },
		unasked: countUnasked(),
		keptWarm: { pings: 0, billed: 0, usd: 0, failed: 0 },
		unknownFields: new Set<string>(),
		unknownUsage: 0,
		listeners: new Set<() => void>(),
	};
}

/** All that a ledger holds. */
type Held = ReturnType<typeof startHolding>;

function tellListeners({ listeners }: Held): void {
	for (const listener of [...listeners]) listener();
}

function enter(held: Held, facts: RequestFacts, given: EnteredRequest): { readonly repeated: number } {
	const { now, figures, all } = held;
	const { wasEdited, usage, program } = given;
	const account = accountOf(held, facts, given.api);
	noteUnknownFields(held, usage);
	account.agent ??= given.agent === undefined ? undefined : agentName(given.agent);
	const bill = billOf(account, facts, given);
	const { sums, parts, measured, prompt, repeated } = bill;
	if (bill.isUntold) claimNothing(held, account);
	account.wasEdited ||= wasEdited;
	held.unasked.enter(repeated, { usage: prompt, terms: facts.terms, idle: facts.prompt.idle });
	addTo(account.sums, sums);
	if (account.agent !== undefined) addTo(all.subagents, sums);
	addTo(facts.why === "held_out" ? all.held_out : all.edited, sums);
	const broken = noteRequest(account.breaks, facts, {
		parts,
		usage: prompt,
		number: account.sums.requests,
		last: account.last,
		missReason: given.missReason,
	});
	account.before = measured;
	if (facts.isFrozen && !account.wasFrozen) held.frozen += 1;
	account.wasFrozen ||= facts.isFrozen;
	account.model = facts.model === undefined ? account.model : shownName(facts.model);
	account.last = now();
	account.state = facts.why;
	account.program = programName(figures?.program ?? program) ?? account.program;
	const bills = [Math.round(sums.billed), Math.round(bill.billedUnedited)] as const;
	notePoint(account, [sums.tokens_sent, sums.tokens_left_out, ...bills], given.noDecision);
	for (const result of wasEdited ? facts.results : []) noteEdit(account, result);
	figures?.add(bill.line, given);
	if (broken) figures?.add(broken, given);
	const tools = figures && toolsOf(account, facts);
	if (tools) figures.add(tools, given);
	tellListeners(held);
	return { repeated };
}

/** Names each once. */
function noteUnknownFields({ unknownFields, log }: Held, usage: Usage | undefined): void {
	for (const name of usage?.unknownFields ?? []) {
		if (unknownFields.has(name) || unknownFields.size >= mostFields) continue;
		unknownFields.add(name);
		const message = `An answer counts tokens under a name that is not known, so figures may lack them: ${name}.`;
		log?.({ level: "warning", message, data: { event: "unknown_usage_field", field: name } });
	}
}

function accountOf({ conversations, now }: Held, { conversation, start }: RequestFacts, api: string): Account {
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
}

/** From now on its bill is shown alone, without the unedited bill. */
function claimNothing({ all }: Held, account: Account): void {
	if (!account.isTold) return;
	account.isTold = false;
	const { requests, billed, billed_unedited, untold_requests, untold_billed, usd_saved, usd_untold_requests } =
		account.sums;
	for (const sums of [account.sums, all.edited, ...(account.agent === undefined ? [] : [all.subagents])]) {
		sums.billed_unedited = Math.max(0, sums.billed_unedited - billed_unedited);
		sums.untold_requests += requests - untold_requests;
		sums.untold_billed += billed - untold_billed;
		sums.usd_saved -= usd_saved;
		sums.usd_untold_requests += requests - usd_untold_requests;
	}
}

/** A request of our own. */
function enterOwn(
	held: Held,
	one: { readonly usage: Usage; readonly terms: CacheTerms; readonly billed: number; readonly summary?: true },
): void {
	const { keptWarm, figures } = held;
	const { usage, terms, billed, summary } = one;
	const usd = dollarsOfAnswer(usage, terms);
	keptWarm.billed += billed;
	keptWarm.usd += usd ?? 0;
	const model = terms.model === undefined ? undefined : modelName(terms.model);
	figures?.add({ kind: "ping", model, billed, usd, summary });
	tellListeners(held);
}

function booksOf(held: Held): Books {
	const { counts, undecided, undecidedLast, all, keptWarm } = held;
	return {
		started: held.started,
		counts: { ...counts },
		faults: { ...held.faults },
		undecided: { ...undecided },
		undecidedLast: { ...undecidedLast },
		frozen: held.frozen,
		failure: held.failure,
		all: { edited: { ...all.edited }, held_out: { ...all.held_out }, subagents: { ...all.subagents } },
		unasked: held.unasked.sums(),
		keptWarm: { ...keptWarm },
		unknownUsage: held.unknownUsage,
		unknownFields: [...held.unknownFields],
	};
}
