/** Exit codes of the command; 0 is done. */
export const exitCodes = {
	refusedInput: 1,
	usage: 2,
	/** `guard` printed the smallest view, and that is still over the budget. */
	doesNotFit: 3,
	defect: 70,
} as const;
