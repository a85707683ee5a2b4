import { timingSafeEqual } from "node:crypto";
import type { AuthToken } from "./parse-auth-tokens.ts";
import { sha256OfToken } from "./sha256-of-token.ts";

/**
 * The entry of a token. How long it takes tells nothing: digests of equal length are compared in constant time, all of
 * them.
 */
export function findToken(tokens: readonly AuthToken[], token: string): AuthToken | undefined {
	const digest = sha256OfToken(token);
	let found: AuthToken | undefined;
	for (const one of tokens) if (timingSafeEqual(one.digest, digest)) found = one;
	return found;
}
