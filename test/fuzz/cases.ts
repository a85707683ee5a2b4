import { shrink } from "./shrink.ts";
import { checkCase, drawCase, type Target } from "./target.ts";

/** A case that broke a promise. */
export interface Failure {
	readonly target: string;
	readonly seed: number;
	readonly message: string;
	/** Shrunk. */
	readonly input: unknown;
}

/** What became of a number of cases of one target. */
export interface Tally {
	done: number;
	refused: number;
	failed: number;
	milliseconds: number;
}

/** Runs one case. A failure comes back with its input shrunk; `onTry` is called before each time that an input is checked. */
export async function runCase(given: {
	readonly target: Target;
	readonly seed: number;
	readonly tally: Tally;
	readonly onTry: () => void;
}): Promise<Failure | undefined> {
	const { target, seed, tally, onTry } = given;
	const start = performance.now();
	onTry();
	const input = drawCase(target, seed);
	const error = await failureOf(target, structuredClone(input), tally);
	tally.milliseconds += performance.now() - start;
	if (error === undefined) return undefined;
	tally.failed += 1;
	const kind = kindOf(error);
	const smallest = await shrink(input, async (one) => {
		onTry();
		const other = await failureOf(target, one);
		return other !== undefined && kindOf(other) === kind;
	});
	const last = (await failureOf(target, structuredClone(smallest))) ?? error;
	return { target: target.name, seed, message: textOf(last), input: smallest };
}

/** Failures that a library throws later, apart from any call, belong to the case under way. */
let stray: unknown;
export const noteStray = (error: unknown) => {
	stray = error ?? new Error("an unknown error");
};

async function failureOf(target: Target, input: unknown, tally?: Tally): Promise<unknown> {
	try {
		const verdict = await checkCase(target, input);
		if (stray !== undefined) throw stray;
		if (tally) tally[verdict] += 1;
		return undefined;
	} catch (error) {
		return error ?? new Error("an unknown error");
	} finally {
		stray = undefined;
	}
}

/** Failures of one kind differ in numbers and in the texts that they quote only. */
export const kindOf = (error: unknown) =>
	String((error as Error)?.message ?? error)
		.replace(/[^a-z ]+.*/i, "")
		.slice(0, 60);

function textOf(error: unknown): string {
	const { stack, cause } = error as Error;
	return cause === undefined ? String(stack ?? error) : `${stack}\ncaused by ${textOf(cause)}`;
}
