import type { Log } from "../log.ts";
import { agentName, modelName, programName } from "../storage/figures/line.ts";
import type { Figures } from "../storage/figures/store.ts";
import type { Cleared } from "./billing/read-usage.ts";
import { withAdded } from "./billing/ruler.ts";
import type { CacheTerms } from "./billing/terms.ts";
import { countUnasked } from "./billing/unasked-cache.ts";
import { billUnedited, estimatedBill, tokensOf } from "./billing/unedited-bill.ts";
import {
	dollarsOf,
	dollarsOfAnswer,
	firstPass,
	inputBill,
	outputBill,
	promptTokens,
	type Usage,
} from "./billing/usage.ts";
import { noteRequest } from "./break-record.ts";
import { type Account, chosenOf, newAccount, noteEdit, notePoint, pointsOf, shownName } from "./ledger-account.ts";
import { lineOfPassed, type PassedRequest } from "./passed-request.ts";
import { addTo, figuresOf, newSums, shownDollars } from "./request-sums.ts";
import type { NoDecision } from "./sending/decisions.ts";
import { type Fault, faults } from "./sending/editing.ts";
import type { RequestFacts } from "./sending/facts.ts";
import { type Failure, type ProxyTotals, totalsOf, type Undecided } from "./totals.ts";

const mostConversations = 200;
const mostFields = 50;
/** Only the latest ones list their requests and results, so that the status stays small and quick to write. */
export const mostDetailed = 20;

export type Ledger = ReturnType<typeof createLedger>;

/**
 * Keeps the bill of each conversation, from the usage in the answers, and the bill of the same requests without edits. Each
 * request is also written to `figures`, which outlive the process.
 */
