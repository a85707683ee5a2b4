/**
 * By how much tests divide the number of their random cases: under `npm run mutation`, which runs them for each mutant, and
 * not otherwise.
 */
export const caseDivisor = process.env.MUTATION_TESTS === undefined ? 1 : 10;

export function numberOfCases(full: number): number {
	return Math.ceil(full / caseDivisor);
}
