import { readFile, stat } from "node:fs/promises";
import { PalimpsestError } from "../errors.ts";
import { invalidPolicy } from "../policy/errors.ts";
import { parsePolicyText } from "../policy/layers.ts";
import type { PolicyLayer } from "../policy/schema.ts";

const mostBytes = 1_000_000;

/**
 * Reads and checks a policy file.
 *
 * @throws PalimpsestError `unreadable_file`: missing, no regular file, no permission, over 1 MB; `invalid_policy`.
 */
export async function readPolicyFile(file: string): Promise<PolicyLayer> {
	const bytes = await readBytes(file);
	let text: string;
	try {
		text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
	} catch {
		throw invalidPolicy(file, ["not UTF-8 text"]);
	}
	return parsePolicyText(text, file);
}

async function readBytes(file: string): Promise<Uint8Array> {
	try {
		const about = await stat(file);
		if (!about.isFile()) throw unreadable(file, about.isDirectory() ? "it is a folder" : "it is no regular file");
		if (about.size > mostBytes) throw unreadable(file, `it has ${about.size} bytes, at most ${mostBytes} are read`);
		return await readFile(file);
	} catch (error) {
		if (error instanceof PalimpsestError) throw error;
		const { code } = error as NodeJS.ErrnoException;
		throw unreadable(file, code === "ENOENT" || code === "ENOTDIR" ? "there is no such file" : String(code), error);
	}
}

function unreadable(file: string, reason: string, cause?: unknown): PalimpsestError {
	return new PalimpsestError("unreadable_file", `Cannot read the policy file ${file}: ${reason}.`, { cause });
}
