import { parseJsonObject } from "../../engine/conversation/json.js";
/** Texts that were written or used within this time, in ms, are safe from every sweep. */
export const safeForMs = 3_600_000;
/**
 * An automatic sweep waits this long before it removes a large share, in ms. By size it removes nothing that was used since: whoever
 * fills an archive, or sets a small size, must not delete what others use.
 */
export const secondThoughtsMs = 24 * safeForMs;
/** A share is small up to one in this many texts and bytes. */
const smallShare = 10;
/**
 * Deletes the oldest last use first. Texts that are too old go at once if a user requested the sweep, or if they are a
 * tenth of the archive or less. A larger share may be due to a wrong clock: a later sweep has to agree, after the
 * machine has run for another day, or, on a restarted or another machine, after a day by the clock. A time in the
 * future counts as new.
 */
export function decideSweep(state) {
	const { holdings, retention, time } = state;
	const oldestFirst = holdings.toSorted((a, b) => a.usedAt - b.usedAt);
	const isSafe = ({ usedAt }) => time.now - usedAt < safeForMs;
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
function confirmOld(old, { holdings, time: { now, unasked }, intent }) {
	const isSmall = (some) =>
		some.length * smallShare <= holdings.length && bytesOf(some) * smallShare <= bytesOf(holdings);
	if (!unasked || isSmall(old)) return { going: old, intent: undefined };
	// Only a wrong clock makes an intent in the future.
	const earlier = intent && intent.at <= now ? intent : undefined;
	if (earlier && !hasWaited(earlier, now, unasked)) return { going: [], intent: earlier };
	const agreed = old.filter(({ usedAt }) => earlier !== undefined && usedAt <= earlier.newest);
	if (earlier && isSmall(old.slice(agreed.length))) return { going: old, intent: undefined };
	return { going: agreed, intent: { ...unasked, at: now, newest: old.at(-1)?.usedAt ?? now } };
}
function hasWaited(intent, now, { uptime, machine }) {
	const hasRunOn = intent.machine === machine && uptime >= intent.uptime;
	return (hasRunOn ? uptime - intent.uptime : now - intent.at) >= secondThoughtsMs;
}
export function readIntent(text) {
	const { at, newest, uptime, machine } = parseJsonObject(text ?? "") ?? {};
	const areTimes = [at, newest, uptime].every((time) => Number.isFinite(time));
	return areTimes && typeof machine === "string" ? { at, newest, uptime, machine } : undefined;
}
export function sweepOf(holdings, removed) {
	const removedBytes = bytesOf(removed);
	const kept = holdings.length - removed.length;
	return { removed: removed.length, removedBytes, kept, keptBytes: bytesOf(holdings) - removedBytes };
}
function bytesOf(some) {
	return some.reduce((sum, { bytes }) => sum + bytes, 0);
}
