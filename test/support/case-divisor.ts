import { isWhole } from "./breadth.ts";

const isMutation = process.env.MUTATION_TESTS !== undefined;

/** By how much tests divide the number of their random cases: more under `npm run mutation`, which runs them for each mutant. */
export const caseDivisor = isMutation ? 10 : isWhole ? 1 : 6;

/** Fewer may by chance hold too little of what a property counts. */
const fewestCases = isMutation ? 1 : 60;

export function numberOfCases(full: number): number {
	return Math.max(Math.min(full, fewestCases), Math.ceil(full / caseDivisor));
}

/** Turns the least count over all random cases into one over those that are tested, with room for chance. */
export function leastOfCases(full: number): number {
	return caseDivisor === 1 ? full : Math.floor(full / caseDivisor / 2);
}
