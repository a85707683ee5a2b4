import type { Note } from "./notes.ts";
import type { ResultState } from "./states.ts";

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
	/** The time of its last request, in ms since 1970, also of other processes. */
	readonly lastCall: number | undefined;
	/** Notes of this process that could not be written. */
	readonly unwritten: readonly Note[];
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
	lastCall: number | undefined;
	/** Bytes of its file that were read. */
	read: number;
	/** Characters of its states. */
	chars: number;
	/** Whether it has notes that its file has not. */
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
		lastCall: undefined,
		read: 0,
		chars: 0,
		isAlone: false,
		unwritten: [],
	};
}
