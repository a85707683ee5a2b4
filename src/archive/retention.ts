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

/** How long a sweep that nobody asked for waits before it takes away much, in ms. */
export const secondThoughtsMs = 24 * safeForMs;

/** Of how many parts a sweep that nobody asked for may take away one at once. */
const smallShare = 10;

/** When a sweep runs. */
export interface SweepTime {
	/** In ms since 1970. */
	readonly now: number;
	/** Set where nobody asked for the sweep: the clock alone says then that something is old. */
	readonly unasked?: MachineTime | undefined;
}

/** Time that no change of the clock touches. */
export interface MachineTime {
	/** For how long the machine has run, in ms. */
	readonly uptime: number;
	/** The machine's name: times of two machines cannot be compared. */
	readonly machine: string;
}

/** What a sweep that nobody asked for would have taken away, kept beside the archive for a later one. */
export interface SweepIntent extends MachineTime {
	/** When it was put off, in ms since 1970. */
	readonly at: number;
	/** Time of the last use of the newest text that the sweep would delete, in ms since 1970. */
	readonly newest: number;
}

/** What a sweep takes away, and what it leaves for a later one to take away. */
export interface SweepDecision {
	/** Those unused for longest first. */
	readonly expired: readonly Holding[];
	readonly intent: SweepIntent | undefined;
}

/**
 * Decides what a sweep deletes. Texts that are too old are deleted at once if a user asked for the sweep, or if they are a
 * tenth of the archive or less. A larger share may be due to a wrong clock: it is deleted only if a later sweep agrees,
 * after the machine has run for another day, or, on a restarted or another machine, after a day by the clock. Texts over
 * the size limit are always deleted, those unused for longest first. A time in the future, as after a clock was set back,
 * counts as younger than an hour.
 */
export function decideSweep(what: {
	readonly holdings: readonly Holding[];
	readonly retention: Retention;
	readonly time: SweepTime;
	readonly intent: SweepIntent | undefined;
}): SweepDecision {
	const { holdings, retention, time } = what;
	const { now, unasked } = time;
	const oldestFirst = holdings.toSorted((a, b) => a.usedAt - b.usedAt);
	const isSafe = ({ usedAt }: Holding) => now - usedAt < safeForMs;
	const isOld = (holding: Holding) => !isSafe(holding) && now - holding.usedAt > retention.maxAgeMs;
	const old = oldestFirst.filter(isOld);
	const { going, intent } =
		unasked && !isSmall(old, holdings)
			? goingUnasked({ old, holdings, now, unasked, intent: what.intent })
			: { going: old, intent: undefined };

	let bytes = bytesOf(holdings) - bytesOf(going);
	const expired = [...going];
	for (const holding of oldestFirst.slice(going.length)) {
		if (bytes <= retention.maxBytes || isSafe(holding)) break;
		expired.push(holding);
		bytes -= holding.bytes;
	}
	return { expired, intent };
}

function goingUnasked(what: {
	readonly old: readonly Holding[];
	readonly holdings: readonly Holding[];
	readonly now: number;
	readonly unasked: MachineTime;
	readonly intent: SweepIntent | undefined;
}): { readonly going: readonly Holding[]; readonly intent: SweepIntent | undefined } {
	const { old, holdings, now, unasked, intent } = what;
	// One that was put off in the future was put off by a clock that was wrong.
	const earlier = intent && intent.at <= now ? intent : undefined;
	if (earlier && !hasWaited(earlier, now, unasked)) return { going: [], intent: earlier };
	const agreed = old.filter(({ usedAt }) => earlier !== undefined && usedAt <= earlier.newest);
	const others = old.slice(agreed.length);
	if (earlier && isSmall(others, holdings)) return { going: old, intent: undefined };
	return { going: agreed, intent: { ...unasked, at: now, newest: old.at(-1)?.usedAt ?? now } };
}

function hasWaited(intent: SweepIntent, now: number, { uptime, machine }: MachineTime): boolean {
	const hasRunOn = intent.machine === machine && uptime >= intent.uptime;
	return (hasRunOn ? uptime - intent.uptime : now - intent.at) >= secondThoughtsMs;
}

function isSmall(some: readonly Holding[], all: readonly Holding[]): boolean {
	return some.length * smallShare <= all.length && bytesOf(some) * smallShare <= bytesOf(all);
}

/** Reads what a sweep has left for a later one; `undefined` for any other text. */
export function readIntent(text: string | undefined): SweepIntent | undefined {
	try {
		const { at, newest, uptime, machine } = JSON.parse(text ?? "null") as SweepIntent;
		const areTimes = [at, newest, uptime].every((time) => Number.isFinite(time));
		return areTimes && typeof machine === "string" ? { at, newest, uptime, machine } : undefined;
	} catch {
		return undefined;
	}
}

/** What a sweep did, from what there was and what was removed. */
export function sweepOf(holdings: readonly Holding[], removed: readonly Holding[]): Sweep {
	const removedBytes = bytesOf(removed);
	return {
		removed: removed.length,
		removedBytes,
		kept: holdings.length - removed.length,
		keptBytes: bytesOf(holdings) - removedBytes,
	};
}

function bytesOf(some: readonly Holding[]): number {
	return some.reduce((sum, { bytes }) => sum + bytes, 0);
}
