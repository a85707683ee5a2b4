import { parseJsonObject } from "../../engine/conversation/json.js";
import { PalimpsestError } from "../../errors.js";
import { sha256 } from "../../formats/json-text/text-bytes.js";
import { originalKinds } from "./archive.js";
import { callKey } from "./reference.js";
/** The last used first. */
export function byUse(one, other) {
	return Math.floor(other.usedAt) - Math.floor(one.usedAt) || (one.hash < other.hash ? 1 : -1);
}
/** Whether a text comes after a place in the order of `byUse`. */
export function isAfter({ hash, usedAt }, after) {
	if (after?.usedAt === undefined) return true;
	const used = Math.floor(usedAt);
	return used < after.usedAt || (used === after.usedAt && hash < after.hash);
}
export const mostRemembered = 100_000;
/** Empties a full set. Each text is then checked once more. */
export function rememberHash(hashes, hash) {
	if (hashes.size >= mostRemembered) hashes.clear();
	hashes.add(hash);
}
export function writeAbout(about) {
	const members = membersOf(about);
	return JSON.stringify({ ...members, check: checkOf(members) });
}
/** `undefined` for a damaged record, and for one that is not of this call (`callKey`). */
export function readAbout(json, call) {
	// Without zod, because loading zod takes longer than all other work of a hook that archives one text.
	const { kind, tool_call_id, tool_name, chars, bytes, archived_at, redactions, check } = parseJsonObject(json) ?? {};
	const names = { toolCallId: tool_call_id, toolName: tool_name };
	const about = { kind, ...names, chars, bytes, archivedAt: archived_at, redactions };
	const numbers = [chars, bytes, archived_at, redactions];
	if (!isOriginal(about) || !numbers.every((number) => Number.isFinite(number))) return undefined;
	const read = about;
	// Older versions wrote no check.
	const isWhole = check === undefined || check === checkOf(membersOf(read));
	return isWhole && callKey(read.toolCallId) === call ? read : undefined;
}
function membersOf({ kind, toolCallId, toolName, chars, bytes, archivedAt, redactions }) {
	const names = { tool_call_id: toolCallId, tool_name: toolName };
	return { kind, ...names, chars, bytes, archived_at: archivedAt, redactions };
}
function checkOf(members) {
	return sha256(JSON.stringify(members)).slice(0, 8);
}
export function isOriginal({ kind, toolCallId, toolName }) {
	const isTextOrAbsent = (value) => value === undefined || typeof value === "string";
	return originalKinds.includes(kind) && isTextOrAbsent(toolCallId) && isTextOrAbsent(toolName);
}
const elsewhere = "Choose another folder";
const denied = "this user may not write or read there. Change the folder's permissions or choose another";
const blocked = `something other than a folder is in its way. ${elsewhere}`;
const tooManyFiles = "too many files are open. Raise the limit on open files";
const reasons = {
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
export async function usingPlace(location, use, what) {
	try {
		return await use();
	} catch (cause) {
		throw unusablePlace(location, cause, what);
	}
}
/** The error of `usingPlace`, for a failure that is already caught. */
export function unusablePlace(location, cause, what = "The archive in") {
	if (cause instanceof PalimpsestError) return cause;
	const { code, message } = cause;
	const known = code === undefined ? undefined : reasons[code];
	const reason = known === undefined ? (code ?? message ?? "for an unknown reason") : `${known} (${code})`;
	return new PalimpsestError("archive_unavailable", `${what} ${location} cannot be used: ${reason}.`, { cause });
}
