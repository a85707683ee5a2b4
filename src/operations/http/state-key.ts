import type { Environment } from "../../engine/policy/layers.ts";
import { PalimpsestError } from "../../errors.ts";

/** The key that the processes behind a balancer share, of 32 bytes or more; `undefined` without one. Throws `invalid_argument`. */
export function stateKeyIn({ PALIMPSEST_STATE_KEY: key = "" }: Environment): string | undefined {
	if (key === "" || Buffer.byteLength(key) >= 32) return key || undefined;
	const message = "Expected PALIMPSEST_STATE_KEY of 32 bytes or more. `openssl rand -hex 32` makes one.";
	throw new PalimpsestError("invalid_argument", message);
}
