import type { Ref } from "./reference.ts";

/**
 * What an original was in its conversation: the text of a tool result, a whole text that was truncated, the text of a
 * tool call's arguments, a group of messages that was dropped or summarised (JSON), an image or document (JSON), or the
 * places that an original stood in (JSON), kept beside it where its text alone would not bring back the very bytes.
 */
export type OriginalKind = "result" | "text" | "arguments" | "group" | "media" | "places";

/** A text to keep, and what it was. */
export interface Original {
	/** Any string, lone surrogates included; of a group, its JSON. */
	readonly text: string;
	readonly kind: OriginalKind;
	/** The call it answers. One id may have several originals, and one text several ids. */
	readonly toolCallId?: string | undefined;
	readonly toolName?: string | undefined;
}

/** What is known of a kept original, its text aside. */
export interface Listing {
	readonly ref: Ref;
	readonly kind: OriginalKind;
	readonly toolCallId?: string | undefined;
	readonly toolName?: string | undefined;
	/** Size of the kept text in UTF-16 code units. */
	readonly chars: number;
	/** Size of the kept text in bytes, as stored. */
	readonly bytes: number;
	/** When it was first kept for this call, in ms since 1970. */
	readonly archivedAt: number;
	/** Places replaced before it was stored. Where it is not 0, the kept text is not the original byte for byte. */
	readonly redactions: number;
}

/** A kept original and its text. */
export interface Found extends Listing {
	readonly text: string;
}

/** What was made of a kept original without holding it whole. */
export interface Read<T> {
	readonly listing: Listing;
	readonly value: T;
}

/** What an archive holds. */
export interface ArchiveStats {
	readonly namespace: string;
	/** Where it is, for people: a folder, or an address without its password. */
	readonly location: string;
	readonly originals: number;
	/** Bytes of their texts. */
	readonly bytes: number;
	/** When the one unused for longest was last used, in ms since 1970; null where there is none. */
	readonly oldestUse: number | null;
}

/** What a sweep took away and what it left. */
export interface Sweep {
	readonly removed: number;
	readonly removedBytes: number;
	readonly kept: number;
	readonly keptBytes: number;
}

/** For how long originals are kept. What was kept or used in the last hour stays whatever these say. */
export interface Retention {
	/** An original not used for longer than this goes, in ms. */
	readonly maxAgeMs: number;
	/** Where the texts have more bytes than this together, those unused for longest go. */
	readonly maxBytes: number;
}

/** 30 days, 1 GB. */
export const defaultRetention: Retention = { maxAgeMs: 30 * 24 * 3_600_000, maxBytes: 1_000_000_000 };

/** Takes one original piece by piece; either `end` or `discard` has to follow. */
export interface OriginalWriter {
	/** Takes the next piece. What is past the limit is not kept. */
	readonly write: (piece: string) => Promise<void>;
	/** Keeps what was written, once, and tells where. */
	readonly end: () => Promise<WrittenOriginal>;
	/** Keeps nothing of it. */
	readonly discard: () => Promise<void>;
}

/** An original that was kept piece by piece. */
export interface WrittenOriginal {
	readonly ref: Ref;
	/** Size of what was kept of it in bytes, before redaction. */
	readonly bytes: number;
	/** Whether that is all of it, rather than its beginning. */
	readonly isWhole: boolean;
}

/**
 * Keeps what was taken out of conversations, under one namespace. What stands in another namespace is not there.
 *
 * Every function fails with PalimpsestError `archive_unavailable` where the archive cannot be written or reached.
 */
export interface Archive {
	readonly namespace: string;
	/** Where it is, for people: a folder, or an address without its password. */
	readonly location: string;
	/**
	 * The ref under which `put` would keep a text: a pure function of the text and the redaction patterns, so that a
	 * placeholder can name it before anything is kept and is the same in every call and process.
	 */
	readonly refOf: (text: string) => Ref;
	/**
	 * Keeps originals; answers with their refs, in order, once all of them are stored. Where it throws, none counts as
	 * kept, though some may be there. What is kept already is only marked as used.
	 *
	 * @throws PalimpsestError `invalid_argument` for what is no list of originals; `ambiguous_reference` where another text
	 * with the same ref is kept: in practice only where somebody spent 2^30 hashes to make two such texts.
	 */
	readonly put: (originals: readonly Original[]) => Promise<readonly Ref[]>;
	/**
	 * Begins to keep an original of which no whole is at hand: the same is kept under the same ref as by `put`. It waits
	 * in a temporary file without a name, so that little of it is held; where texts are redacted, it is held, since a
	 * pattern may match across any two pieces. `maxBytes` bounds how much of its beginning is kept.
	 */
	readonly putInPieces: (original: Omit<Original, "text">, maxBytes: number) => Promise<OriginalWriter>;
	/**
	 * Whether something is kept under a ref. Marks nothing as used, checks no text, and looks for no nearest ref where
	 * nothing is, which takes time in proportion to all that is kept.
	 */
	readonly has: (ref: string) => Promise<boolean>;
	/**
	 * An original, whole. Marks it as used.
	 *
	 * @throws PalimpsestError `original_not_found` where nothing whole is kept under the ref, naming the nearest refs;
	 * `ambiguous_reference`.
	 */
	readonly get: (ref: string) => Promise<Found>;
	/**
	 * Hands an original to `consume` in pieces, so that a large one is never held whole. The answer comes after all of it
	 * was checked, whether or not `consume` read to the end. Marks it as used. Fails as `get` does.
	 */
	readonly read: <T>(ref: string, consume: (pieces: AsyncIterable<string>) => Promise<T>) => Promise<Read<T>>;
	/** What is kept for a tool call, oldest first; empty where nothing is. */
	readonly find: (toolCallId: string) => Promise<readonly Listing[]>;
	/** All that is kept, in no order, as it is while listing: what comes or goes meanwhile may be missing. */
	readonly list: () => AsyncIterable<Listing>;
	readonly stats: () => Promise<ArchiveStats>;
	/**
	 * Applies the retention now. It is also applied in the background, at most once an hour; there, what is too old waits
	 * for a day where it is more than a tenth of all, since the clock may be wrong.
	 */
	readonly sweep: () => Promise<Sweep>;
	/** Takes away all that is kept in the namespace; answers how many originals. */
	readonly clear: () => Promise<number>;
	/** Ends what runs in the background and lets connections go. */
	readonly close: () => Promise<void>;
}
