import { constants } from "node:fs";
import { type FileHandle, open, realpath, stat } from "node:fs/promises";
import path from "node:path";
import { PalimpsestError } from "../errors.ts";
import { isInside, realFolders } from "./allowed-roots.ts";
import { type HeldFolder, holdFolder } from "./hold-folder.ts";
import { pathOfOpened } from "./path-of-opened.ts";
import { readHandle } from "./read-file.ts";
import { type NewFile, writeNewFile } from "./write-new-file.ts";

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
	/**
	 * Writes a new file beside another one, with a word before the ending: beside `chat.json`, and with `masked`, the file
	 * `chat.masked.json`; where that is taken, `chat.masked-2.json`, and so on. Answers with its real path.
	 *
	 * @throws PalimpsestError `path_not_allowed`, `file_exists`, `unwritable_file`.
	 */
	readonly writeBeside: (file: string, word: ResultWord, text: string) => Promise<string>;
}

/** What was done to the conversation of a file: part of the name of the file that holds the result. */
export type ResultWord = (typeof resultWords)[number];
const resultWords = ["masked", "guarded", "compacted"] as const;

/** Whether a file has the name of one that `writeBeside` wrote. */
export function isResultName(file: string): boolean {
	return new RegExp(`.\\.(?:${resultWords.join("|")})(?:-\\d+)?$`).test(path.parse(file).name);
}

/** Where files may stand. */
export interface FileAccessOptions {
	/** Relative paths start here. */
	readonly workingDirectory: string;
	/** Folders under which files may be read and written. */
	readonly folders?: readonly string[] | undefined;
	/** More such folders, asked for only where the others do not allow a path, since a client may be slow to answer. */
	readonly roots: () => Promise<readonly string[]>;
}

/** Longest path that is looked at; no system takes a longer one. */
const longestPath = 32_767;

/**
 * Access to the files under some folders and to no others. Paths are resolved to real paths before they are judged, so
 * that neither `..` nor a link leads out; and what was opened is judged again, so that neither does a link put in place
 * in between.
 */
export function createFileAccess({ workingDirectory, folders = [], roots }: FileAccessOptions): FileAccess {
	const requireAllowed = async (real: string, given: string): Promise<void> => {
		const allowed = await realFolders(folders);
		if (allowed.some((folder) => isInside(folder, real))) return;
		const offered = await realFolders(await roots());
		if (offered.some((folder) => isInside(folder, real))) return;
		const all = [...allowed, ...offered];
		const advice =
			all.length === 0
				? "No folder is allowed here; start the server with --allow-path DIR."
				: `Allowed are files under ${all.join(", ")}; --allow-path DIR adds a folder.`;
		throw new PalimpsestError("path_not_allowed", `Files at ${shown(given)} may not be used. ${advice}`);
	};

	/** What is not there is judged by the folder it would be in: whether a file exists elsewhere is told to nobody. */
	const refuseMissing = async (file: string, given: string): Promise<void> =>
		requireAllowed(await realFolderAbove(file), given);

	/** Without the help of the system only a change that lasts is noticed. */
	const requireOpenedAllowed = async (handle: FileHandle, real: string, given: string): Promise<void> => {
		const opened = await pathOfOpened(handle);
		if (opened !== undefined) return requireAllowed(opened, given);
		const [about, judged] = [await handle.stat(), await stat(real)];
		if (about.ino === judged.ino && about.dev === judged.dev && (await realpath(real)) === real) return;
		throw new PalimpsestError("path_not_allowed", `The file at ${shown(given)} changed place while it was opened.`);
	};

	const writeAt = async (given: string, what: Omit<NewFile, "file">): Promise<string> => {
		const file = absolute(given, workingDirectory);
		let folder: HeldFolder | undefined;
		try {
			folder = await holdFolder(path.dirname(file)).catch(async (error) => {
				await refuseMissing(file, given);
				throw error;
			});
			// A name that is not given but found must not lead out of a folder that is allowed.
			await requireAllowed(what.otherNames ? folder.real : path.join(folder.real, path.basename(file)), given);
			const written = await writeNewFile({ ...what, file: path.join(folder.base, path.basename(file)) });
			return path.join(folder.real, path.basename(written));
		} catch (error) {
			throw asPalimpsestError(error, "unwritable_file", `Cannot write ${shown(given)}`);
		} finally {
			await folder?.release();
		}
	};

	return {
		async read(given, maxBytes) {
			const file = absolute(given, workingDirectory);
			let handle: FileHandle | undefined;
			try {
				const real = await realpath(file).catch(async (error) => {
					await refuseMissing(file, given);
					throw error;
				});
				await requireAllowed(real, given);
				// Without O_NONBLOCK, opening a pipe would wait for a writer.
				handle = await open(real, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
				await requireOpenedAllowed(handle, real, given);
				return await readHandle(handle, shown(given), maxBytes);
			} catch (error) {
				throw asPalimpsestError(error, "unreadable_file", `Cannot read ${shown(given)}`);
			} finally {
				await handle?.close();
			}
		},
		write: (given, text, overwrite) => writeAt(given, { text, overwrite }),
		writeBeside(given, word, text) {
			const [name = "", ...otherNames] = namesBeside(given, word);
			return writeAt(path.join(path.dirname(given), name), { text, overwrite: false, otherNames });
		},
	};
}

/** Files that are written beside one, before a caller has to name the next itself. */
const mostBeside = 1_000;

function namesBeside(file: string, word: ResultWord): readonly string[] {
	const { name, ext } = path.parse(file);
	// Of a file that was written so, the next number.
	const stem = name.replace(new RegExp(`(.)\\.${word}(?:-\\d+)?$`), "$1");
	return Array.from({ length: mostBeside }, (_, index) => `${stem}.${word}${index === 0 ? "" : `-${index + 1}`}${ext}`);
}

function absolute(given: string, workingDirectory: string): string {
	if (given === "" || given.includes("\0") || given.length > longestPath) {
		throw new PalimpsestError(
			"invalid_argument",
			`Expected a path to be a text of 1 to ${longestPath} characters without a NUL among them.`,
		);
	}
	return path.resolve(workingDirectory, given);
}

/** The real path of the nearest folder above a path that is there. */
async function realFolderAbove(file: string): Promise<string> {
	const folder = path.dirname(file);
	return realpath(folder).catch(() => (folder === file ? folder : realFolderAbove(folder)));
}

/** A path in an error: bounded, on one line. */
function shown(given: string): string {
	return JSON.stringify(given.length > 300 ? `${given.slice(0, 300)}…` : given);
}

function asPalimpsestError(error: unknown, code: "unreadable_file" | "unwritable_file", what: string): PalimpsestError {
	if (error instanceof PalimpsestError) return error;
	const { code: cause } = error as NodeJS.ErrnoException;
	const isMissing = cause === "ENOENT" || cause === "ENOTDIR";
	const reason = isMissing ? "there is no such file or folder" : String(cause);
	return new PalimpsestError(code, `${what}: ${reason}.`, { cause: error });
}
