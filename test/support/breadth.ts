/**
 * `npm run test:all` tests everything there is. The other runs test a part: every twelfth real file of a kind, the first
 * among them, and a sixth of the random cases, whose seed is new each time.
 */
export const isWhole = process.env.EVERY_REAL_FILE !== undefined;

/** One of so many real files is tested. */
export const oneOf = isWhole ? 1 : 12;

/** Turns the least count over all files into that over the chosen ones. */
export const atLeast = (ofAll: number): number => Math.floor(ofAll / oneOf);
