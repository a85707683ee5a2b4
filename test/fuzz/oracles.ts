import { PalimpsestError } from "../../src/errors.ts";

/** Codes that tell of a defect of the product. */
const defects: ReadonlySet<string> = new Set(["internal", "broken_promise"]);

export type Settled<Value> =
	| { readonly is: "done"; readonly value: Value }
	| { readonly is: "refused"; readonly code: string };

/** What work came to. Throws for every error that has no type, and for the types of defects. */
export async function settle<Value>(work: () => Value | Promise<Value>, isWellFormed = true): Promise<Settled<Value>> {
	try {
		return { is: "done", value: await work() };
	} catch (error) {
		if (!(error instanceof PalimpsestError)) throw error;
		requireNoDefect(error, isWellFormed);
		return { is: "refused", code: error.code };
	}
}

/**
 * A document that no program writes may be left as it is because the verifier refuses the result: that is for what it is
 * there. Of a well-formed one no promise may be in danger.
 */
export function requireNoDefect(error: PalimpsestError, isWellFormed = true): void {
	if (!defects.has(error.code) || (!isWellFormed && error.code === "broken_promise")) return;
	throw new Error(`[${error.code}] ${error.message}`, { cause: error.cause ?? error });
}

export function require(holds: boolean, promise: string): void {
	if (!holds) throw new Error(`broken: ${promise}`);
}

/** Compares JSON values, the order of members included. */
export function requireSame(actual: unknown, expected: unknown, promise: string): void {
	const [one, other] = [JSON.stringify(actual), JSON.stringify(expected)];
	if (one === other) return;
	const at = [...(one ?? "")].findIndex((letter, index) => letter !== other?.[index]);
	const near = (text: string | undefined) => JSON.stringify(text?.slice(Math.max(0, at - 60), at + 60));
	throw new Error(`broken: ${promise}; at ${at} got ${near(one)}, expected ${near(other)}`);
}
