/** How much one principal may ask for. */
export interface Quotas {
	/** HTTP requests in a minute, where no token is asked for of one address; 0 for any number. */
	readonly requestsPerMinute: number;
	/** Calls under way at the same time, where no token is asked for of all clients; 0 for any number. */
	readonly concurrentCalls: number;
	/** Longest time that a call may take, in ms; 0 for any time. */
	readonly callMilliseconds: number;
	/** Sessions open at the same time, where no token is asked for of all clients; 0 for as many as the server has room for. */
	readonly sessions: number;
}

/** What holds unless told: a server without authentication has one user, who is trusted. */
export function defaultQuotas({ isAuthenticated }: { readonly isAuthenticated: boolean }): Quotas {
	const callMilliseconds = 300_000;
	if (!isAuthenticated) return { requestsPerMinute: 0, concurrentCalls: 0, callMilliseconds, sessions: 0 };
	return { requestsPerMinute: 600, concurrentCalls: 16, callMilliseconds, sessions: 100 };
}
