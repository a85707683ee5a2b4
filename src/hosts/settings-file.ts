import { isUtf8 } from "node:buffer";
import { chmod, constants, copyFile, mkdir, readFile, realpath, rm, stat } from "node:fs/promises";
import path from "node:path";
import { PalimpsestError } from "../errors.ts";
import { readRegularFile, writeNewFile } from "../files/access.ts";

const byteOrderMark = "\uFEFF";

const mostBytes = 256 * 1024 * 1024;

/** Writes nothing. Throws `unreadable_file`, also for a file that is not UTF-8, and `invalid_json`. */
export async function planChange(file: string, change: (text?: string) => string | undefined) {
	const bytes = await readIfThere(file);
	if (bytes && !isUtf8(bytes)) {
		throw new PalimpsestError("unreadable_file", `Cannot change ${file}: it is not UTF-8. Save it as that first.`);
	}
	const before = bytes?.toString("utf8");
	const mark = before?.startsWith(byteOrderMark) ? byteOrderMark : "";
	try {
		const after = change(before?.slice(mark.length));
		return { before, after: after === undefined ? undefined : mark + after };
	} catch (error) {
		// The parsers and the comparison of values recurse once per level.
		if (error instanceof RangeError) {
			const message = `${file} cannot be changed: it is nested too deep to be read. It was left as it is.`;
			throw new PalimpsestError("invalid_json", message, { cause: error });
		}
		if (!(error instanceof PalimpsestError)) throw error;
		throw new PalimpsestError(error.code, `${file}: ${error.message}`, { cause: error });
	}
}

/** Throws `unreadable_file`, also for a named pipe, which could block for ever, and `payload_too_large`. */
export async function readIfThere(file: string): Promise<Buffer | undefined> {
	try {
		return await readRegularFile(file, mostBytes);
	} catch (error) {
		const { code } = ((error as Error).cause ?? {}) as NodeJS.ErrnoException;
		if (code === "ENOENT") return undefined;
		if (!(error instanceof PalimpsestError) || code !== undefined) throw error;
		throw new PalimpsestError(error.code, error.message.replace(/ Name a file, or - .*$/, ""), { cause: error });
	}
}

/** Writes all or nothing, and keeps permissions and links. Returns the path of a copy. Throws `unwritable_file`. */
export async function carryOutChange(file: string, change: Awaited<ReturnType<typeof planChange>>) {
	const { before, after } = change;
	try {
		const target = await realpath(file).catch(() => file);
		const backup = before === undefined || after === undefined ? undefined : await keepCopy(target);
		if (after === undefined) {
			await rm(target, { force: true });
			return undefined;
		}
		await mkdir(path.dirname(target), { recursive: true });
		const mode = before === undefined ? undefined : (await stat(target)).mode & 0o777;
		await writeNewFile({ file: target, text: after, overwrite: true });
		if (mode !== undefined) await chmod(target, mode);
		return backup;
	} catch (cause) {
		const { code } = cause as NodeJS.ErrnoException;
		throw new PalimpsestError("unwritable_file", `Cannot write ${file}: ${code}.`, { cause });
	}
}

/** Copies a file beside itself, under the first name that is free or holds the same bytes. */
async function keepCopy(file: string): Promise<string> {
	const bytes = await readFile(file);
	for (let number = 1; ; number += 1) {
		const copy = `${file}.before-palimpsest${number === 1 ? "" : `-${number}`}`;
		try {
			await copyFile(file, copy, constants.COPYFILE_EXCL);
			return copy;
		} catch (error) {
			if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
			const there = await readIfThere(copy).catch(() => undefined);
			if (there?.equals(bytes)) return copy;
		}
	}
}
