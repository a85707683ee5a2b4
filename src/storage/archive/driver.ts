import { parseJsonObject } from "../../engine/conversation/json.ts";
import { PalimpsestError } from "../../errors.ts";
import { sha256 } from "../../formats/json-text/text-bytes.ts";
import { type Archive, type Listing, originalKinds, type Sweep } from "./archive.ts";
import { callKey } from "./reference.ts";
import type { Holding, SweepTime } from "./retention.ts";

/** The record of a text, one for each tool call with this text. */
export type About = Omit<Listing, "ref">;

export interface Stored {
	readonly hash: string;
	readonly about: About;
}

/** `pieces` begins from the start at each call. */
export interface Entry extends Stored {
	readonly pieces: () => Iterable<Buffer>;
}

/** One namespace of a place, by hashes and bytes. Every function throws PalimpsestError `archive_unavailable`. */
export interface Driver extends Pick<Archive, "location" | "clear" | "close"> {
	/**
	 * Stores all entries or throws; `ambiguous_reference` if the ref of a text is that of another one, which it keeps. A
	 * stored entry is marked as used, and replaced if it is damaged. `syncs` says when records are written and files are on
	 * the disk: before this returns, or soon after.
	 */
	readonly write: (entries: readonly Entry[], syncs: "before" | "after") => Promise<void>;
	/**
	 * Hashes of texts that begin with some of these digits: at least 6, or all those of a ref. For the digits of an older form,
	 * omits the hashes that had another form.
	 */
	readonly hashesFrom: (prefixes: readonly string[]) => Promise<readonly string[]>;
	/** Marks the bytes as used; `undefined` if nothing is stored. Read the stream to its end. */
	readonly read: (hash: string) => Promise<AsyncIterable<Buffer> | undefined>;
	/** Says that the stored bytes are damaged, so that the next `write` replaces them. */
	readonly distrust: (hash: string) => void;
	/** May be empty, since a crash can lose a record and keep the text. */
	readonly aboutsOf: (hash: string) => Promise<readonly About[]>;
	readonly find: (toolCallId: string) => Promise<readonly Stored[]>;
	readonly hashes: () => AsyncIterable<string>;
	/** All texts with their last use, in pages, after a place. No list of all of them is made. */
	readonly holdings: (after?: ListingPlace) => AsyncIterable<HoldingPage>;
	/** The bytes of texts, in the same order, without marking them as used; `undefined` for one that is gone. */
	readonly peek: (hashes: readonly string[]) => Promise<readonly (Buffer | undefined)[]>;
	/** Whether the last sweep is more than an hour old. After `true`, the caller has to sweep. */
	readonly claimSweep: () => Promise<boolean>;
	/** Also stores the intent for the next sweep. */
	readonly sweep: (time: SweepTime) => Promise<Sweep>;
}

/** The last used come first, those of one ms by their hashes backwards. Files of many texts come by their hashes. */
export interface HoldingPage {
	readonly order: "use" | "hash";
	readonly texts: readonly Holding[];
}

/** The text after which a listing goes on: its hash, at least the digits of a ref; by use also its last use, in whole ms. */
export interface ListingPlace {
	readonly hash: string;
	readonly usedAt?: number | undefined;
}

/** The last used first. */
export function byUse(one: Holding, other: Holding): number {
	return Math.floor(other.usedAt) - Math.floor(one.usedAt) || (one.hash < other.hash ? 1 : -1);
}

/** Whether a text comes after a place in the order of `byUse`. */
export function isAfter({ hash, usedAt }: Holding, after: ListingPlace | undefined): boolean {
	if (after?.usedAt === undefined) return true;
	const used = Math.floor(usedAt);
	return used < after.usedAt || (used === after.usedAt && hash < after.hash);
}

export const mostRemembered = 100_000;

/** Empties a full set. Each text is then checked once more. */
export function rememberHash(hashes: Set<string>, hash: string): void {
	if (hashes.size >= mostRemembered) hashes.clear();
	hashes.add(hash);
}

