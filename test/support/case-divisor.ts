import { isWhole } from "./breadth.ts";

/** By how much tests divide the number of their random cases: more under `npm run mutation`, which runs them for each mutant. */
export const caseDivisor = process.env.MUTATION_TESTS === undefined ? (isWhole ? 1 : 3) : 10;

export function numberOfCases(full: number): number {
	return Math.ceil(full / caseDivisor);
}

/** Turns the least count over all random cases into one over those that are tested, with room for chance. */
export function leastOfCases(full: number): number {
	return caseDivisor === 1 ? full : Math.floor(full / caseDivisor / 2);
}
