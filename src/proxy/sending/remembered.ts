import type { BlockNote, CarrierNote } from "./block-notes.ts";
import type { Note } from "./notes.ts";
import { isGone, type ResultState } from "./states.ts";

/** The memory of a conversation: how each result was last sent, and the messages that its reasoning is bound to. */
export interface Remembered {
	/** By the key of a result. A result without a state was sent whole. */
	readonly states: ReadonlyMap<string, ResultState>;
	/** The number of its last request. */
	readonly requests: number;
	/** Messages of that request; 0 before the first one that decides. A file alone tells of none: a fault may have left it. */
	readonly messages: number;
	/** How often results were masked or cleared: a plan that was made before the last time is out of date. */
	readonly maskings: number;
	/** Numbers of messages at which the provider's cache had expired. */
	readonly coldAt: ReadonlySet<number>;
	/** By the key of a reasoning block, the number of the request that produced it; 0 if it did not pass here. */
	readonly produced: ReadonlyMap<string, number>;
	/** By the key of a reasoning block, the first request without it. */
	readonly leftOut: ReadonlyMap<string, number>;
	/** By the key of the last message of a request, its number. */
	readonly endings: ReadonlyMap<string, number>;
	/** By the number of a request, its model. */
	readonly models: ReadonlyMap<number, string>;
	/** Requests up to this number get no new decisions. */
	readonly frozenUntil: number;
	/** The number of the last request whose decisions were refused; 0 if none was. */
	readonly refusedAt: number;
	/** Whether the provider checks the messages that reasoning is bound to, as an answer has shown. */
	readonly isEnforced: boolean;
	/** Whether the provider is asked to leave out invalid reasoning itself. */
	readonly dropsBlocks: boolean;
	/** Whether the provider has refused to clear results. */
	readonly refusesClearing: boolean;
	/** Summaries of the provider, oldest first, and the messages that take what they lack. */
	readonly blocks: readonly BlockNote[];
	readonly carriers: readonly CarrierNote[];
	/** Whether it has written no summary, or has refused one. */
	readonly refusesBlocks: boolean;
	/** The time of its last request, in ms since 1970, also of other processes. */
	readonly lastCall: number | undefined;
	/** Notes of this process that could not be written. */
	readonly unwritten: readonly Note[];
	/** Whether nothing is known of it, since the journal could not be read: it may have states. */
	readonly isUnread: boolean;
}

/** The same with what a process keeps for itself. */
export interface Entry extends Remembered {
	readonly states: Map<string, ResultState>;
	readonly coldAt: Set<number>;
	readonly produced: Map<string, number>;
	readonly leftOut: Map<string, number>;
	readonly endings: Map<string, number>;
	readonly models: Map<number, string>;
	requests: number;
	messages: number;
	maskings: number;
	lastMasking: number;
	frozenUntil: number;
	refusedAt: number;
	isEnforced: boolean;
	dropsBlocks: boolean;
	refusesClearing: boolean;
	readonly blocks: BlockNote[];
	readonly carriers: CarrierNote[];
	refusesBlocks: boolean;
	lastCall: number | undefined;
	/** By the key of a result, the place in the journal at which its state was last changed. */
	readonly changedAt: Map<string, number>;
	/** The place in the journal up to which it was read. */
	read: number;
	/** Characters of its notes. */
	noted: number;
	isUnread: boolean;
	/** Characters of its states. */
	chars: number;
	/** Whether it has notes that the journal has not. */
	isAlone: boolean;
	unwritten: Note[];
}

export function newEntry(): Entry {
	return {
		states: new Map(),
		coldAt: new Set(),
		produced: new Map(),
		leftOut: new Map(),
		endings: new Map(),
		models: new Map(),
		requests: 0,
		messages: 0,
		maskings: 0,
		lastMasking: 0,
		frozenUntil: 0,
		refusedAt: 0,
		isEnforced: false,
		dropsBlocks: false,
		refusesClearing: false,
		blocks: [],
		carriers: [],
		refusesBlocks: false,
		lastCall: undefined,
		changedAt: new Map(),
		read: 0,
		noted: 0,
		isUnread: false,
		chars: 0,
		isAlone: false,
		unwritten: [],
	};
}

/**
 * Takes a note. A state whose result another line has changed behind the place that the writer had seen does not hold: the first
 * writer wins. Returns whether all of them hold.
 */
export function takeNote(
	entry: Entry,
	note: Omit<Note, "states"> & { readonly place?: number | undefined },
	states: Iterable<readonly [string, ResultState | undefined]>,
): boolean {
	const { place, seen = Number.POSITIVE_INFINITY } = note;
	let holds = true;
	for (const [key, state] of states) {
		if ((entry.changedAt.get(key) ?? 0) > seen) {
			holds = false;
			continue;
		}
		if (place !== undefined) entry.changedAt.set(key, place);
		if (!state) {
			entry.states.delete(key);
			continue;
		}
		entry.states.set(key, state);
		if (isGone(state) && state.changed > entry.lastMasking) {
			entry.maskings += 1;
			entry.lastMasking = state.changed;
		}
	}
	entry.requests = Math.max(entry.requests, note.number);
	if (note.model !== undefined) entry.models.set(note.number, note.model);
	if (note.messages !== undefined) {
		entry.messages = note.messages;
		if (note.isCold) entry.coldAt.add(note.messages);
	}
	for (const [key, number] of note.produced ?? []) if (!entry.produced.has(key)) entry.produced.set(key, number);
	for (const key of note.leftOut ?? []) if (!entry.leftOut.has(key)) entry.leftOut.set(key, note.number);
	for (const key of note.putBack ?? []) entry.leftOut.delete(key);
	if (note.ending !== undefined) entry.endings.set(note.ending, note.number);
	entry.frozenUntil = Math.max(entry.frozenUntil, note.frozenUntil ?? 0);
	if (note.frozenUntil !== undefined) entry.refusedAt = note.number;
	entry.isEnforced ||= note.isEnforced === true;
	entry.dropsBlocks ||= note.dropsBlocks === true;
	entry.refusesClearing ||= note.refusesClearing === true;
	if (note.block) entry.blocks.push(note.block);
	if (note.carrier) entry.carriers.push(note.carrier);
	entry.refusesBlocks ||= note.refusesBlocks === true;
	return holds;
}
