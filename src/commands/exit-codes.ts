/** Exit codes of the command; 0 is done. */
export const exitCodes = { refusedInput: 1, usage: 2, defect: 70 } as const;
