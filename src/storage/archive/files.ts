import { createHash, randomUUID } from "node:crypto";
import { lstatSync, readFileSync, type Stats, statSync } from "node:fs";
import { readFile, rename, rm, utimes } from "node:fs/promises";
import path from "node:path";
import { setImmediate as nextTurn } from "node:timers/promises";
import { groupBy } from "../../engine/conversation/lists.ts";
import {
	bytesIfThere,
	holds,
	inFolder,
	inParallel,
	namesIn,
	openToRead,
	piecesOf,
	putEmptyFile,
	putFile,
	statIfThere,
	sync,
	undefinedIfAbsent,
} from "../files/disk.ts";
import type { Retention, Sweep } from "./archive.ts";
import {
	type About,
	type Driver,
	type Entry,
	mostRemembered,
	readAbout,
	rememberHash,
	type Stored,
	usingPlace,
	writeAbout,
} from "./driver.ts";
import { type Layout, layoutOf, longMark, readName } from "./files-layout.ts";
import { bucketsIn, holdingPages, holdingsIn, isText, textsIn } from "./files-listing.ts";
import { ambiguous, callKey, hexDigitsOfRef } from "./reference.ts";
import { decideSweep, type Holding, readIntent, type SweepTime, safeForMs, sweepOf } from "./retention.ts";

const atATime = 8;
/** Safe, since a sweep keeps every text used in the last hour. */
const renewAfterMs = 60_000;
/** The last uses of more texts are not compared before the first of them is read. */
const mostComparedTexts = 20_000;

/** Each original is a file of plain text, named by its SHA-256. Several processes may use the folder at once. */
export function createFilesDriver(options: {
	readonly folder: string;
	readonly namespace: string;
	readonly retention: Retention;
	readonly now: () => number;
	readonly mostCompared?: number | undefined;
}): Driver {
	const { folder, namespace, retention, now, mostCompared = mostComparedTexts } = options;
	const layout = layoutOf(path.join(folder, namespace));
	const verified = new Set<string>();
	const writing: Writing = { layout, verified, checked: new Map(), now, syncing: Promise.resolve() };

	const using = <T>(use: () => Promise<T>) => usingPlace(folder, use);
	return {
		location: folder,
		write: (entries, syncs) => using(() => writeEntries(entries, writing, syncs)),
		hashesFrom: (prefixes) =>
			using(async () => {
				const found: string[] = [];
				await inParallel([...groupBy(prefixes, layout.textFolder)], atATime, async ([bucket, some]) => {
					const names = await namesIn(bucket);
					const marked = new Set(names.filter((name) => name.endsWith(longMark)));
					const begins = (hash: string) => (prefix: string) =>
						hash.startsWith(prefix) && (prefix.length === hexDigitsOfRef || !marked.has(`${hash}${longMark}`));
					found.push(...names.filter((name) => isText(name) && some.some(begins(name))));
				});
				return found;
			}),
		read: (hash) =>
			using(async () => {
				const handle = await openToRead(layout.text(hash));
				if (handle === undefined) return undefined;
				const { mtimeMs } = await handle.stat();
				// On a read-only file system a text can be read, but not marked as used.
				await markUsed(layout.text(hash), mtimeMs, now()).catch(() => {});
				return readingFrom(folder, piecesOf(handle));
			}),
		distrust: (hash) => verified.delete(hash),
		aboutsOf: (hash) =>
			using(async () => {
				const names = (await namesIn(layout.textFolder(hash))).filter((name) => name.startsWith(`${hash}.`));
				const records = names.filter((name) => readName(name).is === "about");
				const read = await Promise.all(
					records.map((name) => readAboutFile(path.join(layout.textFolder(hash), name), readName(name).call)),
				);
				return read.flatMap((about) => about ?? []);
			}),
		find: (toolCallId) =>
			using(async () => {
				const call = callKey(toolCallId);
				const found: Stored[] = [];
				for (const name of await namesIn(layout.callFolder(call))) {
					const named = readName(name);
					if (named.is !== "call" || named.call !== call) continue;
					const about = await readAboutFile(layout.about(named.hash, call), call);
					const isStored = await statIfThere(layout.text(named.hash));
					if (isStored && about?.toolCallId === toolCallId) found.push({ hash: named.hash, about });
				}
				return found;
			}),
		async *hashes() {
			for (const bucket of await using(() => bucketsIn(layout.folder))) yield* await using(() => textsIn(bucket));
		},
		async *holdings(after) {
			const pages = holdingPages(layout, after, mostCompared);
			for (;;) {
				const { done, value } = await using(() => pages.next());
				if (done === true) return;
				yield value;
			}
		},
		// Synchronously, in a quarter of the time. The caller asks for a few at a time.
		peek: (hashes) => using(async () => hashes.map((hash) => bytesIfThere(layout.text(hash)))),
		claimSweep: () => using(() => claimSweep(layout.sweepMarker, now())),
		sweep: (time) => using(() => sweepFiles(layout, retention, time)),
		clear: () =>
			using(async () => {
				const texts = (await Promise.all((await bucketsIn(layout.folder)).map(textsIn))).flat();
				await rm(layout.folder, { recursive: true, force: true, maxRetries: 5 });
				verified.clear();
				return texts.length;
			}),
		close: async () => void (await writing.syncing),
	};
}

