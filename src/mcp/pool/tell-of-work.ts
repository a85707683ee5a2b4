import type { CallProgress, WorkProgress } from "../call-progress.ts";

/** Tells of a call while it works. */
export interface WorkTeller {
	/** What is told from now on; nothing where somebody else tells how far the call is. */
	tell(phase: WorkProgress["phase"] | undefined): void;
	end(): void;
}

/** Calls that take less are not told of; those that take more, this often. In ms. */
const everyMilliseconds = 1_000;

/** Tells every second that a call goes on, and whether it still waits. `onProgress` is absent where nobody asked. */
export function tellOfWork(onProgress: ((progress: CallProgress) => void) | undefined): WorkTeller {
	if (!onProgress) return { tell() {}, end() {} };
	const began = performance.now();
	let current: WorkProgress["phase"] | undefined;
	const timer = setInterval(() => {
		const elapsed = (performance.now() - began) / 1_000;
		if (current) onProgress({ kind: "work", phase: current, elapsed });
	}, everyMilliseconds);
	return {
		tell(phase) {
			current = phase;
		},
		end: () => clearInterval(timer),
	};
}