export function writeAbout(about: About): string {
	const members = recordOf(about);
	return withCheck(members, sha256(JSON.stringify(members)));
}

/** A record with the start of the hash of its members, so that a torn one is known. */
export function withCheck(members: ReturnType<typeof recordOf>, hash: string): string {
	return JSON.stringify({ ...members, check: hash.slice(0, checkLength) });
}

const checkLength = 8;

/** `undefined` for a damaged record, and for one that is not of this call (`callKey`). */
export function readAbout(json: string, call: string): About | undefined {
	// Without zod, because loading zod takes longer than all other work of a hook that archives one text.
	const { kind, tool_call_id, tool_name, chars, bytes, archived_at, redactions, check } = parseJsonObject(json) ?? {};
	const names = { toolCallId: tool_call_id, toolName: tool_name };
	const about = { kind, ...names, chars, bytes, archivedAt: archived_at, redactions };
	const numbers = [chars, bytes, archived_at, redactions];
	if (!isOriginal(about) || !numbers.every((number) => Number.isFinite(number))) return undefined;
	const read = about as About;
	// Older versions wrote no check.
	const isWhole = check === undefined || check === checkOf(recordOf(read));
	return isWhole && callKey(read.toolCallId) === call ? read : undefined;
}

export function recordOf({ kind, toolCallId, toolName, chars, bytes, archivedAt, redactions }: About) {
	const names = { tool_call_id: toolCallId, tool_name: toolName };
	return { kind, ...names, chars, bytes, archived_at: archivedAt, redactions };
}

function checkOf(members: ReturnType<typeof recordOf>): string {
	return sha256(JSON.stringify(members)).slice(0, checkLength);
}

export function isOriginal({ kind, toolCallId, toolName }: { readonly [Key in keyof About]?: unknown }): boolean {
	const isTextOrAbsent = (value: unknown) => value === undefined || typeof value === "string";
	return (originalKinds as readonly unknown[]).includes(kind) && isTextOrAbsent(toolCallId) && isTextOrAbsent(toolName);
}

const elsewhere = "Choose another folder";
const denied = "this user may not write or read there. Change the folder's permissions or choose another";
const blocked = `something other than a folder is in its way. ${elsewhere}`;
const tooManyFiles = "too many files are open. Raise the limit on open files";
const reasons: Readonly<Record<string, string>> = {
	ENOSPC: "the disk is full. Free some space, or run `palimpsest archive sweep`",
	EDQUOT: "the disk quota is used up. Free some space, or run `palimpsest archive sweep`",
	EFBIG: "the file would be larger than is allowed here",
	ENOENT: `it is not there, and cannot be made. ${elsewhere}`,
	EACCES: denied,
	EPERM: denied,
	EROFS: `it is on a read-only file system. ${elsewhere}`,
	ENOTDIR: blocked,
	EEXIST: blocked,
	EISDIR: `a folder is where a file should be. ${elsewhere}`,
	EMFILE: tooManyFiles,
	ENFILE: tooManyFiles,
};

/** Turns any failure into `archive_unavailable`. `what` names a place that is not the archive. */
export async function usingPlace<T>(location: string, use: () => Promise<T>, what?: string): Promise<T> {
	try {
		return await use();
	} catch (cause) {
		throw unusablePlace(location, cause, what);
	}
}

/** The error of `usingPlace`, for a failure that is already caught. */
export function unusablePlace(location: string, cause: unknown, what = "The archive in"): PalimpsestError {
	if (cause instanceof PalimpsestError) return cause;
	const { code, message } = cause as NodeJS.ErrnoException;
	const known = code === undefined ? undefined : reasons[code];
	const reason = known === undefined ? (code ?? message ?? "for an unknown reason") : `${known} (${code})`;
	return new PalimpsestError("archive_unavailable", `${what} ${location} cannot be used: ${reason}.`, { cause });
}
