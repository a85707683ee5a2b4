import { expect } from "vitest";
import { PalimpsestError } from "../../../src/errors.ts";

/** The error that a call throws; fails where it throws none, or one that is not ours. */
export function refused(call: () => unknown): PalimpsestError {
	try {
		call();
	} catch (error) {
		expect(error).toBeInstanceOf(PalimpsestError);
		return error as PalimpsestError;
	}
	throw new Error("expected a refusal, but the call went through");
}

/** The problems that a refused policy lists. */
export function problemsOf(call: () => unknown): string[] {
	const error = refused(call);
	expect(error.code).toBe("invalid_policy");
	return error.message.split("\n- ").slice(1);
}
