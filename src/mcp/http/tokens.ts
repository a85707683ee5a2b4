import { createHash, timingSafeEqual } from "node:crypto";
import { readFileSync, statSync } from "node:fs";
import type { AuthInfo } from "@modelcontextprotocol/sdk/server/auth/types.js";
import { watchPolicyFile } from "../../config/config.ts";
import { PalimpsestError } from "../../errors.ts";
import type { Log } from "../../operations/edit-record.ts";

export interface Caller {
	/** Names exactly one principal: `token NAME`, or `jwt ISSUER SUBJECT`. */
	readonly principal: string;
	/** SHA-256 of the token, in hex, if the token is in our own list: the operator can remove it there. */
	readonly credential: string | undefined;
}

export interface AuthToken {
	readonly name: string;
	/** SHA-256 of the token. The token itself is not stored. */
	readonly digest: Buffer;
}

export function tokenCaller({ name, digest }: AuthToken): Caller {
	return { principal: `token ${name}`, credential: digest.toString("hex") };
}

/** The caller as the SDK carries it, without the token, so that nothing behind the check can reveal it. */
export function callerAuthInfo(caller: Caller, valid: Pick<AuthInfo, "scopes" | "expiresAt">): AuthInfo {
	return { ...valid, token: "", clientId: caller.principal, extra: { credential: caller.credential } };
}

export function requestCaller({ auth }: { readonly auth?: AuthInfo | undefined }): Caller | undefined {
	if (auth === undefined) return undefined;
	return { principal: auth.clientId, credential: auth.extra?.credential as string | undefined };
}

/** If the file becomes unusable later, the tokens in force stay. An empty file lets nobody in. Throws at the start. */
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
		const message = `The tokens file was not taken, the tokens in force stay. ${why}`;
		log({ level: "error", message, data: { event: "auth_tokens_refused" } });
	};
	const watch = (path: string): (() => void) => {
		warnOfReaders(path, log);
		const onChange = (): void => {
			try {
				tokens = read(path);
			} catch (error) {
				keep(error instanceof PalimpsestError ? error.message : "It cannot be read.");
				return;
			}
			warnOfReaders(path, log);
			const data = { event: "auth_tokens_changed", tokens: tokens.length };
			log({ level: "notice", message: "Tokens changed", data });
			for (const listener of listeners) listener(tokens);
		};
		return watchPolicyFile({ path, onChange, onError: () => keep("It is gone."), intervalMilliseconds });
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
export function parseAuthTokens(text: string, source: string): AuthToken[] {
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
		throw new PalimpsestError("unreadable_file", `Cannot read the tokens file ${path} (${code}).`, { cause });
	}
}

function warnOfReaders(path: string, log: Log): void {
	// Windows has no such modes. The file may have been removed since it was read.
	const mode = process.platform === "win32" ? undefined : statSync(path, { throwIfNoEntry: false })?.mode;
	if (((mode ?? 0) & 0o077) === 0) return;
	const message = `The tokens file ${path} can be read by other users. Run chmod 600 on it.`;
	log({ level: "warning", message, data: { event: "auth_tokens_readable" } });
}