async function* readingFrom(folder: string, pieces: AsyncGenerator<Buffer>): AsyncGenerator<Buffer> {
	try {
		for (;;) {
			const { done, value } = await usingPlace(folder, () => pieces.next());
			if (done === true) return;
			yield value;
		}
	} finally {
		await pieces.return(undefined);
	}
}

async function readAboutFile(file: string, call: string): Promise<About | undefined> {
	const handle = await openToRead(file);
	if (handle === undefined) return undefined;
	return readAbout(await handle.readFile("utf8").finally(() => handle.close()), call);
}

interface Writing {
	readonly layout: Layout;
	readonly verified: Set<string>;
	/** By file, the time of its last change (ctime) when its content was last read and found right. */
	readonly checked: Map<string, number>;
	readonly now: () => number;
	/** The syncing of texts that were stored without waiting for the disk. */
	syncing: Promise<unknown>;
}

const knownAtOnce = 64;

/** Writes texts, then records, then the names that lead from calls to texts, so that a found text is always complete. */
async function writeEntries(given: readonly Entry[], writing: Writing, syncs: "before" | "after") {
	const { layout, verified, now } = writing;
	const entries: Entry[] = [];
	for (const [at, entry] of given.entries()) {
		if (!isKnown(entry, writing)) entries.push(entry);
		// Other calls go on between many files.
		if (at % knownAtOnce === knownAtOnce - 1) await nextTurn();
	}
	const texts = [...new Map(entries.map((entry) => [entry.hash, entry])).values()];
	const written = new Set<string>();
	const unsynced = { texts: new Set<string>(), folders: [] as string[] };
	await inParallel(texts, atATime, async (entry) => {
		const { hash, pieces } = entry;
		const isThere = await isStored(entry, writing);
		// Another process may have just written it.
		if (isThere ? !verified.has(hash) : syncs === "after") unsynced.texts.add(hash);
		if (isThere) return;
		const file = { file: layout.text(hash), at: now(), sync: syncs === "before" };
		await inFolder(layout.textFolder(hash), () => putFile({ ...file, pieces: pieces() }));
		written.add(hash);
	});
	const all = texts.map(({ hash }) => hash);
	await inParallel([...groupBy(all, layout.textFolder)], atATime, async ([folder, hashes]) => {
		await refuseCollisions(await namesIn(folder), written, layout);
		if (hashes.some((hash) => !verified.has(hash) || written.has(hash))) unsynced.folders.push(folder);
	});
	const syncAll = async () => {
		await inParallel([...unsynced.texts], atATime, (hash) => sync(layout.text(hash), "file"));
		await inParallel(unsynced.folders, atATime, (folder) => sync(folder));
		if (unsynced.folders.length > 0) await sync(layout.folder);
		// Another process may have just created the archive.
		for (const above of verified.size === 0 ? ["..", "../.."] : []) await sync(path.join(layout.folder, above));
		for (const hash of all) rememberHash(verified, hash);
	};
	const writeRecords = (of: readonly Entry[]) =>
		inParallel(of, atATime, (entry) => writeRecord(entry, written.has(entry.hash), writing));
	if (syncs === "before") await syncAll();
	// A record of redactions must last as long as its text.
	const isUrgent = ({ about }: Entry) => syncs === "before" || about.redactions > 0;
	await writeRecords(entries.filter(isUrgent));
	if (syncs === "after") {
		const later = writeRecords(entries.filter((entry) => !isUrgent(entry)));
		// A failure leaves the texts unverified, so that the next write of them syncs them.
		writing.syncing = Promise.allSettled([writing.syncing, later.then(syncAll)]);
	}
}

