import { lstatSync, statSync } from "node:fs";
import { lstat, rm, stat, utimes } from "node:fs/promises";
import { writeAbout } from "../about-json.ts";
import { callKey } from "../call-key.ts";
import { ambiguous } from "../create-archive.ts";
import type { Entry } from "../driver.ts";
import { hexDigitsOfRef } from "../ref.ts";
import { inFolder, isAbsent, namesIn, putEmptyFile, putFile, syncFolder } from "./folder-access.ts";
import { inParallel } from "./in-parallel.ts";
import { type Layout, readName } from "./layout.ts";
import { holds } from "./read-text.ts";

const atATime = 8;
/** Marks of use are not renewed within this time, in ms; a sweep leaves alone what is sixty times as old. */
const renewAfterMs = 60_000;

/** What this process knows to be stored whole, so that it need not be read again. */
export interface Verified {
	readonly has: (hash: string) => boolean;
	readonly add: (hash: string) => void;
}

/** Where and how entries are written. */
export interface Writing {
	readonly layout: Layout;
	readonly verified: Verified;
	readonly now: () => number;
}

/** Writes texts, then what they were, then the names by which calls find them: each is found only when it is whole. */
export async function writeEntries(given: readonly Entry[], writing: Writing): Promise<void> {
	const { layout, verified } = writing;
	const entries = given.filter((entry) => !isKnown(entry, writing));
	const texts = [...new Map(entries.map((entry) => [entry.hash, entry])).values()];
	const written: Entry[] = [];
	await inParallel(texts, atATime, async (entry) => {
		if (await isStored(entry, writing)) return;
		await writeText(entry, writing);
		written.push(entry);
	});
	const folders = [...new Set(written.map(({ hash }) => layout.textFolder(hash)))];
	await inParallel(folders, atATime, async (folder) => {
		await refuseCollisions(folder, written, layout);
		await syncFolder(folder);
	});
	const isNew = new Set(written.map(({ hash }) => hash));
	await inParallel(entries, atATime, (entry) => writeAround(entry, isNew.has(entry.hash), writing));
	for (const hash of isNew) verified.add(hash);
}

/**
 * Whether an entry that this process found whole before stands there still, with all that goes with it. An agent's turn
 * brings every earlier text again, so these are looked at without waiting in turn for each.
 */
function isKnown({ hash, about }: Entry, { layout, verified, now }: Writing): boolean {
	if (!verified.has(hash)) return false;
	const options = { throwIfNoEntry: false } as const;
	const call = callKey(about.toolCallId);
	try {
		const text = lstatSync(layout.text(hash), options);
		if (!text?.isFile() || text.size !== about.bytes || !isFresh(text.mtimeMs, now())) return false;
		if ((statSync(layout.about(hash, call), options)?.size ?? 0) === 0) return false;
		return about.toolCallId === undefined || statSync(layout.call(call, hash), options) !== undefined;
	} catch {
		// What is wrong is told by the ways of writing.
		return false;
	}
}

function isFresh(usedAt: number, now: number): boolean {
	return usedAt <= now && now - usedAt < renewAfterMs;
}

async function isStored({ hash, about }: Entry, { layout, verified, now }: Writing): Promise<boolean> {
	const file = layout.text(hash);
	const found = await lstat(file).catch((error) => {
		if (isAbsent(error)) return undefined;
		throw error;
	});
	if (!found?.isFile() || found.size !== about.bytes) return false;
	if (!verified.has(hash)) {
		if (!(await holds(file, hash))) return false;
		verified.add(hash);
	}
	return markUsed(file, found.mtimeMs, now());
}

/** Renews the time of a file's last use; false where it went meanwhile. */
export async function markUsed(file: string, usedAt: number, now: number): Promise<boolean> {
	if (isFresh(usedAt, now)) return true;
	try {
		await utimes(file, new Date(now), new Date(now));
		return true;
	} catch (error) {
		if (isAbsent(error)) return false;
		throw error;
	}
}

async function writeText({ hash, pieces }: Entry, { layout, now }: Writing): Promise<void> {
	await inFolder(layout.textFolder(hash), () =>
		putFile({ file: layout.text(hash), pieces: pieces(), at: now(), sync: true }),
	);
}

/** Looks after writing, so that of two processes that write at once at least one sees the other's text. */
async function refuseCollisions(folder: string, written: readonly Entry[], layout: Layout): Promise<void> {
	const own = written.filter(({ hash }) => layout.textFolder(hash) === folder);
	const byPrefix = new Map(own.map(({ hash }) => [hash.slice(0, hexDigitsOfRef), hash]));
	const colliding = (await namesIn(folder)).flatMap((name) => {
		const hash = byPrefix.get(name.slice(0, hexDigitsOfRef));
		return hash !== undefined && hash !== name && readName(name).is === "text" ? [hash] : [];
	});
	if (colliding.length === 0) return;
	await Promise.all(colliding.map((hash) => rm(layout.text(hash), { force: true })));
	throw ambiguous();
}

/** What stood beside an earlier copy of a new text is written again, so that it does not pass for a leftover. */
async function writeAround({ hash, about }: Entry, isNew: boolean, { layout, now }: Writing): Promise<void> {
	const call = callKey(about.toolCallId);
	const aboutFile = layout.about(hash, call);
	if (isNew || ((await sizeOf(aboutFile)) ?? 0) === 0) {
		const pieces = [Buffer.from(writeAbout(about), "utf8")];
		await inFolder(layout.textFolder(hash), () =>
			// That a text was redacted must be known as long as the text itself.
			putFile({ file: aboutFile, pieces, at: now(), sync: about.redactions > 0 }),
		);
	}
	if (about.toolCallId === undefined) return;
	const callFile = layout.call(call, hash);
	if (!isNew && (await sizeOf(callFile)) !== undefined) return;
	await inFolder(layout.callFolder(call), () => putEmptyFile(callFile, now()));
}

async function sizeOf(file: string): Promise<number | undefined> {
	return stat(file).then(
		({ size }) => size,
		() => undefined,
	);
}
