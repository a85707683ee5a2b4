import { constants } from "node:fs";
import { type FileHandle, open, realpath, stat } from "node:fs/promises";
import path from "node:path";
import { readHandle } from "../documents/read-regular-file.ts";
import { PalimpsestError } from "../errors.ts";
import { isInside, realFolders } from "./allowed-roots.ts";
import { writeNewFile } from "./write-new-file.ts";

/** Files that a caller may name by path. */
export interface FileAccess {
	/**
	 * Reads a file.
	 *
	 * @throws PalimpsestError `path_not_allowed`, `unreadable_file`, `payload_too_large`.
	 */
	readonly read: (file: string, maxBytes: number) => Promise<Buffer>;
	/**
	 * Writes a file, whole or not at all; over an existing one only where told to. Answers with its real path.
	 *
	 * @throws PalimpsestError `path_not_allowed`, `file_exists`, `unwritable_file`.
	 */
	readonly write: (file: string, text: string, overwrite: boolean) => Promise<string>;
}

/** Where files may stand. */
export interface FileAccessOptions {
	/** Relative paths start here. */
	readonly workingDirectory: string;
	/** Folders under which files may be read and written; asked for at each call, since a client may change its roots. */
	readonly roots: () => Promise<readonly string[]>;
}

/**
 * Access to the files under some folders and to no others. Paths are resolved to real paths before they are judged, so
 * that neither `..` nor a link leads out; and what was opened is compared with what was judged, so that neither does a
 * link put in place in between.
 */
export function createFileAccess({ workingDirectory, roots }: FileAccessOptions): FileAccess {
	const requireAllowed = async (real: string, given: string): Promise<void> => {
		const folders = await realFolders(await roots());
		if (folders.some((folder) => isInside(folder, real))) return;
		const advice =
			folders.length === 0
				? "No folder is allowed here; start the server with --allow-path DIR."
				: `Allowed are files under ${folders.join(", ")}; --allow-path DIR adds a folder.`;
		throw new PalimpsestError("path_not_allowed", `Files at ${shown(given)} may not be used. ${advice}`);
	};

	return {
		async read(given, maxBytes) {
			const file = absolute(given, workingDirectory);
			const real = await realpath(file).catch((error) => {
				throw unreadable(given, error);
			});
			await requireAllowed(real, given);
			let handle: FileHandle | undefined;
			try {
				// Without O_NONBLOCK, opening a pipe would wait for a writer.
				handle = await open(real, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
				const [opened, judged] = [await handle.stat(), await stat(await realpath(real))];
				if ((await realpath(real)) !== real || opened.ino !== judged.ino || opened.dev !== judged.dev) {
					throw new PalimpsestError(
						"path_not_allowed",
						`The file at ${shown(given)} changed place while it was opened.`,
					);
				}
				return await readHandle(handle, shown(given), maxBytes);
			} catch (error) {
				throw error instanceof PalimpsestError ? error : unreadable(given, error);
			} finally {
				await handle?.close();
			}
		},
		async write(given, text, overwrite) {
			const file = absolute(given, workingDirectory);
			const folder = await realpath(path.dirname(file)).catch((error) => {
				throw unwritable(given, error);
			});
			const real = path.join(folder, path.basename(file));
			await requireAllowed(real, given);
			try {
				await writeNewFile({ file: real, text, overwrite });
			} catch (error) {
				throw error instanceof PalimpsestError ? error : unwritable(given, error);
			}
			return real;
		},
	};
}

function absolute(given: string, workingDirectory: string): string {
	if (given === "" || given.includes("\0")) {
		throw new PalimpsestError(
			"invalid_argument",
			"Expected a path to be a text without NUL characters, and not empty.",
		);
	}
	return path.resolve(workingDirectory, given);
}

/** A path in an error: bounded, on one line. */
function shown(given: string): string {
	return JSON.stringify(given.length > 300 ? `${given.slice(0, 300)}…` : given);
}

function unreadable(given: string, cause: unknown): PalimpsestError {
	return new PalimpsestError("unreadable_file", `Cannot read ${shown(given)}: ${reasonOf(cause)}.`, { cause });
}

function unwritable(given: string, cause: unknown): PalimpsestError {
	return new PalimpsestError("unwritable_file", `Cannot write ${shown(given)}: ${reasonOf(cause)}.`, { cause });
}

function reasonOf(cause: unknown): string {
	const { code } = cause as NodeJS.ErrnoException;
	return code === "ENOENT" || code === "ENOTDIR" ? "there is no such file or folder" : String(code);
}
