import { createHash, timingSafeEqual } from "node:crypto";
import { readFileSync, statSync } from "node:fs";
import { watchPolicyFile } from "../../config/config.ts";
import { PalimpsestError } from "../../errors.ts";
import type { Log } from "../../operations/edit-record.ts";

/** One line of a list of tokens. */
export interface AuthToken {
	/** The principal. Several tokens may have the same one. */
	readonly name: string;
	/** SHA-256 of the token, 32 bytes. The token itself is not kept. */
	readonly digest: Buffer;
}

/** The tokens in force. They follow their file. */
export interface TokenList {
	current(): readonly AuthToken[];
	/** Calls a listener after each change. */
	onChange(listener: () => void): void;
	/** Ends the watch. */
	close(): void;
}

/** The source of tokens: a file, a variable, or both. */
export interface TokenListOptions {
	readonly file?: string | undefined;
	/** The value of `PALIMPSEST_AUTH_TOKENS`. */
	readonly variable?: string | undefined;
	readonly log: Log;
	/** Time between two looks at the file, in milliseconds. Default 500. */
	readonly intervalMilliseconds?: number | undefined;
}

/**
 * Reads the tokens and follows their file. If the file disappears or becomes unusable later, the tokens stay in force and
 * the log gets an error. An empty file lets nobody in.
 *
 * @throws PalimpsestError `unreadable_file` or `invalid_argument`, at the start only; also if there is no token at all.
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

const entryPattern = /^(?<name>[A-Za-z0-9][A-Za-z0-9._@-]{0,63}):(?:sha256:(?<hash>[0-9a-fA-F]{64})|(?<token>[^:]+))$/;
/** As RFC 6750 (2.1) spells a bearer token; 32 characters carry 128 bits even in hexadecimal. */
const tokenPattern = /^[A-Za-z0-9._~+/-]{32,512}=*$/;

/**
 * Reads a list of tokens: `NAME:TOKEN` or `NAME:sha256:HEX`, one a line. Empty lines and lines that begin with # are
 * ignored. Blanks and commas separate entries too, because an environment variable often cannot hold lines.
 *
 * @throws PalimpsestError `invalid_argument` that names the entry by its number and never quotes it.
 */
export function parseAuthTokens(text: string, source: string): AuthToken[] {
	const entries = text
		.split(/\r?\n/)
		.filter((line) => !line.trimStart().startsWith("#"))
		.flatMap((line) => line.split(/[\s,]+/))
		.filter((entry) => entry !== "");
	const owners = new Map<string, string>();
	return entries.map((entry, index) => {
		const token = parseEntry(entry);
		if (typeof token === "string") throw refused(source, index, token);
		const key = token.digest.toString("hex");
		const owner = owners.get(key);
		if (owner !== undefined && owner !== token.name) throw refused(source, index, "a token that no other name has");
		owners.set(key, token.name);
		return token;
	});
}

/**
 * The entry of a token. All digests are compared, each in constant time, so that the time taken reveals nothing.
 */
export function findToken(tokens: readonly AuthToken[], token: string): AuthToken | undefined {
	const digest = sha256OfToken(token);
	let found: AuthToken | undefined;
	for (const one of tokens) if (timingSafeEqual(one.digest, digest)) found = one;
	return found;
}

/** The token, or a description of the expected form. */
function parseEntry(entry: string): AuthToken | string {
	const { name, hash, token } = entryPattern.exec(entry)?.groups ?? {};
	if (name === undefined) {
		return "NAME:TOKEN or NAME:sha256:HEX, with a name of 1 to 64 letters, digits and . _ @ - that begins with a letter or digit";
	}
	if (hash !== undefined) return { name, digest: Buffer.from(hash, "hex") };
	if (token !== undefined && tokenPattern.test(token)) return { name, digest: sha256OfToken(token) };
	return "a token of 32 to 512 characters of A-Z a-z 0-9 . _ ~ + / - (openssl rand -hex 32 makes one)";
}

function refused(source: string, index: number, expected: string): PalimpsestError {
	return new PalimpsestError("invalid_argument", `Expected entry ${index + 1} of ${source} to be ${expected}.`);
}

/** Tokens are long and random, so no salt is needed. */
function sha256OfToken(token: string): Buffer {
	return createHash("sha256").update(token).digest();
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
	// Windows has no such modes. The file may have been removed since it was read.
	const mode = process.platform === "win32" ? undefined : statSync(path, { throwIfNoEntry: false })?.mode;
	if (((mode ?? 0) & 0o077) === 0) return;
	const message = `The tokens file ${path} can be read by other users. Run chmod 600 on it.`;
	log({ level: "warning", message, data: { event: "auth_tokens_readable" } });
}
