import { randomUUID } from "node:crypto";
import { lstat, readFile, rename, rm } from "node:fs/promises";
import path from "node:path";
import type { Retention, Sweep } from "../archive.ts";
import { decideSweep, type Holding, readIntent, type SweepTime, safeForMs, sweepOf } from "../retention.ts";
import { inFolder, isAbsent, namesIn, putFile } from "./folder-access.ts";
import { inParallel } from "./in-parallel.ts";
import { type Layout, readName } from "./layout.ts";

const atATime = 16;

/** The stored texts, their sizes and when they were last used. */
export async function holdingsIn(layout: Layout): Promise<Holding[]> {
	const holdings: Holding[] = [];
	for (const bucket of layout.buckets) {
		const texts = (await namesIn(bucket)).filter((name) => readName(name).is === "text");
		await inParallel(texts, atATime, async (hash) => {
			const found = await statIfThere(path.join(bucket, hash));
			if (found?.isFile()) holdings.push({ hash, bytes: found.size, usedAt: found.mtimeMs });
		});
	}
	return holdings;
}

/** Applies the retention to the files of a namespace, and takes away what crashes left. */
export async function sweepFiles(options: {
	readonly layout: Layout;
	readonly retention: Retention;
	readonly time: SweepTime;
}): Promise<Sweep> {
	const { layout, retention, time } = options;
	const { now } = time;
	const holdings = await holdingsIn(layout);
	const before = await readFile(layout.sweepIntent, "utf8").catch(() => undefined);
	const { expired, intent } = decideSweep({ holdings, retention, time, intent: readIntent(before) });
	if (intent) {
		const pieces = [Buffer.from(JSON.stringify(intent))];
		await inFolder(layout.folder, () => putFile({ file: layout.sweepIntent, pieces, at: now, sync: false }));
	}
	const removed: Holding[] = [];
	for (const holding of expired) {
		const aside = `${layout.text(holding.hash)}.${randomUUID()}.swept`;
		// By another sweep at the same time it may be gone already.
		const isAside = await rename(layout.text(holding.hash), aside).then(
			() => true,
			(error) => refuseUnlessAbsent(error),
		);
		if (isAside && (await removeAside({ aside, text: layout.text(holding.hash), unusedSince: holding.usedAt }))) {
			removed.push(holding);
		}
	}
	const gone = new Set(removed.map(({ hash }) => hash));
	const kept = new Set(holdings.filter(({ hash }) => !gone.has(hash)).map(({ hash }) => hash));
	for (const bucket of [...layout.buckets, ...layout.callBuckets]) await sweepLeftovers({ bucket, kept, layout, now });
	if (!intent && before !== undefined) await rm(layout.sweepIntent, { force: true });
	return sweepOf(holdings, removed);
}

/**
 * Removes a text that was put aside, unless it was used between the look at it and the putting aside: then back it
 * goes, since somebody was told that it is kept.
 */
async function removeAside(what: {
	readonly aside: string;
	readonly text: string;
	readonly unusedSince: number;
}): Promise<boolean> {
	const { aside, text, unusedSince } = what;
	const found = await statIfThere(aside);
	if (found === undefined) return false;
	if (found.mtimeMs !== unusedSince) {
		await rename(aside, text);
		return false;
	}
	await rm(aside, { force: true });
	return true;
}

/** Takes away unfinished files, and what stood beside texts that are gone. */
async function sweepLeftovers(where: {
	readonly bucket: string;
	readonly kept: ReadonlySet<string>;
	readonly layout: Layout;
	readonly now: number;
}): Promise<void> {
	const { bucket, kept, layout, now } = where;
	const leftovers = (await namesIn(bucket)).filter((name) => {
		const named = readName(name);
		if (named.is === "temporary" || named.is === "set-aside") return true;
		return (named.is === "about" || named.is === "call") && !kept.has(named.hash);
	});
	await inParallel(leftovers, atATime, async (name) => {
		const file = path.join(bucket, name);
		const found = await statIfThere(file);
		if (found === undefined) return;
		const named = readName(name);
		if (named.is === "set-aside") {
			// A sweep that ended half-way: what it took goes back, and the next sweep judges it again.
			const aSweepIsAtIt = now - found.ctimeMs < safeForMs && found.ctimeMs <= now;
			if (!aSweepIsAtIt) await rename(file, layout.text(named.hash)).catch(refuseUnlessAbsent);
			return;
		}
		// Young ones may belong to a text that is being written.
		if (now - found.mtimeMs >= safeForMs) await rm(file, { force: true });
	});
}

async function statIfThere(file: string) {
	return lstat(file).catch((error) => {
		if (isAbsent(error)) return undefined;
		throw error;
	});
}

function refuseUnlessAbsent(error: unknown): false {
	if (isAbsent(error)) return false;
	throw error;
}