export function createLedger({
	now,
	figures,
	log,
}: {
	readonly now: () => number;
	readonly figures?: Figures | undefined;
	readonly log?: Log | undefined;
}) {
	const started = now();
	const conversations = new Map<string, Account>();
	const faultCounts = Object.fromEntries(faults.map((fault) => [fault, 0])) as Record<Fault, number>;
	const counts = { requests: 0, edited: 0, passed: 0, sent_again: 0, threads: 0, failed: 0 };
	const undecided: Partial<Record<Undecided, number>> = {};
	const undecidedLast: Partial<Record<Undecided, number>> = {};
	let frozen = 0;
	let failure: Failure | undefined;
	const all = { edited: newSums(), held_out: newSums(), subagents: newSums() };
	const listeners = new Set<() => void>();
	const entered = (): void => {
		for (const listener of [...listeners]) listener();
	};
	const unasked = countUnasked();
	const keptWarm = { pings: 0, billed: 0, usd: 0, failed: 0 };
	const unknownFields = new Set<string>();
	let unknownUsage = 0;

	/** Names each once. */
	const noteUnknownFields = (usage: Usage | undefined): void => {
		for (const name of usage?.unknownFields ?? []) {
			if (unknownFields.has(name) || unknownFields.size >= mostFields) continue;
			unknownFields.add(name);
			const message = `An answer counts tokens under a name that is not known, so figures may lack them: ${name}.`;
			log?.({ level: "warning", message, data: { event: "unknown_usage_field", field: name } });
		}
	};

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
		const { requests, billed, billed_unedited, untold_requests, untold_billed, usd_saved, usd_untold_requests } =
			account.sums;
		for (const sums of [account.sums, all.edited, ...(account.agent === undefined ? [] : [all.subagents])]) {
			sums.billed_unedited = Math.max(0, sums.billed_unedited - billed_unedited);
			sums.untold_requests += requests - untold_requests;
			sums.untold_billed += billed - untold_billed;
			sums.usd_saved -= usd_saved;
			sums.usd_untold_requests += requests - usd_untold_requests;
		}
	};

	return {
		/** Calls back for each request and ping that is entered. Returns what ends that. */
		onEntry(listener: () => void): () => void {
			listeners.add(listener);
			return () => void listeners.delete(listener);
		},
		fault: (kind: Fault) => {
			faultCounts[kind] += 1;
		},
		withoutDecision: (reason: Undecided) => {
			undecided[reason] = (undecided[reason] ?? 0) + 1;
			undecidedLast[reason] = now();
		},
		failed: (one: Failure) => {
			counts.failed += 1;
			failure = one;
		},
		count: (kind: Exclude<keyof typeof counts, "failed">) => {
			counts[kind] += 1;
			if (kind === "sent_again") figures?.add({ kind: "refusal" });
		},
		/** Writes down a request that passed unread: its bill is in the figures alone. */
		passed(request: PassedRequest): void {
			noteUnknownFields(request.usage);
			if (!request.usage) unknownUsage += 1;
			figures?.add(lineOfPassed(request), request.program);
		},
		/** Enters a ping that keeps a cache warm. */
		pinged(answer: { readonly usage: Usage; readonly terms: CacheTerms } | "failed"): void {
			if (answer === "failed") {
				keptWarm.failed += 1;
				entered();
				return;
			}
			const { usage, terms } = answer;
			const billed = inputBill(usage, terms);
			const usd = dollarsOfAnswer(usage, terms);
			keptWarm.pings += 1;
			keptWarm.billed += billed;
			keptWarm.usd += usd ?? 0;
			const model = terms.model === undefined ? undefined : modelName(terms.model);
			figures?.add({ kind: "ping", model, billed, usd });
			entered();
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
				/** The subagent that sent it, as the program names it. */
				readonly agent?: string | undefined;
				readonly decisions?: number | undefined;
				readonly noDecision?: NoDecision | undefined;
			},
		): { readonly repeated: number } {
			const { api, wasEdited, usage, program } = given;
			const { terms, isCold, isResumed } = facts;
			const account = accountOf(facts, api);
			noteUnknownFields(usage);
			const { unedited, sent: edited } = facts.parts();
			const parts = { unedited, sent: wasEdited ? edited : unedited };
			const counted = tokensOf(parts.sent);
			const prompt = usage && firstPass(usage);
			const cleared = given.cleared?.tokens ?? 0;
			const real = prompt && promptTokens(prompt);
			// What it clears because we ask for that is in no count of ours; what the host asks for is in ours alone.
			const unseen = wasEdited && facts.results.some(({ reason }) => reason === "cleared") ? 0 : cleared;
			const messages = cleared > 0 ? undefined : parts.sent.length;
			if (real) account.ruler.learn({ model: facts.model, counted, messages, real: real + unseen });
			const { scale, added } = account.ruler.measure(counted, real && real + unseen);
			const measured = withAdded(parts, added);
			const request = { parts: measured, before: account.before, usage: prompt, scale, terms, isCold, isResumed };
			const billed = usage ? inputBill(usage, terms) : estimatedBill(request);
			const raw = billUnedited(request);
			account.wasEdited ||= wasEdited;
			if (account.wasEdited && raw.isUnexplained) claimNothing(account);
			// A saving is claimed by what the provider reports.
			const isTold = account.isTold && usage !== undefined;
			const later = prompt ? billed - inputBill(prompt, terms) : 0;
			const billedUnedited = account.wasEdited ? raw.billed + later : billed;
			const leftOut = (tokensOf(unedited) - counted) * scale;
			const tokensSent = usage ? promptTokens(usage) : (counted + added) * scale;
			const output = account.outputs.of(usage) * terms.prices.output;
			const usd = usage ? dollarsOfAnswer(usage, terms) : dollarsOf(billed + output, terms);
			const moreOutput =
				usage && prompt ? outputBill(usage, terms, promptTokens(prompt) + leftOut) - outputBill(usage, terms) : 0;
			const saved = dollarsOf(billedUnedited - billed + moreOutput, terms);
			unasked.enter(raw.repeated, { usage: prompt, terms, idle: facts.prompt.idle });
			const usdUnedited = isTold && usd !== undefined && saved !== undefined ? usd + saved : undefined;
			const sums = {
				requests: 1,
				tokens_sent: Math.round(tokensSent),
				tokens_left_out: wasEdited ? Math.max(0, Math.round(leftOut)) : 0,
				output_tokens: usage?.output ?? 0,
				cache_read_tokens: usage?.cacheRead ?? 0,
				cache_write_tokens: usage?.cacheWrite ?? 0,
				billed,
				billed_unedited: isTold ? billedUnedited : 0,
				untold_requests: isTold ? 0 : 1,
				untold_billed: isTold ? 0 : billed,
				usd: usd ?? 0,
				unpriced_requests: usd === undefined ? 1 : 0,
				usd_saved: usd === undefined || usdUnedited === undefined ? 0 : usdUnedited - usd,
				usd_untold_requests: usd === undefined || usdUnedited === undefined ? 1 : 0,
				estimated_requests: usage ? 0 : 1,
				cut_requests: usage?.isCut ? 1 : 0,
				uncached_requests: terms.caching === "never_read" && !terms.isUnmarked ? 1 : 0,
				reasoning_left_out: wasEdited ? facts.reasoningLeftOut : 0,
				provider_cleared_results: given.cleared?.results ?? 0,
				provider_cleared_tokens: cleared,
			};
			account.agent ??= given.agent === undefined ? undefined : agentName(given.agent);
			addTo(account.sums, sums);
			if (account.agent !== undefined) addTo(all.subagents, sums);
			addTo(facts.why === "held_out" ? all.held_out : all.edited, sums);
			const broken = noteRequest(account.breaks, facts, {
				parts,
				usage: prompt,
				number: account.sums.requests,
				last: account.last,
			});
			account.before = measured;
			if (facts.isFrozen && !account.wasFrozen) frozen += 1;
			account.wasFrozen ||= facts.isFrozen;
			account.model = facts.model === undefined ? account.model : shownName(facts.model);
			account.last = now();
			account.state = facts.why;
			account.program = programName(figures?.program ?? program) ?? account.program;
			notePoint(
				account,
				[sums.tokens_sent, sums.tokens_left_out, Math.round(billed), Math.round(billedUnedited)],
				given.noDecision,
			);
			for (const result of wasEdited ? facts.results : []) noteEdit(account, result);
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
					usd,
					usd_unedited: usdUnedited,
					agent: account.agent,
					decisions: given.decisions ?? 0,
					held_out: facts.why === "held_out" ? true : undefined,
					cut: usage?.isCut,
					undecided: given.noDecision,
				},
				program,
			);
			if (broken) figures?.add(broken, program);
			entered();
			return { repeated: raw.repeated };
		},
		totals: (): ProxyTotals =>
			totalsOf([all.edited, all.held_out], {
				undecided: { ...undecided },
				frozen,
				unasked: unasked.sums(),
				keptWarm: { ...keptWarm },
				asked: counts.requests,
				failed: counts.failed,
				failure,
				edited: counts.edited,
				unknownUsage,
				unknownFields: [...unknownFields],
				unread: faultCounts.encoding,
				threads: counts.threads,
			}),
		/**
		 * Plain JSON, without any text of a conversation. The latest conversations list their requests and results, or
		 * `alone` does: a conversation by its id, else the one with most requests of those that are in use.
		 */
		status(alone?: string) {
			const shown = [...conversations].reverse();
			const chosen = alone === undefined ? undefined : chosenOf(conversations, alone);
			const hasDetails = (id: string, index: number) => (alone === undefined ? index < mostDetailed : id === chosen);
			return {
				started,
				requests: { ...counts },
				faults: { ...faultCounts },
				/** Requests that got no new decisions, by the reason; and when the latest was, in ms since 1970. */
				undecided: { ...undecided },
				undecided_last: { ...undecidedLast },
				/** Conversations that once got no new decisions after a refusal. */
				frozen_conversations: frozen,
				/** Pings that keep caches warm, and their bill, which is in no other figure. */
				unasked: unasked.sums(),
				kept_warm: { ...keptWarm, billed: Math.round(keptWarm.billed), usd: shownDollars(keptWarm.usd) },
				/** Requests that passed unread, and whose answer told no usage: they are in no other figure. */
				unknown_usage: unknownUsage,
				/** Fields of answers with counts of tokens that are not known: they are in no figure. */
				unknown_usage_fields: [...unknownFields],
				edited: figuresOf(all.edited),
				held_out: figuresOf(all.held_out),
				/** Requests of subagents, which are in the other sums too. */
				subagents: figuresOf(all.subagents),
				conversations: shown.map(([id, account], index) => ({
					id,
					api: account.api,
					program: account.program ?? null,
					/** The subagent, as the program names it. */
					agent: account.agent ?? null,
					/** The last name of the folder in which the program was started, unless figures are private. */
					folder: figures?.folder ?? null,
					model: account.model ?? null,
					state: account.state,
					first: account.first,
					last: account.last,
					...figuresOf(account.sums),
					/** By request: tokens sent, tokens left out, billed, billed unedited (0 if that cannot be told). */
					points: hasDetails(id, index) ? pointsOf(account) : [],
					/** The number of the first of them. */
					first_point: account.sums.requests - account.points.length + 1,
					undecided: hasDetails(id, index) ? account.undecided : [],
					results: hasDetails(id, index) ? [...account.results.values()] : [],
					/** Requests with less read from the provider's cache than was sent before, and the causes. */
					breaks: hasDetails(id, index) ? [...account.breaks.entries] : [],
				})),
			};
		},
	};
}

export type ProxyStatus = ReturnType<Ledger["status"]>;
