/**
 * Where the notes of conversations are kept for every process that serves them: files of one machine, or Redis for several. Lines
 * are only appended, so that all read the same ones in the same order. A place is a number that grows with each line.
 *
 * - A request reads the lines after the last place that it knows, in one round trip.
 * - A note names the place up to which its writer had read. A state in it holds unless another line in between has changed the
 *   state of the same result: the first writer wins, and the other one learns it with the answer to its own line.
 * - A conversation lasts as long as an original: by the retention of the archive, from its last request on.
 * - After a fault nothing is known to be appended, and nothing is appended late.
 */
export interface Journal {
	/** Throws PalimpsestError `archive_unavailable`. */
	readonly read: (conversation: string, after: number, wait: Wait) => Promise<Tail>;
	/** Appends the lines, and reads those after a place with them. Throws as `read` does. */
	readonly append: (conversation: string, what: Appended, wait: Wait) => Promise<Tail>;
	/** Notes the time of a request, in ms since 1970. Never throws: the next request notes it again. */
	readonly touch: (conversation: string, at: number) => void;
	/** The conversations that have decided on these results last. Absent: those of this process. */
	readonly find?: ((results: readonly string[], wait: Wait) => Promise<readonly string[]>) | undefined;
	/** The branches of conversations with their plans. Absent: each process plans for itself. */
	readonly branches?: ToldBranches | undefined;
	/** Accounts that check reasoning, by a name under the key that all processes have. Absent: each learns by itself. */
	readonly accounts?:
		| {
				readonly has: (nameBy: (key: string) => string, wait: Wait) => Promise<boolean>;
				readonly add: (nameBy: (key: string) => string, wait: Wait) => Promise<void>;
		  }
		| undefined;
	/** Calls the listener when the journal can be used again. Absent: there is no such moment. */
	readonly onBack?: ((listener: () => void) => void) | undefined;
	/** Deletes what no request has used for that long. Absent where everything expires by itself. */
	readonly sweep?: ((maxAgeMs: number) => Promise<void>) | undefined;
	readonly close?: (() => Promise<void>) | undefined;
}

/** What processes tell each other of the last requests of a conversation. What is lost costs new decisions only. */
export interface ToldBranches {
	/** The last told first. Throws as `read` of the journal does. */
	readonly read: (conversation: string, wait: Wait) => Promise<readonly ToldBranch[]>;
	/** Takes the place of the same branch unless that has got more messages. */
	readonly tell: (conversation: string, branch: ToldBranch, wait: Wait) => Promise<void>;
}

export interface ToldBranch {
	readonly id: string;
	/** Of its last request. */
	readonly messages: number;
	readonly text: string;
}

/** The time that a request still waits for a journal on another machine. */
export interface Wait {
	leftMs: number;
}

export interface Appended {
	readonly lines: readonly string[];
	readonly after: number;
	/** Results that are known in every conversation by the ids of their calls, and that this note decides on. */
	readonly results: readonly string[];
}

export interface Tail {
	/** With the place of each. */
	readonly lines: readonly { readonly text: string; readonly place: number }[];
	/** The last place. */
	readonly end: number;
	/** The time of the last request, in ms since 1970, if it is known. */
	readonly lastCall: number | undefined;
	/** Whether these are all lines, since what was known before has got other places. */
	readonly isWhole?: boolean;
}
