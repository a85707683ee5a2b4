import type { Ref } from "./reference.ts";

/** Texts of `group`, `media` and `places` are JSON. `places` hold values that the text alone could not restore. */
export const originalKinds = ["result", "text", "arguments", "group", "media", "places"] as const;

export type OriginalKind = (typeof originalKinds)[number];

export interface Original {
	readonly text: string;
	readonly kind: OriginalKind;
	readonly toolCallId?: string | undefined;
	readonly toolName?: string | undefined;
}

export interface Listing extends Omit<Original, "text"> {
	readonly ref: Ref;
	/** UTF-16 code units of the archived text. */
	readonly chars: number;
	readonly bytes: number;
	/** When the text was first archived for this call, in ms since 1970. */
	readonly archivedAt: number;
	/** Number of replaced matches. Above 0, the archived text differs from the original. */
	readonly redactions: number;
}

export interface Found extends Listing {
	readonly text: string;
}

export interface Read<T> {
	readonly listing: Listing;
	readonly value: T;
}

export interface ArchiveStats {
	readonly namespace: string;
	readonly location: string;
	readonly originals: number;
	readonly bytes: number;
	/** In ms since 1970; null for an empty archive. */
	readonly oldestUse: number | null;
}

export interface Sweep {
	readonly removed: number;
	readonly removedBytes: number;
	readonly kept: number;
	readonly keptBytes: number;
}

/** An original that was written or used in the last hour always stays; one of the last day, unless a user asks to sweep. */
export interface Retention {
	/** In ms since the last use. */
	readonly maxAgeMs: number;
	/** Above this, the originals with the oldest last use are removed. */
	readonly maxBytes: number;
}

export const defaultRetention: Retention = { maxAgeMs: 30 * 24 * 3_600_000, maxBytes: 1_000_000_000 };

/** The caller has to call `end` or `discard`. */
export interface OriginalWriter {
	readonly write: (piece: string) => Promise<void>;
	/** `bytes` is the size before redaction; `isWhole` is false if text was past the limit. */
	readonly end: () => Promise<{ readonly ref: Ref; readonly bytes: number; readonly isWhole: boolean }>;
	readonly discard: () => Promise<void>;
}

/** `use`: the last used first. `hash`: by the references, since comparing the last uses of so many would take too long. */
export type ScanOrder = "use" | "hash";

/** A text of the archive in a scan. */
export interface Scanned {
	readonly ref: Ref;
	readonly text: string;
	/** Where a scan goes on after this text. */
	readonly place: string;
	readonly order: ScanOrder;
	/** `undefined` if the stored bytes are damaged. */
	readonly listing: () => Promise<Listing | undefined>;
}

/** One namespace. Every function throws PalimpsestError `archive_unavailable` if the place cannot be used. */
export interface Archive {
	readonly namespace: string;
	readonly location: string;
	/** A function of the text and the redaction patterns. */
	readonly refOf: (text: string) => Ref;
	/**
	 * Refs in order, once all are stored. Throws `invalid_argument`; `ambiguous_reference` if two texts have the same ref, which
	 * takes some 2^30 texts.
	 * With `isHeldElsewhere`, an archive of files writes their records and syncs them to the disk after it has returned:
	 * only a power loss in that moment can lose a text.
	 */
	readonly put: (
		originals: readonly Original[],
		options?: { readonly isHeldElsewhere: boolean },
	) => Promise<readonly Ref[]>;
	/** At most the first `maxBytes`. Redaction holds the text in memory: a match may span pieces. */
	readonly putInPieces: (original: Omit<Original, "text">, maxBytes: number) => Promise<OriginalWriter>;
	readonly has: (ref: string) => Promise<boolean>;
	/** Marks the original as used. Throws `original_not_found` with the nearest refs; `ambiguous_reference`. */
	readonly get: (ref: string) => Promise<Found>;
	/** As `get`, but in pieces. The whole text is checked before the promise resolves, even if `consume` stops early. */
	readonly read: <T>(ref: string, consume: (pieces: AsyncIterable<string>) => Promise<T>) => Promise<Read<T>>;
	/** Oldest first. */
	readonly find: (toolCallId: string) => Promise<readonly Listing[]>;
	/** In no particular order. May miss originals that are added or removed during it. */
	readonly list: () => AsyncIterable<Listing>;
	/** Texts of at most `mostBytes` after a place. Marks none as used. Throws `invalid_argument` for what is no place. */
	readonly scan: (mostBytes: number, after?: string) => AsyncIterable<Scanned>;
	readonly stats: () => Promise<ArchiveStats>;
	/** Also runs hourly. An hourly sweep waits a day before it deletes a large share, since the clock may be wrong. */
	readonly sweep: () => Promise<Sweep>;
	readonly clear: () => Promise<number>;
	readonly close: () => Promise<void>;
}
