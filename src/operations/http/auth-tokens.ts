import { createHash, timingSafeEqual } from "node:crypto";
import { readFileSync, statSync } from "node:fs";
import { PalimpsestError } from "../../errors.ts";
import type { Log } from "../../log.ts";
import { watchFile } from "../../storage/files/watch.ts";

export interface AuthToken {
	readonly name: string;
	/** SHA-256 of the token. The token itself is not stored. */
	readonly digest: Buffer;
}

/** Names exactly one principal, the same for every server of this operator. */
export function principalOfToken({ name }: Pick<AuthToken, "name">): string {
	return `token ${name}`;
}

export type TokenList = ReturnType<typeof createTokenList>;

/** If the file becomes unusable later, the tokens in force stay. An empty file rejects everyone. Throws at the start. */
export function createTokenList(options: {
	readonly file?: string | undefined;
	readonly variable?: string | undefined;
	readonly log: Log;
	readonly intervalMilliseconds?: number | undefined;
}) {
	const { file, variable = "", log, intervalMilliseconds } = options;
	const ofVariable = parseAuthTokens(variable, "PALIMPSEST_AUTH_TOKENS");
	const read = (path: string) => [...parseAuthTokens(readText(path), `the tokens file ${path}`), ...ofVariable];
	let tokens: readonly AuthToken[] = file === undefined ? ofVariable : read(file);
	if (tokens.length === 0) throw new PalimpsestError("invalid_argument", "Expected at least one token, got none.");
	const listeners: ((tokens: readonly AuthToken[]) => void)[] = [];
	const keep = (why: string): void => {
		const message = `Kept the previous tokens. ${why}`;
		log({ level: "error", message, data: { event: "auth_tokens_refused" } });
	};
	const watch = (path: string): (() => void) => {
		warnOfReaders(path, log);
		const onChange = (): void => {
			try {
				tokens = read(path);
			} catch (error) {
				keep(error instanceof PalimpsestError ? error.message : "The tokens file cannot be read.");
				return;
			}
			warnOfReaders(path, log);
			const data = { event: "auth_tokens_changed", tokens: tokens.length };
			log({ level: "notice", message: "Tokens changed", data });
			for (const listener of listeners) listener(tokens);
		};
		return watchFile({ path, onChange, onGone: () => keep("The tokens file was removed."), intervalMilliseconds });
	};
	return {
		current: () => tokens,
		onChange: (listener: (tokens: readonly AuthToken[]) => void) => void listeners.push(listener),
		close: file === undefined ? () => undefined : watch(file),
	};
}

const entryPattern = /^(?<name>[A-Za-z0-9][A-Za-z0-9._@-]{0,63}):(?:sha256:(?<hash>[0-9a-fA-F]{64})|(?<token>[^:]+))$/;
/** The form of a bearer token in RFC 6750 (2.1); 32 characters have 128 bits even in hexadecimal. */
const tokenPattern = /^[A-Za-z0-9._~+/-]{32,512}=*$/;

/** Blanks and commas separate entries too: an environment variable often cannot hold lines. Never quotes an entry. */
function parseAuthTokens(text: string, source: string): AuthToken[] {
	const entries = text.replace(/(?<=^|\n)\s*#[^\n]*/g, "").split(/[\s,]+/);
	const owners = new Map<string, string>();
	return entries.filter(Boolean).map((entry, index) => {
		const refuse = (expected: string): never => {
			throw new PalimpsestError("invalid_argument", `Expected entry ${index + 1} of ${source} to be ${expected}.`);
		};
		const { name = "", hash, token = "" } = entryPattern.exec(entry)?.groups ?? {};
		const names = "a name of 1 to 64 letters, digits and . _ @ - that begins with a letter or digit";
		if (name === "") refuse(`NAME:TOKEN or NAME:sha256:HEX, with ${names}`);
		if (hash === undefined && !tokenPattern.test(token)) {
			refuse("a token of 32 to 512 characters of A-Z a-z 0-9 . _ ~ + / - (openssl rand -hex 32 makes one)");
		}
		const digest = hash === undefined ? sha256Of(token) : Buffer.from(hash, "hex");
		const key = digest.toString("hex");
		if ((owners.get(key) ?? name) !== name) refuse("a token that no other name has");
		owners.set(key, name);
		return { name, digest };
	});
}

/** All digests are compared, each in constant time, so that the time reveals nothing. */
export function findToken(tokens: readonly AuthToken[], token: string): AuthToken | undefined {
	const digest = sha256Of(token);
	return tokens.filter((one) => timingSafeEqual(one.digest, digest)).at(-1);
}

/** Tokens are long and random, so no salt is needed. */
function sha256Of(token: string): Buffer {
	return createHash("sha256").update(token).digest();
}

function readText(path: string): string {
	try {
		return readFileSync(path, "utf8");
	} catch (cause) {
		const { code = "unknown error" } = cause as NodeJS.ErrnoException;
		const reason = code === "ENOENT" ? "there is no such file" : code;
		throw new PalimpsestError("unreadable_file", `Cannot read the tokens file ${path}: ${reason}.`, { cause });
	}
}

function warnOfReaders(path: string, log: Log): void {
	// Windows has no such modes. The file may have been removed since it was read.
	const mode = process.platform === "win32" ? undefined : statSync(path, { throwIfNoEntry: false })?.mode;
	if (((mode ?? 0) & 0o077) === 0) return;
	const message = `The tokens file ${path} can be read by other users. Run chmod 600 on it.`;
	log({ level: "warning", message, data: { event: "auth_tokens_readable" } });
}
