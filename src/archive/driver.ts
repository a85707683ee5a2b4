import type { Listing, Sweep } from "./archive.ts";
import type { SweepTime } from "./retention.ts";

/** What is stored beside a text, once for each tool call that it answered. */
export type About = Omit<Listing, "ref">;

/** A text to store. */
export interface Entry {
	/** SHA-256 (hex) of its bytes. */
	readonly hash: string;
	/** The bytes, piece by piece, from the start at each call. */
	readonly pieces: () => Iterable<Buffer>;
	readonly about: About;
}

/** A stored text and what is stored beside it. */
export interface Stored {
	readonly hash: string;
	readonly about: About;
}

/** Originals and the bytes of their texts. */
export interface Holdings {
	readonly originals: number;
	readonly bytes: number;
	/** In ms since 1970. */
	readonly oldestUse: number | null;
}

/**
 * Where an archive stores: one namespace of one place. Knows hashes and bytes; refs, text and redaction are the
 * archive's. Every function fails with PalimpsestError `archive_unavailable` where the place cannot be used.
 */
export interface Driver {
	readonly location: string;
	/** Stores all entries or throws; marks as used what is stored already, and replaces it where it is known damaged. */
	readonly write: (entries: readonly Entry[]) => Promise<void>;
	/** The hashes that begin with these hex digits. */
	readonly hashesFrom: (prefix: string) => Promise<readonly string[]>;
	/** The bytes stored under a hash, to be read to the end; `undefined` where there are none. Marks them as used. */
	readonly read: (hash: string) => Promise<AsyncIterable<Buffer> | undefined>;
	/** Hears that the bytes under a hash are not what they were, so that the next `write` replaces them. */
	readonly distrust: (hash: string) => void;
	/** All that is stored beside a text; nothing readable may be there. */
	readonly aboutsOf: (hash: string) => Promise<readonly About[]>;
	readonly find: (toolCallId: string) => Promise<readonly Stored[]>;
	readonly hashes: () => AsyncIterable<string>;
	readonly holdings: () => Promise<Holdings>;
	/** Whether nobody swept in the last hour; the one that asks is the one that sweeps. */
	readonly claimSweep: () => Promise<boolean>;
	/** Applies the retention as `decideSweep` says, and keeps its intent for the next sweep. */
	readonly sweep: (time: SweepTime) => Promise<Sweep>;
	readonly clear: () => Promise<number>;
	readonly close: () => Promise<void>;
}
