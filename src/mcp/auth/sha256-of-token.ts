import { createHash } from "node:crypto";

/** SHA-256 of a token, 32 bytes. Tokens are long and random, so that no salt is needed. */
export function sha256OfToken(token: string): Buffer {
	return createHash("sha256").update(token).digest();
}
