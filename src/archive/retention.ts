import type { Retention, Sweep } from "./archive.ts";

/** A stored text, as retention sees it. */
export interface Holding {
	readonly hash: string;
	readonly bytes: number;
	/** When it was last written or used, in ms since 1970. */
	readonly usedAt: number;
}

/** How long what was just written or used is safe from every sweep, in ms. */
export const safeForMs = 3_600_000;

/**
 * Which holdings have to go, those unused for longest first. A time in the future, as after a clock was set back, is
 * younger than an hour.
 */
export function chooseExpired(holdings: readonly Holding[], retention: Retention, now: number): Holding[] {
	const oldestFirst = holdings.toSorted((a, b) => a.usedAt - b.usedAt);
	let bytes = oldestFirst.reduce((sum, holding) => sum + holding.bytes, 0);
	const expired: Holding[] = [];
	for (const holding of oldestFirst) {
		const age = now - holding.usedAt;
		if (age < safeForMs || (age <= retention.maxAgeMs && bytes <= retention.maxBytes)) break;
		expired.push(holding);
		bytes -= holding.bytes;
	}
	return expired;
}

/** What a sweep did, from what there was and what was removed. */
export function sweepOf(holdings: readonly Holding[], removed: readonly Holding[]): Sweep {
	const bytesOf = (some: readonly Holding[]) => some.reduce((sum, { bytes }) => sum + bytes, 0);
	const removedBytes = bytesOf(removed);
	return {
		removed: removed.length,
		removedBytes,
		kept: holdings.length - removed.length,
		keptBytes: bytesOf(holdings) - removedBytes,
	};
}
