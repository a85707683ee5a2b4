import type { PoolBinding } from "./call-in-pool.ts";
import { heldArguments } from "./held-arguments.ts";

/** What is called. */
interface Called {
	readonly name: string;
	readonly arguments?: Readonly<Record<string, unknown>> | undefined;
}

/**
 * Whether a call may take long enough to hold up other clients: it has large arguments, names a file of any size, or
 * searches an original of any size. An original in the memory of this thread can be searched here alone.
 */
export function belongsInPool({ name, arguments: given }: Called, { location }: PoolBinding): boolean {
	if (heldArguments(given) !== undefined) return true;
	if (name === "recall_original") return given?.grep !== undefined && location?.where !== "memory";
	return given?.path !== undefined;
}

/** The arguments of a call as bytes that are its own. */
export function bytesOfArguments(given: Readonly<Record<string, unknown>> | undefined): Uint8Array {
	return heldArguments(given) ?? new TextEncoder().encode(JSON.stringify(given ?? {}));
}
