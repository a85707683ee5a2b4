import { createRuler, type Ruler } from "./billing/ruler.ts";
import type { RequestParts } from "./billing/unedited-bill.ts";
import type { Usage } from "./billing/usage.ts";
import { type BreakRecord, newBreakRecord } from "./break-record.ts";
import { figuresOf, newSums, type Sums } from "./request-sums.ts";
import type { NoDecision, Why } from "./sending/decisions.ts";
import type { EditedResult, RequestFacts } from "./sending/facts.ts";
import { newToolRecord, type ToolRecord } from "./tool-record.ts";

/** The ledger's figures of a conversation. */
export interface Account {
	readonly api: string;
	readonly first: number;
	last: number;
	program: string | undefined;
	/** The subagent whose conversation it is. */
	agent: string | undefined;
	model: string | undefined;
	state: RequestFacts["why"];
	readonly sums: Sums;
	/** The points of the latest requests. */
	readonly points: (readonly [number, number, number, number])[];
	readonly undecided: Undeciding[];
	/** By key, its last change. */
	readonly results: Map<string, ResultEntry>;
	wasEdited: boolean;
	wasFrozen: boolean;
	readonly ruler: Ruler;
	/** Of the answers that told it: the output of one that does not is taken to be as usual. */
	readonly outputs: ReturnType<typeof countOutputs>;
	/** Whether the unedited bill of the requests is known. */
	isTold: boolean;
	/** The last request, unedited and as sent. */
	before: RequestParts | undefined;
	readonly breaks: BreakRecord;
	readonly tools: ToolRecord;
}

/** Requests without new decisions, one after the other for the same reason. They count from 1. */
export interface Undeciding {
	readonly from: number;
	to: number;
	readonly why: NoDecision;
	/** The time of the latest request, in ms since 1970. */
	last: number;
}

export interface ResultEntry {
	readonly request: number;
	readonly what: EditedResult["reason"];
	readonly why: Why | "it is large" | "it is in view";
	readonly tool: string | null;
	readonly ref: string | null;
	readonly tokens_before: number;
	readonly tokens_after: number;
}

export function newAccount(api: string, at: number): Account {
	const about = {
		api,
		first: at,
		last: at,
		program: undefined,
		agent: undefined,
		model: undefined,
		state: "nothing_to_edit",
	} as const;
	return {
		...about,
		sums: newSums(),
		points: [],
		undecided: [],
		results: new Map(),
		wasEdited: false,
		wasFrozen: false,
		ruler: createRuler(),
		outputs: countOutputs(),
		isTold: true,
		before: undefined,
		breaks: newBreakRecord(),
		tools: newToolRecord(),
	};
}

function countOutputs() {
	const told = { answers: 0, tokens: 0 };
	return {
		/** The output of an answer; of one that does not tell it, the mean so far. */
		of(usage: Usage | undefined): number {
			if (!usage) return told.tokens / Math.max(1, told.answers);
			if (!usage.isCut) {
				told.answers += 1;
				told.tokens += usage.output;
			}
			return usage.output;
		},
	};
}

/** For the status. `hasDetails`: with its requests and results. */
export function shownAccount(account: Account, hasDetails: boolean) {
	const { points, isTold, sums } = account;
	const shown = isTold
		? points
		: points.map(([sent, leftOut, billed]): Account["points"][number] => [sent, leftOut, billed, 0]);
	return {
		api: account.api,
		program: account.program ?? null,
		/** The subagent, as the program names it. */
		agent: account.agent ?? null,
		model: account.model ?? null,
		state: account.state,
		first: account.first,
		last: account.last,
		...figuresOf(sums),
		/** By request: tokens sent, tokens left out, billed, billed unedited (0 if that cannot be told). */
		points: hasDetails ? shown : [],
		/** The number of the first of them. */
		first_point: sums.requests - points.length + 1,
		undecided: hasDetails ? account.undecided : [],
		results: hasDetails ? [...account.results.values()] : [],
		/** Requests with less read from the provider's cache than was sent before, and the causes. */
		breaks: hasDetails ? [...account.breaks.entries] : [],
	};
}

const longestName = 100;

/** Names come from requests: they stay on one line, without characters that a terminal acts on, and have a limit. */
export function shownName(name: string): string {
	const start = name.slice(0, longestName).toWellFormed();
	const shown = start.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\s]+/gu, " ").trim();
	return name.length > longestName ? `${shown}…` : shown;
}

const mostRequests = 2_000;
const mostUndecided = 200;

/** Notes the latest request, which the sums have already. */
export function notePoint(
	{ points, undecided, sums, last }: Account,
	point: Account["points"][number],
	why: NoDecision | undefined,
): void {
	points.push(point);
	if (points.length > mostRequests) points.shift();
	if (!why) return;
	const latest = undecided.at(-1);
	if (latest?.why === why && latest.to === sums.requests - 1) {
		latest.to = sums.requests;
		latest.last = last;
	} else undecided.push({ from: sums.requests, to: sums.requests, why, last });
	if (undecided.length > mostUndecided) undecided.shift();
}

/** Notes how a result was sent with the latest request. */
export function noteEdit(account: Account, result: EditedResult): void {
	const { key, reason, why = "it pays", toolName, ref, tokensBefore, tokensAfter } = result;
	if (account.results.get(key)?.what === reason) return;
	account.results.delete(key);
	account.results.set(key, {
		request: account.sums.requests,
		what: reason,
		why: reason === "cut" ? "it is large" : reason === "repeat" ? "it is in view" : why,
		tool: toolName === undefined ? null : shownName(toolName),
		ref: ref ?? null,
		tokens_before: tokensBefore,
		tokens_after: tokensAfter,
	});
	const [oldest] = account.results.keys();
	if (account.results.size > mostRequests && oldest !== undefined) account.results.delete(oldest);
}

const inUseMs = 10 * 60_000;

/** The conversation of this id, else the one with most requests of those that are in use. */
export function chosenOf(conversations: ReadonlyMap<string, Account>, id: string): string | undefined {
	if (conversations.has(id)) return id;
	const latest = Math.max(...[...conversations.values()].map(({ last }) => last));
	const inUse = [...conversations].filter(([, { last }]) => last >= latest - inUseMs);
	return inUse.reduce<(typeof inUse)[number] | undefined>(
		(most, one) => (most && most[1].sums.requests > one[1].sums.requests ? most : one),
		undefined,
	)?.[0];
}
