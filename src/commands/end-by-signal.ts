import { constants } from "node:os";

/** The signals that end a server: an operator's, a terminal's, and that of a terminal which went away. */
const signals = ["SIGTERM", "SIGINT", "SIGHUP"] as const;

/**
 * Ends the process when a signal comes: with code 0 once `end` is done, whatever came of it; at a second signal at once,
 * with 128 and the signal's number, as if it had not been caught.
 */
export function endBySignal(end: (signal: string) => Promise<void>): void {
	let isEnding = false;
	for (const signal of signals) {
		process.on(signal, () => {
			if (isEnding) process.exit(128 + constants.signals[signal]);
			isEnding = true;
			void end(signal).finally(() => process.exit(0));
		});
	}
}
