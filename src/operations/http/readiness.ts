import { setTimeout as pause } from "node:timers/promises";

type Readiness =
	| { readonly ready: true }
	| { readonly ready: false; readonly reason: "shutting_down" | "archive_unavailable" | "archive_timeout" };

export type ReadinessCheck = ReturnType<typeof createReadiness>;

/** A balancer asks again and again. One that asks less often has its own way to learn that a server is gone. */
const askedTwiceWithinMs = 30_000;

/**
 * Whether requests can come, for the balancer in front of several servers. Checks at the same time share one probe of the archive,
 * and no other probe starts while one hangs.
 */
export function createReadiness(options: {
	readonly probe?: (() => Promise<unknown>) | undefined;
	readonly patienceMilliseconds?: number | undefined;
	readonly freshMilliseconds?: number | undefined;
}) {
	const { probe, patienceMilliseconds = 2_000, freshMilliseconds = 1_000 } = options;
	let isShuttingDown = false;
	let askedAt = { last: Number.NEGATIVE_INFINITY, before: Number.NEGATIVE_INFINITY };
	let last: { readonly found: Readiness; readonly at: number } | undefined;
	let underWay: Promise<Readiness> | undefined;

	const look = async (ask: () => Promise<unknown>): Promise<Readiness> => {
		const found = await ask().then<Readiness, Readiness>(
			() => ({ ready: true }),
			() => ({ ready: false, reason: "archive_unavailable" }),
		);
		last = { found, at: performance.now() };
		underWay = undefined;
		return found;
	};
	const lookInTime = async (): Promise<Readiness> => {
		if (!probe) return { ready: true };
		if (last && performance.now() - last.at < freshMilliseconds) return last.found;
		underWay ??= look(probe);
		const late: Readiness = { ready: false, reason: "archive_timeout" };
		return Promise.race([underWay, pause(patienceMilliseconds, late, { ref: false })]);
	};

	return {
		async current(): Promise<Readiness> {
			if (!isShuttingDown) askedAt = { last: performance.now(), before: askedAt.last };
			const found = isShuttingDown ? undefined : await lookInTime();
			return isShuttingDown || !found ? { ready: false, reason: "shutting_down" } : found;
		},
		/** Resolves once a balancer that asks has had `noticeMilliseconds` to send its requests elsewhere; at once if none asks. */
		async beginShutdown(noticeMilliseconds = 5_000): Promise<void> {
			isShuttingDown = true;
			if (performance.now() - askedAt.before < askedTwiceWithinMs) await pause(noticeMilliseconds);
		},
	};
}
