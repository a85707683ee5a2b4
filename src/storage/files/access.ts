import { constants as bufferConstants, isAscii, isUtf8 } from "node:buffer";
import { constants, rmSync } from "node:fs";
import {
	type FileHandle,
	link,
	mkdtemp,
	open,
	readlink,
	realpath,
	rename,
	stat,
	unlink,
	writeFile,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { PalimpsestError } from "../../errors.ts";
import { putWhole } from "./disk.ts";

export type FileAccess = ReturnType<typeof createFileAccess>;

const resultWords = ["masked", "guarded", "compacted"] as const;

export type ResultWord = (typeof resultWords)[number];

export function isResultName(file: string): boolean {
	return new RegExp(`.\\.(?:${resultWords.join("|")})(?:-\\d+)?$`).test(path.parse(file).name);
}

/**
 * Paths are resolved before they are judged, and opened files are judged again, so that neither `..` nor a link leads
 * out. `roots` is called only if the folders do not allow a path, since a client may be slow. Every function throws
 * `path_not_allowed`, and the errors of reading or writing.
 */
export function createFileAccess(allowing: {
	readonly workingDirectory: string;
	readonly folders?: readonly string[] | undefined;
	readonly roots: () => Promise<readonly string[]>;
}) {
	const { workingDirectory, folders = [], roots } = allowing;
	const requireAllowed = async (real: string, given: string): Promise<void> => {
		const allowed = await realFolders(folders);
		if (allowed.some((folder) => isInside(folder, real))) return;
		const offered = await realFolders(await roots());
		if (offered.some((folder) => isInside(folder, real))) return;
		const all = [...allowed, ...offered];
		const advice =
			all.length === 0
				? "No folder is allowed here; start the server with --allow-path DIR."
				: `Files under ${all.join(", ")} are allowed; --allow-path DIR adds a folder.`;
		throw new PalimpsestError("path_not_allowed", `Files at ${shown(given)} are not allowed. ${advice}`);
	};

	/** An absent file is judged by its folder, so that no caller learns whether a file exists elsewhere. */
	const refuseMissing = async (file: string, given: string): Promise<void> =>
		requireAllowed(await realFolderAbove(file), given);

	/** Where the system does not tell the path of an open file, this notices only lasting changes. */
	const requireOpenedAllowed = async (handle: FileHandle, real: string, given: string): Promise<void> => {
		const opened = await pathOfOpened(handle);
		if (opened !== undefined) return requireAllowed(opened, given);
		const [about, judged] = [await handle.stat(), await stat(real)];
		if (about.ino === judged.ino && about.dev === judged.dev && (await realpath(real)) === real) return;
		throw new PalimpsestError("path_not_allowed", `The file at ${shown(given)} was moved while it was opened.`);
	};

	const writeAt = async (given: string, what: Omit<NewFile, "file">): Promise<string> => {
		const file = absolute(given, workingDirectory);
		let folder: Awaited<ReturnType<typeof holdFolder>> | undefined;
		try {
			folder = await holdFolder(path.dirname(file)).catch(async (error) => {
				await refuseMissing(file, given);
				throw error;
			});
			// The next free name must stay in an allowed folder, so the folder itself must be allowed.
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
		async read(given: string, maxBytes: number): Promise<Buffer> {
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
		write: (given: string, text: string, overwrite: boolean) => writeAt(given, { text, overwrite }),
		/** Next to `chat.json`, with `masked`: `chat.masked.json`, or `chat.masked-2.json` and so on. Returns its real path. */
		writeBeside(given: string, word: ResultWord, text: string): Promise<string> {
			const [name = "", ...otherNames] = namesBeside(given, word);
			return writeAt(path.join(path.dirname(given), name), { text, overwrite: false, otherNames });
		},
	};
}

const mostBeside = 1_000;

function namesBeside(file: string, word: ResultWord): readonly string[] {
	const { name, ext } = path.parse(file);
	// A file that was written next to another one gets the next number.
	const stem = name.replace(new RegExp(`(.)\\.${word}(?:-\\d+)?$`), "$1");
	return Array.from({ length: mostBeside }, (_, index) => `${stem}.${word}${index === 0 ? "" : `-${index + 1}`}${ext}`);
}

const longestPath = 32_767;

function absolute(given: string, workingDirectory: string): string {
	if (given === "" || given.includes("\0") || given.length > longestPath) {
		const expected = `Expected a path to be a text of 1 to ${longestPath} characters without a NUL among them.`;
		throw new PalimpsestError("invalid_argument", expected);
	}
	return path.resolve(workingDirectory, given);
}

async function realFolderAbove(file: string): Promise<string> {
	const folder = path.dirname(file);
	return realpath(folder).catch(() => (folder === file ? folder : realFolderAbove(folder)));
}

function shown(given: string): string {
	return JSON.stringify(given.length > 300 ? `${given.slice(0, 300)}…` : given);
}

function asPalimpsestError(
	error: unknown,
	code: "unreadable_file" | "unwritable_file",
	what: string,
	missing = "there is no such file or folder",
): PalimpsestError {
	if (error instanceof PalimpsestError) return error;
	return new PalimpsestError(code, `${what}: ${fileProblem(error, missing)}.`, { cause: error });
}

/** The problem with a file, in words and with the code of the system. */
export function fileProblem(error: unknown, missing = "there is no such file or folder"): string {
	const { code, message } = error as NodeJS.ErrnoException;
	if (code === "ENOENT" || code === "ENOTDIR") return missing;
	const words = code === undefined ? undefined : problems[code];
	return words === undefined ? (code ?? message) : `${words} (${code})`;
}

const problems: Readonly<Record<string, string>> = {
	EACCES: "this user may not use it",
	EPERM: "this user may not use it",
	EISDIR: "it is a folder",
	EROFS: "its disk is read-only",
	ENOSPC: "the disk is full",
	EMFILE: "too many files are open",
};

/** Both are absolute and free of links. */
function isInside(folder: string, file: string): boolean {
	const relative = path.relative(folder, file);
	return relative === "" || (relative !== ".." && !relative.startsWith(`..${path.sep}`) && !path.isAbsolute(relative));
}

async function realFolders(folders: readonly string[]): Promise<string[]> {
	const found = await Promise.all(folders.map((folder) => realpath(folder).catch(() => undefined)));
	return found.filter((folder) => folder !== undefined);
}

/** Opens a folder, so that it cannot be exchanged. Where the system cannot do this, `base` is only its name. */
async function holdFolder(folder: string) {
	const real = await realpath(folder);
	const byName = { real, base: real, release: async () => {} };
	if (process.platform !== "linux") return byName;
	const handle = await open(real, constants.O_RDONLY | constants.O_DIRECTORY);
	const opened = await pathOfOpened(handle);
	if (opened !== undefined) return { real: opened, base: `/proc/self/fd/${handle.fd}`, release: () => handle.close() };
	await handle.close();
	return byName;
}

function pathOfOpened(handle: FileHandle): Promise<string | undefined> {
	return readlink(`/proc/self/fd/${handle.fd}`).catch(() => undefined);
}

/** Puts a text that is too large for an answer into a file; returns its path. */
export type Spill = (name: string, text: string) => Promise<string>;

/** Only this user may enter the folder; it is removed when the process ends. */
export function createSpill(): Spill {
	let made: Promise<string> | undefined;
	let count = 0;
	const makeFolder = async (): Promise<string> => {
		const folder = await mkdtemp(path.join(tmpdir(), "palimpsest-"));
		process.once("exit", () => rmSync(folder, { recursive: true, force: true }));
		return folder;
	};
	return async (name, text) => {
		made ??= makeFolder();
		const fileName = `${++count}-${name}.json`;
		try {
			const file = path.join(await made, fileName);
			await writeFile(file, text, { mode: 0o600, flag: "wx" });
			return file;
		} catch (cause) {
			const reason = (cause as NodeJS.ErrnoException).code;
			const message = `The answer is too large to send, and there is no place to store it (${reason}).`;
			throw new PalimpsestError("payload_too_large", message, { cause });
		}
	};
}

interface NewFile {
	readonly file: string;
	readonly otherNames?: readonly string[];
	readonly text: string;
	readonly overwrite: boolean;
}

/** Complete or not at all, readable by its owner alone. Throws PalimpsestError `file_exists`; file system errors. */
export async function writeNewFile({ file, otherNames = [], text, overwrite }: NewFile): Promise<string> {
	const write = async (handle: FileHandle) => {
		await handle.writeFile(text, "utf8");
		await handle.sync();
	};
	return putWhole(file, write, async (temporary) => {
		if (overwrite) {
			await rename(temporary, file);
			return file;
		}
		for (const name of [path.basename(file), ...otherNames]) {
			const free = path.join(path.dirname(file), name);
			if (!(await linkNew(temporary, free))) continue;
			await unlink(temporary).catch(() => {});
			return free;
		}
		const message = "The output file exists already. Name a new one, or set overwrite to true.";
		throw new PalimpsestError("file_exists", message);
	});
}

/** `false` if the name is taken. A rename would replace the file. */
async function linkNew(temporary: string, file: string): Promise<boolean> {
	try {
		await link(temporary, file);
		return true;
	} catch (error) {
		if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
		return false;
	}
}

/** Does not wait for devices and pipes. Throws PalimpsestError `unreadable_file`, `payload_too_large`. */
export async function readRegularFile(file: string, maxBytes: number): Promise<Buffer> {
	let handle: FileHandle | undefined;
	try {
		handle = await open(file, constants.O_RDONLY | constants.O_NONBLOCK);
		return await readHandle(handle, file, maxBytes);
	} catch (error) {
		throw asPalimpsestError(error, "unreadable_file", `Cannot read ${file}`, "there is no such file");
	} finally {
		await handle?.close();
	}
}

async function readHandle(handle: FileHandle, file: string, maxBytes: number): Promise<Buffer> {
	const about = await handle.stat();
	if (!about.isFile()) {
		const kind = about.isDirectory() ? "a folder" : "not a regular file";
		const message = `Cannot read ${file}: it is ${kind}. Name a file, or - for standard input.`;
		throw new PalimpsestError("unreadable_file", message);
	}
	if (about.size > maxBytes) {
		const message = `${file} has ${about.size} bytes or more; limits.max_file_bytes in the policy allows ${maxBytes}.`;
		throw new PalimpsestError("payload_too_large", message);
	}
	// One byte more than the file had, to notice a file that grows while it is read.
	const buffer = releasableBytes(about.size + 1);
	let length = 0;
	while (length < buffer.length) {
		const { bytesRead } = await handle.read(buffer, length, buffer.length - length, length);
		if (bytesRead === 0) return refuseDatabase(buffer.subarray(0, length), file);
		length += bytesRead;
	}
	throw new PalimpsestError("unreadable_file", `${file} grew while it was read. Try again.`);
}

/** Several programs keep their sessions so. Source: https://www.sqlite.org/fileformat.html, "the database header". */
function refuseDatabase(bytes: Buffer, file: string): Buffer {
	if (!bytes.subarray(0, 16).equals(Buffer.from("SQLite format 3\0"))) return bytes;
	const message = `Cannot read ${file}: it is a database of SQLite. Export the session as JSON with the program that keeps it, and name that file.`;
	throw new PalimpsestError("unreadable_file", message);
}

/** Keeps a byte order mark. Releases the memory of `bytes`. Throws `invalid_json` if not UTF-8, or `payload_too_large`. */
export function decodeText(bytes: Uint8Array, name: string): string {
	// A text has at most as many characters as bytes, and exactly as many where all are ASCII.
	const most = bufferConstants.MAX_STRING_LENGTH;
	if (bytes.length > most) {
		const message = `${name} has ${bytes.length} bytes; at most ${most} can be edited.`;
		throw new PalimpsestError("payload_too_large", message);
	}
	if (!isUtf8(bytes)) {
		const message = `Expected UTF-8 text; ${name} holds other bytes. Save it as UTF-8, or unpack it first.`;
		throw new PalimpsestError("invalid_json", message);
	}
	// A `TextDecoder` takes two bytes for each character, even of ASCII.
	const { buffer, byteOffset, byteLength } = bytes;
	// ASCII is read as Latin-1: for a text of 5 MB that is about ten times as fast.
	const text = Buffer.from(buffer, byteOffset, byteLength).toString(isAscii(bytes) ? "latin1" : "utf8");
	if ("resizable" in buffer && buffer.resizable === true) (buffer as unknown as ShrinkableBuffer).resize(0);
	return text;
}

/** Part of ES2024, and in Node since version 20. */
interface ShrinkableBuffer extends ArrayBuffer {
	resize(length: number): void;
}

/** Memory that `decodeText` can release at once: the garbage collector may keep a large file too long. */
function releasableBytes(length: number): Buffer<ArrayBuffer> {
	const Shrinkable = ArrayBuffer as unknown as new (length: number, options: object) => ShrinkableBuffer;
	return Buffer.from(new Shrinkable(length, { maxByteLength: length }));
}
