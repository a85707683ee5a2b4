/** A clock that a test turns. What is to run later runs when its time has come, in order. */
export function createHandClock(start = Date.UTC(2026, 0, 1)) {
	let time = start;
	/** How far somebody has set the clock. */
	let set = 0;
	const waiting = new Set<{ readonly at: number; readonly run: () => Promise<void> }>();
	return {
		now: () => time + set,
		later(ms: number, run: () => Promise<void>): () => void {
			const one = { at: time + ms, run };
			waiting.add(one);
			return () => void waiting.delete(one);
		},
		/** The number of things that wait. */
		waiting: () => waiting.size,
		/** Each thing that runs comes to its end before time goes on. */
		async pass(ms: number): Promise<void> {
			const end = time + ms;
			for (;;) {
				const [next] = [...waiting].filter(({ at }) => at <= end).sort((a, b) => a.at - b.at);
				if (!next) break;
				waiting.delete(next);
				time = Math.max(time, next.at);
				await next.run();
			}
			time = end;
		},
		/** Somebody sets the clock, while nothing waits longer or shorter. */
		jump(ms: number): void {
			set += ms;
		},
		/** The machine sleeps: nothing runs in time. */
		sleep(ms: number): void {
			time += ms;
		},
	};
}
