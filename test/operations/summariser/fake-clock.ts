import type { Clock } from "../../../src/operations/summariser/summariser.ts";

/** A clock on which waiting takes no time, and that remembers each wait. */
export interface FakeClock extends Clock {
	/** The waits until now, in ms. */
	readonly waits: readonly number[];
}

/** Where the fake clock starts: a whole second. */
export const clockStart = Date.parse("2026-01-15T10:00:00Z");

/** `onWait` is called when a wait begins, before it is over. */
export function fakeClock(onWait: () => void = () => {}): FakeClock {
	let time = clockStart;
	const waits: number[] = [];
	return {
		waits,
		now: () => time,
		async sleep(ms, signal) {
			waits.push(ms);
			onWait();
			await Promise.resolve();
			signal.throwIfAborted();
			time += ms;
		},
	};
}
