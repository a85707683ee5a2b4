import { createHash } from "node:crypto";
import type { AuthInfo } from "@modelcontextprotocol/sdk/server/auth/types.js";
import { checkNamespace } from "../../archive/reference.ts";
import type { AuthToken } from "./tokens.ts";

/** The sender of a request, as its token says. */
export interface Caller {
	/** Stands for one principal and no other: `token NAME`, or `jwt ISSUER SUBJECT`. */
	readonly principal: string;
	/** SHA-256 of the token, in hex, if the token is in our own list: the operator can take such a token back. */
	readonly credential: string | undefined;
}

/** The owner of a token of our own list. */
export function callerOfToken({ name, digest }: AuthToken): Caller {
	return { principal: `token ${name}`, credential: digest.toString("hex") };
}

/** The caller as the SDK carries it. The token itself is left out, so that nothing behind the check can reveal it. */
export function authInfoOf(caller: Caller, { scopes, expiresAt }: Pick<AuthInfo, "scopes"> & { expiresAt: number }) {
	const { principal, credential } = caller;
	return { token: "", clientId: principal, scopes, expiresAt, extra: { credential } } satisfies AuthInfo;
}

/** The caller of a request that was let in; `undefined` if the server asks for no token. */
export function callerOf({ auth }: { readonly auth?: AuthInfo | undefined }): Caller | undefined {
	if (auth === undefined) return undefined;
	return { principal: auth.clientId, credential: auth.extra?.credential as string | undefined };
}

/**
 * The archive's namespace of a principal, within the operator's. 128 bits of SHA-256 over both names make it this
 * principal's alone; the words before them are for people who look at folders.
 */
export function namespaceOfPrincipal(operators: string, principal: string): string {
	const hash = createHash("sha256")
		.update(JSON.stringify([operators, principal]))
		.digest("hex")
		.slice(0, 32);
	const name = principal.slice(principal.lastIndexOf(" ") + 1);
	const words = name.toLowerCase().replace(/[^a-z0-9]+/g, "-");
	return checkNamespace(`${operators.slice(0, 14)}-${words.slice(0, 16)}-${hash}`);
}
