import { constants as bufferConstants, isUtf8 } from "node:buffer";
import { randomUUID } from "node:crypto";
import { constants, rmSync } from "node:fs";
import {
	type FileHandle,
	link,
	mkdtemp,
	open,
	readlink,
	realpath,
	rename,
	rm,
	stat,
	writeFile,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { PalimpsestError } from "../errors.ts";

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

/** Whether a real path stands in a folder, or is it. Both are absolute and free of links. */
export function isInside(folder: string, file: string): boolean {
	const relative = path.relative(folder, file);
	return relative === "" || (relative !== ".." && !relative.startsWith(`..${path.sep}`) && !path.isAbsolute(relative));
}

/** The real paths of folders; those that do not exist allow nothing. */
export async function realFolders(folders: readonly string[]): Promise<string[]> {
	const found = await Promise.all(folders.map((folder) => realpath(folder).catch(() => undefined)));
	return found.filter((folder) => folder !== undefined);
}

/** A folder that stays the same one while it is held, whatever its name leads to by then. */
export interface HeldFolder {
	/** Where it stands. */
	readonly real: string;
	/** The path under which to use its files. On systems other than Linux the same, so that nothing is held. */
	readonly base: string;
	readonly release: () => Promise<void>;
}

/** Opens a folder and holds it. Fails with the error of the file system. */
export async function holdFolder(folder: string): Promise<HeldFolder> {
	const real = await realpath(folder);
	const byName = { real, base: real, release: async () => {} };
	if (process.platform !== "linux") return byName;
	const handle: FileHandle = await open(real, constants.O_RDONLY | constants.O_DIRECTORY);
	const opened = await pathOfOpened(handle);
	if (opened !== undefined) return { real: opened, base: `/proc/self/fd/${handle.fd}`, release: () => handle.close() };
	await handle.close();
	return byName;
}

/**
 * Where an open file or folder really stands, whatever its name leads to by now; `undefined` where the system does not
 * tell, which is everywhere but on Linux.
 */
export function pathOfOpened(handle: FileHandle): Promise<string | undefined> {
	return readlink(`/proc/self/fd/${handle.fd}`).catch(() => undefined);
}

/** Puts a text too large for an answer into a file; answers with its path. */
export type Spill = (name: string, text: string) => Promise<string>;

/**
 * Spills into a folder of its own that only this user may enter and that goes when the process ends. Fails with
 * `payload_too_large` where there is no place.
 */
export function createSpill(): Spill {
	let folder: Promise<string> | undefined;
	let count = 0;
	const makeFolder = async (): Promise<string> => {
		const made = await mkdtemp(path.join(tmpdir(), "palimpsest-"));
		process.once("exit", () => rmSync(made, { recursive: true, force: true }));
		return made;
	};
	return async (name, text) => {
		folder ??= makeFolder();
		count += 1;
		const fileName = `${count}-${name}.json`;
		try {
			const file = path.join(await folder, fileName);
			await writeFile(file, text, { mode: 0o600, flag: "wx" });
			return file;
		} catch (cause) {
			const reason = (cause as NodeJS.ErrnoException).code;
			const message = `The answer is too large to send, and there is no place to put it (${reason}).`;
			throw new PalimpsestError("payload_too_large", message, { cause });
		}
	};
}

/** A file to write whole or not at all. */
export interface WholeFile {
	readonly file: string;
	readonly pieces: Iterable<string | Buffer>;
	/** Permissions; by default only this user may read it. */
	readonly mode?: number;
	/** When it was written, in ms since 1970; by default now. */
	readonly at?: number;
	/** Whether it has to be on the disk before this returns, and not only in the system's memory; by default it has. */
	readonly sync?: boolean;
	/** Puts the temporary file in place; by default an older file gives way to it. */
	readonly place?: (temporary: string) => Promise<void>;
}

/** Writes a temporary file beside a file and puts it in place, so that the file is there whole or not at all. */
export async function writeWhole({ file, pieces, mode = 0o600, at, sync = true, place }: WholeFile): Promise<void> {
	const temporary = path.join(path.dirname(file), `.palimpsest-${randomUUID()}.tmp`);
	const { O_CREAT, O_EXCL, O_WRONLY, O_NOFOLLOW } = constants;
	// Windows has no O_NOFOLLOW.
	const handle = await open(temporary, O_CREAT | O_EXCL | O_WRONLY | (O_NOFOLLOW ?? 0), mode);
	try {
		try {
			for (const piece of pieces) await handle.writeFile(piece);
			if (at !== undefined) await handle.utimes(new Date(at), new Date(at));
			if (sync) await handle.sync();
		} finally {
			await handle.close();
		}
		await (place ? place(temporary) : rename(temporary, file));
	} finally {
		await rm(temporary, { force: true }).catch(() => {});
	}
}

/** A file to write. */
export interface NewFile {
	readonly file: string;
	/** Names in the same folder that are tried in order where the file's own is taken. */
	readonly otherNames?: readonly string[];
	readonly text: string;
	readonly overwrite: boolean;
}

/**
 * Writes a file that is there whole or not at all, readable by its owner alone. Answers with the path that it got.
 *
 * @throws PalimpsestError `file_exists` unless `overwrite`; the error of the file system.
 */
export async function writeNewFile({ file, otherNames = [], text, overwrite }: NewFile): Promise<string> {
	if (overwrite) {
		await writeWhole({ file, pieces: [text] });
		return file;
	}
	let written: string | undefined;
	const place = async (temporary: string) => {
		for (const name of [path.basename(file), ...otherNames]) {
			const named = path.join(path.dirname(file), name);
			if (written === undefined && (await linkNew(temporary, named))) written = named;
		}
	};
	await writeWhole({ file, pieces: [text], place });
	if (written !== undefined) return written;
	throw new PalimpsestError("file_exists", "The output file exists already. Name a new one, or set overwrite to true.");
}

/** Gives a file a name; `false` where the name is taken. A rename would replace the file that has it. */
async function linkNew(temporary: string, file: string): Promise<boolean> {
	try {
		await link(temporary, file);
		return true;
	} catch (error) {
		if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
		return false;
	}
}

/**
 * Reads a regular file of bounded size. The file is opened first and checked through its handle, so that the file that is
 * checked is the one that is read. Devices and pipes are refused without waiting for them.
 *
 * @throws PalimpsestError `unreadable_file`; `payload_too_large` past `maxBytes`.
 */
export async function readRegularFile(file: string, maxBytes: number): Promise<Buffer> {
	let handle: FileHandle | undefined;
	try {
		handle = await open(file, constants.O_RDONLY | constants.O_NONBLOCK);
		return await readHandle(handle, file, maxBytes);
	} catch (error) {
		if (error instanceof PalimpsestError) throw error;
		const { code } = error as NodeJS.ErrnoException;
		const reason = code === "ENOENT" || code === "ENOTDIR" ? "there is no such file" : String(code);
		throw new PalimpsestError("unreadable_file", `Cannot read ${file}: ${reason}.`, { cause: error });
	} finally {
		await handle?.close();
	}
}

/** Reads an open file; see `readRegularFile`. */
export async function readHandle(handle: FileHandle, file: string, maxBytes: number): Promise<Buffer> {
	const about = await handle.stat();
	if (!about.isFile()) {
		const kind = about.isDirectory() ? "a folder" : "no regular file";
		throw new PalimpsestError(
			"unreadable_file",
			`Cannot read ${file}: it is ${kind}. Name a file, or - for standard input.`,
		);
	}
	if (about.size > maxBytes) throw tooLarge(file, about.size, maxBytes);
	// One byte more than the file had, to notice a file that grows while it is read.
	const buffer = releasableBytes(about.size + 1);
	let length = 0;
	while (length < buffer.length) {
		const { bytesRead } = await handle.read(buffer, length, buffer.length - length, length);
		if (bytesRead === 0) return buffer.subarray(0, length);
		length += bytesRead;
	}
	throw new PalimpsestError("unreadable_file", `${file} grew while it was read. Try again.`);
}

function tooLarge(file: string, bytes: number, maxBytes: number): PalimpsestError {
	return new PalimpsestError(
		"payload_too_large",
		`${file} has ${bytes} bytes or more; limits.max_file_bytes in the policy allows ${maxBytes}.`,
	);
}

/**
 * Decodes UTF-8, keeping a byte order mark. The memory of bytes that `readRegularFile` or `readHandle` read is released.
 *
 * @throws PalimpsestError `invalid_json` where the bytes are not UTF-8: a byte replaced by U+FFFD would change the
 * conversation without notice; `payload_too_large` where they make more text than a string can hold.
 */
export function decodeText(bytes: Uint8Array, name: string): string {
	// A text has at most as many characters as bytes, and exactly as many where all are ASCII.
	if (bytes.length > bufferConstants.MAX_STRING_LENGTH) {
		throw new PalimpsestError(
			"payload_too_large",
			`${name} has ${bytes.length} bytes; ${bufferConstants.MAX_STRING_LENGTH} are the most that can be edited.`,
		);
	}
	if (!isUtf8(bytes)) throw new PalimpsestError("invalid_json", `Expected UTF-8 text; ${name} holds other bytes.`);
	// A `TextDecoder` takes two bytes for each character, even of ASCII.
	const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("utf8");
	releaseBytes(bytes);
	return text;
}

/** A buffer that can shrink. Node has had it since 20; it is part of ES2024. */
interface ShrinkableBuffer extends ArrayBuffer {
	resize(length: number): void;
}

type ShrinkableConstructor = new (length: number, options: { readonly maxByteLength: number }) => ShrinkableBuffer;

/** Bytes whose memory can be released at once: the garbage collector may keep a large file for too long. */
function releasableBytes(length: number): Buffer<ArrayBuffer> {
	const Shrinkable = ArrayBuffer as unknown as ShrinkableConstructor;
	return Buffer.from(new Shrinkable(length, { maxByteLength: length }));
}

/** Releases the memory of such bytes, after which they are empty; leaves any other bytes alone. */
function releaseBytes({ buffer }: Uint8Array): void {
	if ("resizable" in buffer && buffer.resizable === true) (buffer as unknown as ShrinkableBuffer).resize(0);
}
