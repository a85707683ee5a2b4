import { constants } from "node:buffer";
import { readFile, stat } from "node:fs/promises";
import { PalimpsestError } from "../errors.ts";

/** Reads a file, or standard input where the name is `-`. */
export function readInput(file: string): Promise<Buffer> {
	return file === "-" ? readStandardInput() : readRegularFile(file);
}

/**
 * Reads input as UTF-8 text without a byte order mark.
 *
 * @throws PalimpsestError `unreadable_file`; `payload_too_large` for more than a text can hold.
 */
export async function readText(file: string): Promise<string> {
	return textOf(await readInput(file));
}

/** The text of input, as `readText` answers it. */
export function textOf(bytes: Buffer): string {
	if (bytes.length > constants.MAX_STRING_LENGTH) {
		const most = constants.MAX_STRING_LENGTH;
		throw new PalimpsestError("payload_too_large", `Cannot take ${bytes.length} bytes of text, at most ${most}.`);
	}
	const text = bytes.toString("utf8");
	return text.startsWith("\uFEFF") ? text.slice(1) : text;
}

async function readStandardInput(): Promise<Buffer> {
	const chunks: Buffer[] = [];
	for await (const chunk of process.stdin) chunks.push(chunk);
	return Buffer.concat(chunks);
}

async function readRegularFile(file: string): Promise<Buffer> {
	try {
		const about = await stat(file);
		if (!about.isFile()) {
			const kind = about.isDirectory() ? "a folder" : "no regular file";
			throw new PalimpsestError(
				"unreadable_file",
				`Cannot read ${file}: it is ${kind}. Name a file, or - for standard input.`,
			);
		}
		return await readFile(file);
	} catch (error) {
		if (error instanceof PalimpsestError) throw error;
		const { code } = error as NodeJS.ErrnoException;
		const reason = code === "ENOENT" || code === "ENOTDIR" ? "there is no such file" : String(code);
		throw new PalimpsestError("unreadable_file", `Cannot read ${file}: ${reason}.`, { cause: error });
	}
}
