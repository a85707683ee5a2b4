import type { Ref } from "./reference.ts";

/**
 * Kinds of originals: a tool result, a truncated text, the arguments of a tool call, a group of messages that was dropped
 * or summarised (JSON), an image or document (JSON), or the places where an original stood (JSON), which are kept where
 * its text alone would not bring back the same bytes.
 */
export const originalKinds = ["result", "text", "arguments", "group", "media", "places"] as const;

export type OriginalKind = (typeof originalKinds)[number];

/** A text to keep. */
export interface Original {
	/** Any string, lone surrogates included. */
	readonly text: string;
	readonly kind: OriginalKind;
	/** The call it answers. One id may have several originals, and one text several ids. */
	readonly toolCallId?: string | undefined;
	readonly toolName?: string | undefined;
}

/** All that is known of a kept original, except its text. */
export interface Listing extends Omit<Original, "text"> {
	readonly ref: Ref;
	/** Size of the kept text in UTF-16 code units. */
	readonly chars: number;
	/** Size of the kept text in bytes. */
	readonly bytes: number;
	/** When it was first kept for this call, in ms since 1970. */
	readonly archivedAt: number;
	/** Number of places that were redacted. Above 0, the kept text differs from the original. */
	readonly redactions: number;
}

/** A kept original and its text. */
export interface Found extends Listing {
	readonly text: string;
}

/** A kept original, and the result of the function that read it in pieces. */
export interface Read<T> {
	readonly listing: Listing;
	readonly value: T;
}

/** The contents of an archive in numbers. */
export interface ArchiveStats {
	readonly namespace: string;
	/** A folder, or an address without its password. */
	readonly location: string;
	readonly originals: number;
	/** Bytes of their texts. */
	readonly bytes: number;
	/** Time of the oldest last use, in ms since 1970; null for an empty archive. */
	readonly oldestUse: number | null;
}

/** The result of a sweep. */
export interface Sweep {
	readonly removed: number;
	readonly removedBytes: number;
	readonly kept: number;
	readonly keptBytes: number;
}

/** How long originals are kept. An original that was kept or used in the last hour always stays. */
export interface Retention {
	/** Originals unused for longer than this are removed, in ms. */
	readonly maxAgeMs: number;
	/** While all texts together have more bytes than this, those unused for longest are removed. */
	readonly maxBytes: number;
}

/** 30 days, 1 GB. */
export const defaultRetention: Retention = { maxAgeMs: 30 * 24 * 3_600_000, maxBytes: 1_000_000_000 };

/** Takes one original in pieces. The caller has to call `end` or `discard`. */
export interface OriginalWriter {
	/** Takes the next piece. Text past the limit is not kept. */
	readonly write: (piece: string) => Promise<void>;
	/** Keeps the text that was written. `bytes` is its size before redaction; `isWhole` is false if text was cut off. */
	readonly end: () => Promise<{ readonly ref: Ref; readonly bytes: number; readonly isWhole: boolean }>;
	/** Keeps nothing. */
	readonly discard: () => Promise<void>;
}

/**
 * Keeps originals under one namespace and does not see other namespaces.
 *
 * Every function fails with PalimpsestError `archive_unavailable` if the archive cannot be written or reached.
 */
export interface Archive {
	readonly namespace: string;
	/** A folder, or an address without its password. */
	readonly location: string;
	/** The ref that `put` would give a text: a pure function of the text and the redaction patterns. */
	readonly refOf: (text: string) => Ref;
	/**
	 * Keeps originals and returns their refs in order once all are stored. If it throws, some may be stored. An original
	 * that is kept already is only marked as used.
	 *
	 * @throws PalimpsestError `invalid_argument` for anything but a list of originals; `ambiguous_reference` if another
	 * text with the same ref is kept, which takes 2^30 hashes to make on purpose.
	 */
	readonly put: (originals: readonly Original[]) => Promise<readonly Ref[]>;
	/**
	 * Keeps an original that comes in pieces, under the same ref as `put`, and at most `maxBytes` of its beginning. The
	 * pieces wait in a nameless temporary file; with redaction they wait in memory, since a pattern may match across pieces.
	 */
	readonly putInPieces: (original: Omit<Original, "text">, maxBytes: number) => Promise<OriginalWriter>;
	/** Whether an original is kept under a ref. Does not mark it as used and does not check its text. */
	readonly has: (ref: string) => Promise<boolean>;
	/**
	 * Returns an original and marks it as used.
	 *
	 * @throws PalimpsestError `original_not_found` with the nearest refs; `ambiguous_reference`.
	 */
	readonly get: (ref: string) => Promise<Found>;
	/**
	 * Like `get`, but hands the text to `consume` in pieces. The whole text is checked before the promise resolves, even if
	 * `consume` stops early.
	 */
	readonly read: <T>(ref: string, consume: (pieces: AsyncIterable<string>) => Promise<T>) => Promise<Read<T>>;
	/** The originals of a tool call, oldest first. */
	readonly find: (toolCallId: string) => Promise<readonly Listing[]>;
	/** All originals in no order. May miss those that are added or removed meanwhile. */
	readonly list: () => AsyncIterable<Listing>;
	readonly stats: () => Promise<ArchiveStats>;
	/**
	 * Applies the retention. The archive also does so in the background, at most once an hour; there, old texts that make
	 * up more than a tenth of all wait for a day, since the clock may be wrong.
	 */
	readonly sweep: () => Promise<Sweep>;
	/** Removes everything in the namespace and returns the number of originals. */
	readonly clear: () => Promise<number>;
	/** Ends background work and closes connections. */
	readonly close: () => Promise<void>;
}
