import { readFileSync, statSync } from "node:fs";
import { watchPolicyFile } from "../../config/watch-policy-file.ts";
import { PalimpsestError } from "../../errors.ts";
import type { Log } from "../../pipeline/log-event.ts";
import { type AuthToken, parseAuthTokens } from "./parse-auth-tokens.ts";

/** The tokens in force, which follow their file. */
export interface TokenList {
	current(): readonly AuthToken[];
	/** Has a listener called after each change. */
	onChange(listener: () => void): void;
	/** Ends the watch. */
	close(): void;
}

/** Where tokens come from: a file, a variable, or both. */
export interface TokenListOptions {
	readonly file?: string | undefined;
	/** What `PALIMPSEST_AUTH_TOKENS` holds. */
	readonly variable?: string | undefined;
	readonly log: Log;
	/** Time between two looks at the file, in milliseconds. Default 500. */
	readonly intervalMilliseconds?: number | undefined;
}

/**
 * Reads the tokens and follows their file. A file that is gone or cannot be used later leaves the tokens in force, with
 * an error in the log; an empty one lets nobody in.
 *
 * @throws PalimpsestError `unreadable_file` or `invalid_argument`, at the start only; also where there is no token at all.
 */
export function createTokenList({ file, variable, log, intervalMilliseconds }: TokenListOptions): TokenList {
	const ofVariable = parseAuthTokens(variable ?? "", "PALIMPSEST_AUTH_TOKENS");
	const read = (path: string) => [...parseAuthTokens(readText(path), `the tokens file ${path}`), ...ofVariable];
	let tokens = file === undefined ? ofVariable : read(file);
	if (tokens.length === 0) throw new PalimpsestError("invalid_argument", "Expected at least one token, got none.");
	if (file === undefined) return { current: () => tokens, onChange() {}, close() {} };

	warnOfReaders(file, log);
	const listeners: (() => void)[] = [];
	const keep = (error: unknown): void => {
		const why = error instanceof PalimpsestError ? error.message : "It cannot be read.";
		const message = `The tokens file was not taken, the tokens in force stay. ${why}`;
		log({ level: "error", message, data: { event: "auth_tokens_refused" } });
	};
	const close = watchPolicyFile({
		path: file,
		onChange() {
			try {
				tokens = read(file);
			} catch (error) {
				return keep(error);
			}
			warnOfReaders(file, log);
			const data = { event: "auth_tokens_changed", tokens: tokens.length };
			log({ level: "notice", message: "Tokens changed", data });
			for (const listener of listeners) listener();
		},
		onError: () => keep(new PalimpsestError("unreadable_file", "It is gone.")),
		intervalMilliseconds,
	});
	return { current: () => tokens, onChange: (listener) => void listeners.push(listener), close };
}

function readText(path: string): string {
	try {
		return readFileSync(path, "utf8");
	} catch (error) {
		const code = (error as NodeJS.ErrnoException).code ?? "unknown error";
		throw new PalimpsestError("unreadable_file", `Cannot read the tokens file ${path} (${code}).`, { cause: error });
	}
}

function warnOfReaders(path: string, log: Log): void {
	// Windows has no such modes. Whoever writes the file may have taken it away since it was read.
	const mode = process.platform === "win32" ? undefined : statSync(path, { throwIfNoEntry: false })?.mode;
	if (((mode ?? 0) & 0o077) === 0) return;
	const message = `The tokens file ${path} can be read by other users; chmod 600 mends that.`;
	log({ level: "warning", message, data: { event: "auth_tokens_readable" } });
}
