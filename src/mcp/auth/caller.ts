import type { AuthInfo } from "@modelcontextprotocol/sdk/server/auth/types.js";
import type { AuthToken } from "./parse-auth-tokens.ts";

/** Who a request comes from, as its token says. */
export interface Caller {
	/** Stands for one principal and no other: `token NAME`, or `jwt ISSUER SUBJECT`. */
	readonly principal: string;
	/** SHA-256 of the token, in hex, where it is one of our own list, from which it can be taken back. */
	readonly credential: string | undefined;
}

/** Who has a token of our own list. */
export function callerOfToken({ name, digest }: AuthToken): Caller {
	return { principal: `token ${name}`, credential: digest.toString("hex") };
}

/** The caller as the SDK carries it. The token itself is left out, so that nothing behind the check can tell it. */
export function authInfoOf(caller: Caller, { scopes, expiresAt }: Pick<AuthInfo, "scopes"> & { expiresAt: number }) {
	const { principal, credential } = caller;
	return { token: "", clientId: principal, scopes, expiresAt, extra: { credential } } satisfies AuthInfo;
}

/** The caller of a request that was let in; `undefined` where the server asks for no token. */
export function callerOf({ auth }: { readonly auth?: AuthInfo | undefined }): Caller | undefined {
	if (auth === undefined) return undefined;
	return { principal: auth.clientId, credential: auth.extra?.credential as string | undefined };
}
