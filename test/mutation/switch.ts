import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

/** What the instrumented sources ask, in the process that runs the tests. */
export const mutation = {
	/** The number of the mutant that replaces its original; none has -1. */
	active: -1,
	/** How often the mutant was reached, and how often it may be: a loop that never ends is stopped there. */
	hits: 0,
	mostHits: Number.POSITIVE_INFINITY,
	/** Counts for each mutant how often its place is reached. */
	counts: undefined as Uint32Array | undefined,
};

export function isActiveMutant(mutant: number): boolean {
	if (mutation.active !== mutant) return false;
	mutation.hits += 1;
	if (mutation.hits > mutation.mostHits) throw new Error(`The mutant was reached ${mutation.hits} times.`);
	return true;
}

export function coverMutants(...mutants: readonly number[]): void {
	const { counts } = mutation;
	if (!counts) return;
	for (const mutant of mutants) counts[mutant] = (counts[mutant] ?? 0) + 1;
}

let builtFiles: Readonly<Record<string, string>> | undefined;

/** Imports a module by the path of its TypeScript file, or one that is not ours. */
export function importBuilt(file: string): Promise<unknown> {
	builtFiles ??= JSON.parse(readFileSync(process.env.MUTATION_BUILT_FILES ?? "", "utf8")) as Record<string, string>;
	const built = builtFiles[file];
	return import(built === undefined ? file : pathToFileURL(built).href);
}
