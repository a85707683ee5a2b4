import { isUtf8 } from "node:buffer";
import { readFile, stat } from "node:fs/promises";
import { homedir } from "node:os";
import path from "node:path";
import { PalimpsestError } from "../errors.ts";
import { invalidPolicy } from "../policy/errors.ts";
import type { Environment } from "../policy/layers.ts";
import type { PolicyLayer } from "../policy/schema.ts";

export interface PolicyFileSearch {
	/** The file of the flag. Relative to `workingDirectory`; `~/` is the home folder. */
	readonly policyFile?: string | undefined;
	readonly environment: Environment;
	readonly workingDirectory: string;
	readonly home?: string | undefined;
	readonly platform?: NodeJS.Platform | undefined;
}

export const policyFileName = "palimpsest.toml";

/** The file of the flag, else of `PALIMPSEST_POLICY`, both unchecked, else in the working directory or the user's. */
export async function findPolicyFile(search: PolicyFileSearch): Promise<string | null> {
	const { environment, workingDirectory, home = homedir(), platform = process.platform } = search;
	const named = search.policyFile ?? (environment.PALIMPSEST_POLICY || undefined);
	if (named !== undefined) {
		return path.resolve(workingDirectory, /^~[/\\]/.test(named) ? path.join(home, named.slice(2)) : named);
	}
	const ofUser = (platform === "win32" ? environment.APPDATA : environment.XDG_CONFIG_HOME) ?? "";
	// The XDG specification says to ignore relative paths.
	const configuration = path.isAbsolute(ofUser) ? ofUser : path.join(home, ".config");
	for (const folder of [workingDirectory, path.join(configuration, "palimpsest")]) {
		const candidate = path.resolve(folder, policyFileName);
		try {
			await stat(candidate);
			return candidate;
		} catch (error) {
			if (!isMissing(error)) throw unreadable(candidate, String((error as NodeJS.ErrnoException).code), error);
		}
	}
	return null;
}

const mostBytes = 1_000_000;

/** Throws `unreadable_file` (missing, not a regular file, no permission, over 1 MB) or `invalid_policy`. */
export async function readPolicyFile(file: string): Promise<PolicyLayer> {
	const bytes = await readBytes(file);
	if (!isUtf8(bytes)) throw invalidPolicy(file, ["not UTF-8 text"]);
	const text = new TextDecoder().decode(bytes);
	// Hooks mostly find no policy file, and then need neither the parser nor the schema.
	const { parsePolicyText } = await import("../policy/layers.ts");
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
		const reason = isMissing(error) ? "there is no such file" : String((error as NodeJS.ErrnoException).code);
		throw unreadable(file, reason, error);
	}
}

const isMissing = (error: unknown) => ["ENOENT", "ENOTDIR"].includes(String((error as NodeJS.ErrnoException).code));

function unreadable(file: string, reason: string, cause?: unknown): PalimpsestError {
	return new PalimpsestError("unreadable_file", `Cannot read the policy file ${file}: ${reason}.`, { cause });
}
