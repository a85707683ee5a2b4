import { PalimpsestError } from "../errors.ts";

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

/**
 * The error of a place that cannot be used, from what the system or the client says. `what` names the place, where it is
 * not the archive's own.
 */
export function unavailable(location: string, cause: unknown, what = "The archive in"): PalimpsestError {
	if (cause instanceof PalimpsestError) return cause;
	const { code, message } = cause as NodeJS.ErrnoException;
	const reason = (code === undefined ? undefined : reasons[code]) ?? code ?? message ?? "for an unknown reason";
	const shown = code !== undefined && code in reasons ? `${reason} (${code})` : reason;
	return new PalimpsestError("archive_unavailable", `${what} ${location} cannot be used: ${shown}.`, { cause });
}

/** Runs what uses a place; whatever it fails with becomes `archive_unavailable`. */
export async function usingPlace<T>(location: string, use: () => Promise<T>, what?: string): Promise<T> {
	try {
		return await use();
	} catch (error) {
		throw unavailable(location, error, what);
	}
}
