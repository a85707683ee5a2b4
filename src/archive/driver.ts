import { PalimpsestError } from "../errors.ts";
import type { Listing, OriginalKind, Sweep } from "./archive.ts";
import type { SweepTime } from "./retention.ts";

/** The record that is stored beside a text, one for each tool call that had this text. */
export type About = Omit<Listing, "ref">;

/** A text to store. */
export interface Entry {
	/** SHA-256 (hex) of its bytes. */
	readonly hash: string;
	/** The bytes, piece by piece, from the start at each call. */
	readonly pieces: () => Iterable<Buffer>;
	readonly about: About;
}

/** A stored text and the record beside it. */
export interface Stored {
	readonly hash: string;
	readonly about: About;
}

/** How many originals there are, and the bytes of their texts. */
export interface Holdings {
	readonly originals: number;
	readonly bytes: number;
	/** In ms since 1970. */
	readonly oldestUse: number | null;
}

/**
 * The place where an archive stores its texts: one namespace of one folder, Redis or memory. A driver knows hashes and
 * bytes; the archive adds references, text and redaction. Every function fails with PalimpsestError
 * `archive_unavailable` where the place cannot be used.
 */
export interface Driver {
	readonly location: string;
	/** Stores all entries or throws. An entry that is stored already is marked as used, and replaced if it is damaged. */
	readonly write: (entries: readonly Entry[]) => Promise<void>;
	/** The hashes that begin with these hex digits. */
	readonly hashesFrom: (prefix: string) => Promise<readonly string[]>;
	/** Reads the bytes under a hash and marks them as used; `undefined` if nothing is stored. Read the stream to its end. */
	readonly read: (hash: string) => Promise<AsyncIterable<Buffer> | undefined>;
	/** Tells the driver that the bytes under a hash are damaged, so that the next `write` replaces them. */
	readonly distrust: (hash: string) => void;
	/** The records beside a text. The list may be empty, since a crash can lose a record and keep the text. */
	readonly aboutsOf: (hash: string) => Promise<readonly About[]>;
	readonly find: (toolCallId: string) => Promise<readonly Stored[]>;
	readonly hashes: () => AsyncIterable<string>;
	readonly holdings: () => Promise<Holdings>;
	/** Whether nobody has swept in the last hour. After the answer `true`, the caller is the one that sweeps. */
	readonly claimSweep: () => Promise<boolean>;
	/** Applies the retention as `decideSweep` says, and keeps its intent for the next sweep. */
	readonly sweep: (time: SweepTime) => Promise<Sweep>;
	readonly clear: () => Promise<number>;
	readonly close: () => Promise<void>;
}

/** Adds up what a place holds. */
export function holdingsOf(all: readonly { readonly bytes: number; readonly usedAt: number }[]): Holdings {
	let [bytes, oldest] = [0, Number.POSITIVE_INFINITY];
	for (const one of all) {
		bytes += one.bytes;
		oldest = Math.min(oldest, one.usedAt);
	}
	return { originals: all.length, bytes, oldestUse: all.length === 0 ? null : Math.round(oldest) };
}

const mostRemembered = 100_000;

/** Some hashes. Forgets all of them when there are too many; each text is then looked at once more. */
export interface HashMemory {
	readonly has: (hash: string) => boolean;
	readonly add: (hash: string) => void;
	readonly delete: (hash: string) => void;
	readonly clear: () => void;
}

/** Remembers hashes of texts that this process knows to be stored. */
export function rememberHashes(): HashMemory {
	const hashes = new Set<string>();
	return {
		has: (hash) => hashes.has(hash),
		add(hash) {
			if (hashes.size >= mostRemembered) hashes.clear();
			hashes.add(hash);
		},
		delete: (hash) => hashes.delete(hash),
		clear: () => hashes.clear(),
	};
}

const kinds: ReadonlySet<unknown> = new Set<OriginalKind>(["result", "text", "arguments", "group", "media", "places"]);

/** Whether a value is the kind of an original. */
export function isKind(value: unknown): value is OriginalKind {
	return kinds.has(value);
}

/** The record beside a text, as JSON. */
export function writeAbout(about: About): string {
	const { kind, toolCallId, toolName, chars, bytes, archivedAt, redactions } = about;
	// JSON leaves out a name that is undefined.
	return JSON.stringify({
		kind,
		tool_call_id: toolCallId,
		tool_name: toolName,
		chars,
		bytes,
		archived_at: archivedAt,
		redactions,
	});
}

/** Reads a record; `undefined` where it is damaged. */
export function readAbout(json: string): About | undefined {
	// Not a zod schema: loading one takes a hook that archives one text longer than all its other work.
	const { tool_call_id: toolCallId, tool_name: toolName, archived_at: archivedAt, ...rest } = parsed(json);
	const { kind, chars, bytes, redactions } = rest;
	if (!isKind(kind) || !isTextOrAbsent(toolCallId) || !isTextOrAbsent(toolName)) return undefined;
	if (!isNumber(chars) || !isNumber(bytes) || !isNumber(archivedAt) || !isNumber(redactions)) return undefined;
	return { kind, toolCallId, toolName, chars, bytes, archivedAt, redactions };
}

function parsed(json: string): Readonly<Record<string, unknown>> {
	try {
		const value: unknown = JSON.parse(json);
		return typeof value === "object" && value !== null ? { ...value } : {};
	} catch {
		return {};
	}
}

function isTextOrAbsent(value: unknown): value is string | undefined {
	return value === undefined || typeof value === "string";
}

function isNumber(value: unknown): value is number {
	return typeof value === "number" && Number.isFinite(value);
}

const reasons: Readonly<Record<string, string>> = {
	ENOSPC: "the disk is full. Free some space, or run `palimpsest archive sweep`",
	EDQUOT: "the disk quota is used up. Free some space, or run `palimpsest archive sweep`",
	EFBIG: "the file would be larger than is allowed here",
	ENOENT: "it is not there, and cannot be made. Choose another folder",
	EACCES: "this user may not write or read there. Change the folder's permissions or choose another",
	EPERM: "this user may not write or read there. Change the folder's permissions or choose another",
	EROFS: "it stands on a read-only file system. Choose another folder",
	ENOTDIR: "something that is no folder stands in its way. Choose another folder",
	EEXIST: "something that is no folder stands in its way. Choose another folder",
	EISDIR: "a folder stands where a file should. Choose another folder",
	EMFILE: "too many files are open. Raise the limit on open files",
	ENFILE: "too many files are open. Raise the limit on open files",
};

/** Runs something that uses a place. Any failure becomes `archive_unavailable`; `what` names a place that is no archive. */
export async function usingPlace<T>(location: string, use: () => Promise<T>, what = "The archive in"): Promise<T> {
	try {
		return await use();
	} catch (cause) {
		if (cause instanceof PalimpsestError) throw cause;
		const { code, message } = cause as NodeJS.ErrnoException;
		const known = code === undefined ? undefined : reasons[code];
		const reason = known === undefined ? (code ?? message ?? "for an unknown reason") : `${known} (${code})`;
		throw new PalimpsestError("archive_unavailable", `${what} ${location} cannot be used: ${reason}.`, { cause });
	}
}
