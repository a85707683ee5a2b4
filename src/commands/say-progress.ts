import type { SummaryProgress } from "../summariser/summariser.ts";
import { say } from "./shell.ts";

/** Tells the steps and retries of a model call on standard error. */
export function sayProgress(progress: SummaryProgress): void {
	if (progress.kind === "retry") {
		const { attempt, max_retries, delay, code } = progress;
		say(`retry ${attempt} of ${max_retries} in ${delay} s (${code})`);
	} else if (progress.phase !== "waiting") say(progress.phase.replaceAll("_", " "));
}
