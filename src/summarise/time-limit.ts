/** A signal that others abort, and that time may abort. */
export interface TimeLimit {
	readonly signal: AbortSignal;
	/** Whether it was the time. */
	readonly isOver: () => boolean;
	/** Frees the timer and the listeners. */
	readonly end: () => void;
}

/** Links signals into one, which is aborted after `ms` at the latest; without `ms`, only by them. */
export function startTimeLimit(signals: readonly (AbortSignal | undefined)[], ms?: number): TimeLimit {
	const controller = new AbortController();
	let isOver = false;
	const ends: (() => void)[] = [];
	for (const signal of signals) {
		if (!signal) continue;
		const abort = () => controller.abort(signal.reason);
		if (signal.aborted) abort();
		signal.addEventListener("abort", abort);
		ends.push(() => signal.removeEventListener("abort", abort));
	}
	if (ms !== undefined) {
		const timer = setTimeout(() => {
			isOver = !controller.signal.aborted;
			controller.abort();
		}, ms);
		ends.push(() => clearTimeout(timer));
	}
	return {
		signal: controller.signal,
		isOver: () => isOver,
		end: () => {
			for (const end of ends.splice(0)) end();
		},
	};
}
