/** Why a server is not ready, for programs. */
export type UnreadyReason = "shutting_down" | "archive_unavailable" | "archive_timeout";

/** Whether a server can take calls now. */
export type Readiness = { readonly ready: true } | { readonly ready: false; readonly reason: UnreadyReason };

/** Tells a balancer whether to send calls here. */
export interface ReadinessCheck {
	/** Looks, or answers with what was found less than a second ago. */
	current(): Promise<Readiness>;
	/** From now on the server is not ready. */
	beginShutdown(): void;
}

/** What a check is made from. */
export interface ReadinessOptions {
	/** Fails where the archive cannot be used; absent where nothing is kept. */
	readonly probe?: (() => Promise<unknown>) | undefined;
	/** How long the probe may take, in ms. Default 2 000. */
	readonly patienceMilliseconds?: number | undefined;
	/** For how long an answer holds, in ms. Default 1 000. */
	readonly freshMilliseconds?: number | undefined;
}

const ready: Readiness = { ready: true };

/**
 * Makes the check. Whoever asks often makes the archive no busier: those who ask at the same time share one probe, and a
 * probe that hangs is the only one under way.
 */
export function createReadiness(options: ReadinessOptions): ReadinessCheck {
	const { probe, patienceMilliseconds = 2_000, freshMilliseconds = 1_000 } = options;
	let isShuttingDown = false;
	let last: { readonly found: Readiness; readonly at: number } | undefined;
	let underWay: Promise<Readiness> | undefined;

	const look = async (ask: () => Promise<unknown>): Promise<Readiness> => {
		let found: Readiness = ready;
		try {
			await ask();
		} catch {
			found = { ready: false, reason: "archive_unavailable" };
		}
		last = { found, at: performance.now() };
		underWay = undefined;
		return found;
	};
	const inTime = async (answer: Promise<Readiness>): Promise<Readiness> => {
		let timer: NodeJS.Timeout | undefined;
		const late = new Promise<Readiness>((resolve) => {
			timer = setTimeout(() => resolve({ ready: false, reason: "archive_timeout" }), patienceMilliseconds);
		});
		try {
			return await Promise.race([answer, late]);
		} finally {
			clearTimeout(timer);
		}
	};

	return {
		async current() {
			if (!isShuttingDown && probe) {
				if (last && performance.now() - last.at < freshMilliseconds) return last.found;
				underWay ??= look(probe);
				const found = await inTime(underWay);
				if (!isShuttingDown) return found;
			}
			return isShuttingDown ? { ready: false, reason: "shutting_down" } : ready;
		},
		beginShutdown() {
			isShuttingDown = true;
		},
	};
}
