import { newAccount, shownAccount } from "./ledger-account.ts";
import { addTo, figuresOf, newSums, shownDollars } from "./request-sums.ts";
import { faults } from "./sending/editing.ts";
import type { Books } from "./totals.ts";

export type ProxyStatus = ReturnType<typeof statusOf>;

type ShownConversation = { readonly id: string; readonly folder: string | null } & ReturnType<typeof shownAccount>;

/** Plain JSON, without any text of a conversation. */
export function statusOf(books: Books, conversations: readonly ShownConversation[]) {
	const { all, keptWarm } = books;
	return {
		started: books.started,
		requests: books.counts,
		faults: books.faults,
		undecided: books.undecided,
		undecided_last: books.undecidedLast,
		/** Conversations that once got no new decisions after a refusal. */
		frozen_conversations: books.frozen,
		unasked: books.unasked,
		/** Pings that keep caches warm, and their bill, which is in no other figure. */
		kept_warm: { ...keptWarm, billed: Math.round(keptWarm.billed), usd: shownDollars(keptWarm.usd) },
		/** Requests that passed unread, and whose answer told no usage: they are in no other figure. */
		unknown_usage: books.unknownUsage,
		/** Fields of answers with counts of tokens that are not known: they are in no figure. */
		unknown_usage_fields: books.unknownFields,
		edited: figuresOf(all.edited),
		held_out: figuresOf(all.held_out),
		/** Requests of subagents, which are in the other sums too. */
		subagents: figuresOf(all.subagents),
		conversations,
	};
}

/** The status for an operator: the sums of all people, and in the place of conversations one row for each of them, without content. */
export function statusOfPeople(people: readonly { readonly person: string; readonly books: Books }[], started: number) {
	const rows = people.map(({ person, books: { all, started: first } }) => {
		const about = { ...newAccount("all", first), sums: newSums() };
		for (const sums of [all.edited, all.held_out]) addTo(about.sums, sums);
		return { id: person, folder: person, ...shownAccount(about, false) };
	});
	return statusOf(
		booksOfAll(
			people.map(({ books }) => books),
			started,
		),
		rows,
	);
}

/** The sums of several ledgers. */
export function booksOfAll(books: readonly Books[], started: number): Books {
	const none = newBooks(started);
	const sums = (name: keyof Books["all"]) => {
		const sum = newSums();
		for (const { all } of books) addTo(sum, all[name]);
		return sum;
	};
	return {
		...none,
		counts: addUp([none, ...books].map(({ counts }) => counts)),
		faults: addUp([none, ...books].map(({ faults }) => faults)),
		undecided: addUp(books.map(({ undecided }) => undecided)),
		undecidedLast: addUp(
			books.map(({ undecidedLast }) => undecidedLast),
			Math.max,
		),
		frozen: books.reduce((sum, { frozen }) => sum + frozen, 0),
		failure: books.findLast(({ failure }) => failure)?.failure,
		all: { edited: sums("edited"), held_out: sums("held_out"), subagents: sums("subagents") },
		unasked: addUp([none, ...books].map(({ unasked }) => unasked)),
		keptWarm: addUp([none, ...books].map(({ keptWarm }) => keptWarm)),
		unknownUsage: books.reduce((sum, { unknownUsage }) => sum + unknownUsage, 0),
		unknownFields: [...new Set(books.flatMap(({ unknownFields }) => unknownFields))],
	};
}

function addUp<Counts extends object>(all: readonly Counts[], add = (a: number, b: number) => a + b): Counts {
	const sum: Record<string, number> = {};
	for (const one of all) for (const [name, value] of Object.entries(one)) sum[name] = add(sum[name] ?? 0, value);
	return sum as Counts;
}

function newBooks(started: number): Books {
	return {
		started,
		counts: { requests: 0, edited: 0, passed: 0, sent_again: 0, threads: 0, failed: 0 },
		faults: Object.fromEntries(faults.map((fault) => [fault, 0])) as Books["faults"],
		undecided: {},
		undecidedLast: {},
		frozen: 0,
		failure: undefined,
		all: { edited: newSums(), held_out: newSums(), subagents: newSums() },
		unasked: { requests: 0, billed: 0, usd: 0 },
		keptWarm: { pings: 0, billed: 0, usd: 0, failed: 0 },
		unknownUsage: 0,
		unknownFields: [],
	};
}
