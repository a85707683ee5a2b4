import { constants } from "node:os";

const ending = ["SIGTERM", "SIGINT", "SIGHUP"] as const;

/** Exits with 0 once `end` has run, successful or not; at a second signal at once, as if it had not been caught. */
export function endBySignal(end: (signal: string) => Promise<void>): void {
	let isEnding = false;
	for (const signal of ending) {
		process.on(signal, () => {
			if (isEnding) process.exit(128 + constants.signals[signal]);
			isEnding = true;
			void end(signal).finally(() => process.exit(0));
		});
	}
}

/** Resolves at the first signal to end; a second one ends the process as if it had not been caught. */
export function untilSignal(): Promise<string> {
	return new Promise((resolve) => {
		for (const signal of ending) {
			process.once(signal, () => {
				process.once(signal, () => process.exit(128 + constants.signals[signal]));
				resolve(signal);
			});
		}
	});
}
