/** How a run of a program on a task ended. Only the first two count for the share of solved tasks. */
export const outcomes = [
	"solved",
	"unsolved",
	// The program ended with an error or by a signal.
	"program_failed",
	"timeout",
	// No request of it could be billed: it did not use the proxy, or had no answer.
	"no_request",
	// The check could not be started, was ended, or took too long.
	"check_failed",
	// A person ended the trial. It is run again.
	"interrupted",
] as const;

export type Outcome = (typeof outcomes)[number];

/** One run of a program on a task, as a line of the results holds it. */
export interface TrialRun {
	readonly task: string;
	readonly arm: string;
	/** From 1. */
	readonly trial: number;
	/** A hash of the program, its arguments, the policy of the arm and the task: runs of different setups are not compared. */
	readonly setup: string;
	/** The start, in ms since 1970. */
	readonly at: number;
	readonly outcome: Outcome;
	/** Why the run failed, in words. */
	readonly reason?: string | undefined;
	readonly seconds: number;
	readonly requests: number;
	/** Tokens of the prompts, as the provider counts. */
	readonly tokens: number;
	readonly output_tokens: number;
	readonly tokens_left_out: number;
	/** US dollars of input and output, without the requests whose price is unknown. */
	readonly usd: number;
	readonly unpriced_requests: number;
	/** Requests whose answer reported no usage: their tokens are our own count. */
	readonly estimated_requests: number;
}

/** A run that is to be made. */
export type PlannedRun = Pick<TrialRun, "task" | "arm" | "trial">;

export function isMeasured({ outcome }: TrialRun): boolean {
	return outcome === "solved" || outcome === "unsolved";
}

/** Whether a run has to be made again where a trial continues. */
export function isOpen({ outcome }: Pick<TrialRun, "outcome">): boolean {
	return outcome === "interrupted";
}

/** The runs of a trial in their order: each task in all arms before the next one, and no arm always first. */
export function runOrder(given: {
	readonly tasks: readonly string[];
	readonly arms: readonly string[];
	readonly trials: number;
}): PlannedRun[] {
	const { tasks, arms, trials } = given;
	const turns = Array.from({ length: trials }, (_, index) => tasks.map((task) => ({ task, trial: index + 1 }))).flat();
	return turns.flatMap((turn, index) =>
		arms.map((_, place) => ({ ...turn, arm: arms[(place + index) % arms.length] as string })),
	);
}
