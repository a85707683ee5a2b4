/** The time, as far as retrying needs it; tests give their own. */
export interface Clock {
	/** Milliseconds since the epoch. */
	readonly now: () => number;
	/** Resolves after that many ms; rejects with the signal's reason as soon as that is aborted. */
	readonly sleep: (ms: number, signal: AbortSignal) => Promise<void>;
}

export const systemClock: Clock = {
	now: () => Date.now(),
	sleep: (ms, signal) =>
		new Promise((resolve, reject) => {
			signal.throwIfAborted();
			const end = (settle: () => void) => {
				clearTimeout(timer);
				signal.removeEventListener("abort", onAbort);
				settle();
			};
			const onAbort = () => end(() => reject(signal.reason));
			const timer = setTimeout(() => end(resolve), ms);
			signal.addEventListener("abort", onAbort);
		}),
};