/** Each turn of an agent archives every earlier text again, so this asks the file system synchronously. */
function isKnown({ hash, about }: Entry, writing: Writing): boolean {
	const { layout, verified, now } = writing;
	if (!verified.has(hash)) return false;
	const options = { throwIfNoEntry: false } as const;
	const call = callKey(about.toolCallId);
	const [file, record] = [layout.text(hash), layout.about(hash, call)];
	try {
		const text = lstatSync(file, options);
		if (!text?.isFile() || text.size !== about.bytes || !isFresh(text.mtimeMs, now())) return false;
		if (!isRight({ file, found: text, check: (bytes) => hashOf(bytes) === hash }, writing)) return false;
		if (!isRecordRight(record, call, writing)) return false;
		return about.toolCallId === undefined || statSync(layout.call(call, hash), options) !== undefined;
	} catch {
		// The write that follows reports the reason.
		return false;
	}
}

function isRecordRight(file: string, call: string, writing: Writing): boolean {
	const found = lstatSync(file, { throwIfNoEntry: false });
	const check = (bytes: Buffer) => readAbout(bytes.toString("utf8"), call) !== undefined;
	return found !== undefined && isRight({ file, found, check }, writing);
}

function hashOf(bytes: Buffer): string {
	return createHash("sha256").update(bytes).digest("hex");
}

const mostReadAtOnce = 1 << 20;
/** Two changes within this time may have one time: file systems count it in steps of some ms. */
const settledAfterMs = 100;

/** Whether a file is unchanged since its last check, or else passes the check now. Large files are left to `holds`. */
function isRight(
	{ file, found, check }: { readonly file: string; readonly found: Stats; readonly check: (bytes: Buffer) => boolean },
	{ checked, now }: Writing,
): boolean {
	if (checked.get(file) === found.ctimeMs) return true;
	const readAt = now();
	if (!found.isFile() || found.size > mostReadAtOnce || !check(readFileSync(file))) return false;
	if (readAt - found.ctimeMs > settledAfterMs) rememberChecked(checked, file, found);
	return true;
}

function rememberChecked(checked: Map<string, number>, file: string, { ctimeMs }: Stats): void {
	if (checked.size >= mostRemembered) checked.clear();
	checked.set(file, ctimeMs);
}

function isFresh(usedAt: number, now: number): boolean {
	return usedAt <= now && now - usedAt < renewAfterMs;
}

async function isStored({ hash, about }: Entry, { layout, checked, now }: Writing): Promise<boolean> {
	const file = layout.text(hash);
	const found = await statIfThere(file);
	if (!found?.isFile() || found.size !== about.bytes) return false;
	const readAt = now();
	if (checked.get(file) !== found.ctimeMs) {
		if (!(await holds(file, hash))) return false;
		if (readAt - found.ctimeMs > settledAfterMs) rememberChecked(checked, file, found);
	}
	return markUsed(file, found.mtimeMs, now());
}

async function markUsed(file: string, usedAt: number, now: number): Promise<boolean> {
	if (isFresh(usedAt, now)) return true;
	const marked = utimes(file, new Date(now), new Date(now)).then(() => true);
	return (await marked.catch(undefinedIfAbsent)) ?? false;
}

/** Runs after writing, so that of two processes that write at once, at least one sees the other's text. */
async function refuseCollisions(names: readonly string[], written: ReadonlySet<string>, layout: Layout): Promise<void> {
	const byPrefix = new Map(Array.from(written, (hash) => [hash.slice(0, hexDigitsOfRef), hash]));
	const colliding = names.flatMap((name) => {
		const hash = byPrefix.get(name.slice(0, hexDigitsOfRef));
		return hash !== undefined && hash !== name && readName(name).is === "text" ? [hash] : [];
	});
	if (colliding.length === 0) return;
	await Promise.all(colliding.map((hash) => rm(layout.text(hash), { force: true })));
	throw ambiguous();
}

