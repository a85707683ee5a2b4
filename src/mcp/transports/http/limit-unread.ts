/** A stream to a client, as far as what waits on it goes. */
export interface Outlet {
	/** Bytes that wait for the client to read. */
	unread(): number;
	/** Ends the stream at once and lets go of what waits. */
	cut(): void;
}

/** Bounds what waits for clients that do not read. */
export interface UnreadLimit {
	/** To be called after something was written to an outlet. */
	written(outlet: Outlet): void;
	/** Bytes that wait now, on all outlets. */
	bytes(): number;
	/** Outlets that wait now. */
	size(): number;
}

/** Most that waits, in bytes: on one outlet, and on all; and how long nothing of it may be read. */
export interface UnreadLimits {
	readonly bytesOfOne: number;
	readonly bytesOfAll: number;
	readonly stallMilliseconds: number;
}

/** What is known of an outlet on which something waits. */
interface Watched {
	unread: number;
	/** When the client read something for the last time. */
	progressAt: number;
}

/**
 * Makes a limit of what waits for all clients of a server. A client whose stream is over it, or that reads nothing for too
 * long, is cut off; where all together are over it, the one is that has read nothing for longest.
 */
export function createUnreadLimit({ bytesOfOne, bytesOfAll, stallMilliseconds }: UnreadLimits): UnreadLimit {
	// In the order of their last progress.
	const watched = new Map<Outlet, Watched>();
	let timer: NodeJS.Timeout | undefined;

	const look = (outlet: Outlet, now: number): number => {
		const unread = outlet.unread();
		const known = watched.get(outlet);
		if (unread === 0 || !known || unread < known.unread) watched.delete(outlet);
		if (unread === 0) return 0;
		if (!known || unread < known.unread) watched.set(outlet, { unread, progressAt: now });
		else known.unread = unread;
		return unread;
	};
	const cut = (outlet: Outlet): void => {
		watched.delete(outlet);
		outlet.cut();
	};
	const lookAtAll = (): number => {
		const now = performance.now();
		let sum = 0;
		for (const outlet of [...watched.keys()]) sum += look(outlet, now);
		return sum;
	};
	const sweep = (): void => {
		lookAtAll();
		const since = performance.now() - stallMilliseconds;
		for (const [outlet, { progressAt }] of [...watched]) if (progressAt <= since) cut(outlet);
		if (watched.size > 0) return;
		clearInterval(timer);
		timer = undefined;
	};

	return {
		written(outlet) {
			if (look(outlet, performance.now()) > bytesOfOne) return cut(outlet);
			for (let sum = lookAtAll(); sum > bytesOfAll; sum = lookAtAll()) {
				const [slowest] = watched.keys();
				if (slowest) cut(slowest);
			}
			if (watched.size === 0) return;
			timer ??= setInterval(sweep, Math.min(5_000, stallMilliseconds / 4)).unref();
		},
		bytes: lookAtAll,
		size: () => watched.size,
	};
}
