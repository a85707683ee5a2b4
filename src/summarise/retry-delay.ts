/** How often and how slowly a request is sent again. */
export interface RetryPolicy {
	/** Retries after the first try. */
	readonly maxRetries: number;
	/** Wait before the first retry, in ms; it doubles with each further one. */
	readonly baseDelayMs: number;
	/**
	 * Share of a wait that chance may add to it, from 0 (never) to 1 (at most twice the wait), so that many clients do
	 * not come back at one moment. It never makes a wait shorter.
	 */
	readonly jitter: number;
	/** Longest wait that a `Retry-After` can ask for, in ms. */
	readonly longestRetryAfterMs: number;
}

/** Three retries after 2, 4 and 8 s (seed 4, task 2), without jitter, since the seed's waits are exact. */
export const defaultRetryPolicy: RetryPolicy = {
	maxRetries: 3,
	baseDelayMs: 2_000,
	jitter: 0,
	longestRetryAfterMs: 60_000,
};

/** What a wait depends on. */
export interface RetryDelayParameters {
	readonly policy: RetryPolicy;
	/** Which retry it is before, from 1. */
	readonly retry: number;
	/** What the endpoint asked for, in ms; `undefined` where it did not. */
	readonly retryAfterMs: number | undefined;
	/** A number from 0 up to, not including, 1. */
	readonly random: () => number;
}

/** The wait before a retry, in ms: what the endpoint asks for, up to the longest allowed; else the backoff's own. */
export function retryDelay({ policy, retry, retryAfterMs, random }: RetryDelayParameters): number {
	const wait =
		retryAfterMs === undefined
			? policy.baseDelayMs * 2 ** (retry - 1)
			: Math.min(retryAfterMs, policy.longestRetryAfterMs);
	return wait + Math.floor(wait * policy.jitter * random());
}