/** Rewrites the files of a new text: a sweep would delete older ones as leftovers. */
async function writeRecord({ hash, about }: Entry, isNew: boolean, writing: Writing): Promise<void> {
	const { layout, now } = writing;
	const call = callKey(about.toolCallId);
	const file = layout.about(hash, call);
	if (isNew || !isRecordRight(file, call, writing)) {
		const put = { file, pieces: [Buffer.from(writeAbout(about), "utf8")], at: now(), sync: about.redactions > 0 };
		await inFolder(layout.textFolder(hash), () => putFile(put));
	}
	if (about.toolCallId === undefined) return;
	const callFile = layout.call(call, hash);
	if (!isNew && (await statIfThere(callFile)) !== undefined) return;
	await inFolder(layout.callFolder(call), () => putEmptyFile(callFile, now()));
}

/** Does not create the folder of an unused namespace. */
async function claimSweep(marker: string, now: number): Promise<boolean> {
	if ((await namesIn(path.dirname(marker))).length === 0) return false;
	const sweptAt = (await statIfThere(marker))?.mtimeMs ?? Number.NEGATIVE_INFINITY;
	if (sweptAt <= now && now - sweptAt < safeForMs) return false;
	await inFolder(path.dirname(marker), () => putEmptyFile(marker, now));
	return true;
}

async function sweepFiles(layout: Layout, retention: Retention, time: SweepTime): Promise<Sweep> {
	const holdings = await holdingsIn(layout);
	const before = await readFile(layout.sweepIntent, "utf8").catch(() => undefined);
	const { expired, intent } = decideSweep({ holdings, retention, time, intent: readIntent(before) });
	if (intent) {
		const pieces = [Buffer.from(JSON.stringify(intent))];
		await inFolder(layout.folder, () => putFile({ file: layout.sweepIntent, pieces, at: time.now, sync: false }));
	}
	const removed: Holding[] = [];
	for (const holding of expired) {
		if (await removeUnlessUsed(layout.text(holding.hash), holding.usedAt)) removed.push(holding);
	}
	const gone = new Set(removed.map(({ hash }) => hash));
	const kept = new Set(holdings.filter(({ hash }) => !gone.has(hash)).map(({ hash }) => hash));
	for (const bucket of [...(await bucketsIn(layout.folder)), ...(await bucketsIn(layout.calls))]) {
		const names = await namesIn(bucket);
		await inParallel(names, 2 * atATime, (name) => removeLeftover(path.join(bucket, name), kept, time.now));
	}
	if (!intent && before !== undefined) await rm(layout.sweepIntent, { force: true });
	return sweepOf(holdings, removed);
}

/** Renames a text, then removes it unless it was used since the sweep looked at it. */
async function removeUnlessUsed(text: string, unusedSince: number): Promise<boolean> {
	const aside = `${text}.${randomUUID()}.swept`;
	// Another sweep at the same time may have taken it already.
	await rename(text, aside).catch(undefinedIfAbsent);
	const found = await statIfThere(aside);
	if (found === undefined) return false;
	const isUnused = found.mtimeMs === unusedSince;
	await (isUnused ? rm(aside, { force: true }) : rename(aside, text));
	return isUnused;
}

async function removeLeftover(file: string, kept: ReadonlySet<string>, now: number): Promise<void> {
	const named = readName(path.basename(file));
	const isRecord = named.is === "about" || named.is === "call" || named.is === "long";
	const isLeftover = isRecord ? !kept.has(named.hash) : named.is === "temporary" || named.is === "set-aside";
	const found = isLeftover ? await statIfThere(file) : undefined;
	if (found === undefined) return;
	if (named.is === "set-aside") {
		// A sweep ended half-way: the text goes back. Another sweep may have renamed it after this one began, at `now`.
		const isBeingSwept = Math.abs(now - found.ctimeMs) < safeForMs;
		const text = path.join(path.dirname(file), named.hash);
		if (!isBeingSwept) await rename(file, text).catch(undefinedIfAbsent);
		return;
	}
	// A young file may belong to a text that is being written.
	if (now - found.mtimeMs >= safeForMs) await rm(file, { force: true });
}
