import type { Branch } from "./branch.ts";

/** A planning of the last request of a branch, with the characters of the conversation that it holds until it ends. */
interface Planning {
	readonly chars: number;
	readonly run: () => Promise<NonNullable<Branch["plan"]>>;
	readonly failed: (error: unknown) => void;
}

export type PlanQueue = ReturnType<typeof createPlanQueue>;

/** Each waits for its archive at times, and holds its conversation. */
const mostAtOnce = 4;
const mostWaitingChars = 8_000_000;

/**
 * Plans one request of a branch at a time, and few at once of all branches. Of the requests that come meanwhile, the last is
 * planned on. Where too much waits, the oldest is not planned: its branch says so, and its next request is planned on again.
 */
export function createPlanQueue({ mostChars = mostWaitingChars }: { readonly mostChars?: number | undefined } = {}) {
	const waiting = new Map<Branch, Planning & { readonly ended: () => void }>();
	const running = new Set<Branch>();
	const latest = new WeakMap<Branch, Promise<void>>();
	let chars = 0;

	const takeOut = (branch: Branch) => {
		const planning = waiting.get(branch);
		chars -= planning?.chars ?? 0;
		waiting.delete(branch);
		return planning;
	};
	const run = async (branch: Branch): Promise<void> => {
		const planning = takeOut(branch);
		if (!planning) return;
		running.add(branch);
		try {
			branch.plan = await planning.run();
			branch.unplanned = undefined;
		} catch (error) {
			branch.unplanned = "failed";
			planning.failed(error);
		}
		running.delete(branch);
		planning.ended();
		runNext();
	};
	const runNext = (): void => {
		for (const branch of waiting.keys()) {
			if (running.size >= mostAtOnce) return;
			if (!running.has(branch)) void run(branch);
		}
	};

	return {
		/** Resolves once it is planned, or will not be. Never rejects. */
		add(branch: Branch, planning: Planning): Promise<void> {
			takeOut(branch)?.ended();
			const planned = new Promise<void>((ended) => {
				waiting.set(branch, { ...planning, ended });
				chars += planning.chars;
				for (const [oldest, { ended: left }] of waiting) {
					if (waiting.size === 1 || chars <= mostChars) break;
					takeOut(oldest);
					oldest.unplanned = "busy";
					left();
				}
				runNext();
			});
			latest.set(branch, planned);
			return planned;
		},
		/** Resolves once the last request of a branch is planned, or will not be. Never rejects. */
		settled: async (branch: Branch): Promise<void> => latest.get(branch),
	};
}
