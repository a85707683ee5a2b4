import { parseJsonObject } from "../../engine/conversation/json.ts";
import type { Retention, Sweep } from "./archive.ts";

export interface Holding {
	readonly hash: string;
	readonly bytes: number;
	/** Last written or used, in ms since 1970. */
	readonly usedAt: number;
}

/** Texts that were written or used within this time, in ms, are safe from every sweep. */
export const safeForMs = 3_600_000;
/**
 * An automatic sweep waits this long before it removes a large share, in ms. By size it removes nothing that was used since: whoever
 * fills an archive, or sets a small size, must not delete what others use.
 */
export const secondThoughtsMs = 24 * safeForMs;
/** A share is small up to one in this many texts and bytes. */
const smallShare = 10;

/** `unasked` is set for an automatic sweep, which can only trust the clock. */
export interface SweepTime {
	readonly now: number;
	readonly unasked?: MachineTime | undefined;
}

interface MachineTime {
	readonly uptime: number;
	/** Times of two machines cannot be compared. */
	readonly machine: string;
}

/** An automatic sweep that waits for a later sweep to agree. */
export interface SweepIntent extends MachineTime {
	/** In ms since 1970. */
	readonly at: number;
	/** Last use of the newest text that it would delete, in ms since 1970. */
	readonly newest: number;
}

interface SweepState {
	readonly holdings: readonly Holding[];
	readonly retention: Retention;
	readonly time: SweepTime;
	readonly intent: SweepIntent | undefined;
}

/**
 * Deletes the oldest last use first. Texts that are too old go at once if a user requested the sweep, or if they are a
 * tenth of the archive or less. A larger share may be due to a wrong clock: a later sweep has to agree, after the
 * machine has run for another day, or, on a restarted or another machine, after a day by the clock. A time in the
 * future counts as new.
 */
export function decideSweep(state: SweepState) {
	const { holdings, retention, time } = state;
	const oldestFirst = holdings.toSorted((a, b) => a.usedAt - b.usedAt);
	const isSafe = ({ usedAt }: Holding) => time.now - usedAt < safeForMs;
	const old = oldestFirst.filter((holding) => !isSafe(holding) && time.now - holding.usedAt > retention.maxAgeMs);
	const { going, intent } = confirmOld(old, state);

	let bytes = bytesOf(holdings) - bytesOf(going);
	const expired = [...going];
	for (const holding of oldestFirst.slice(going.length)) {
		if (bytes <= retention.maxBytes || isSafe(holding)) break;
		if (time.unasked && time.now - holding.usedAt < secondThoughtsMs) break;
		expired.push(holding);
		bytes -= holding.bytes;
	}
	return { expired, intent };
}

function confirmOld(old: readonly Holding[], { holdings, time: { now, unasked }, intent }: SweepState) {
	const isSmall = (some: readonly Holding[]) =>
		some.length * smallShare <= holdings.length && bytesOf(some) * smallShare <= bytesOf(holdings);
	if (!unasked || isSmall(old)) return { going: old, intent: undefined };
	// Only a wrong clock makes an intent in the future.
	const earlier = intent && intent.at <= now ? intent : undefined;
	if (earlier && !hasWaited(earlier, now, unasked)) return { going: [], intent: earlier };
	const agreed = old.filter(({ usedAt }) => earlier !== undefined && usedAt <= earlier.newest);
	if (earlier && isSmall(old.slice(agreed.length))) return { going: old, intent: undefined };
	return { going: agreed, intent: { ...unasked, at: now, newest: old.at(-1)?.usedAt ?? now } };
}

function hasWaited(intent: SweepIntent, now: number, { uptime, machine }: MachineTime): boolean {
	const hasRunOn = intent.machine === machine && uptime >= intent.uptime;
	return (hasRunOn ? uptime - intent.uptime : now - intent.at) >= secondThoughtsMs;
}

export function readIntent(text: string | undefined): SweepIntent | undefined {
	const { at, newest, uptime, machine } = (parseJsonObject(text ?? "") ?? {}) as Partial<SweepIntent>;
	const areTimes = [at, newest, uptime].every((time) => Number.isFinite(time));
	return areTimes && typeof machine === "string" ? ({ at, newest, uptime, machine } as SweepIntent) : undefined;
}

export function sweepOf(holdings: readonly Holding[], removed: readonly Holding[]): Sweep {
	const removedBytes = bytesOf(removed);
	const kept = holdings.length - removed.length;
	return { removed: removed.length, removedBytes, kept, keptBytes: bytesOf(holdings) - removedBytes };
}

function bytesOf(some: readonly Holding[]): number {
	return some.reduce((sum, { bytes }) => sum + bytes, 0);
}
