import { rm, stat } from "node:fs/promises";
import path from "node:path";
import type { Retention } from "../archive.ts";
import { callKey } from "../call-key.ts";
import type { About, Driver, Stored } from "../driver.ts";
import { safeForMs } from "../retention.ts";
import { usingPlace } from "../unavailable.ts";
import { readAboutFile } from "./about-file.ts";
import { inFolder, namesIn, putEmptyFile } from "./folder-access.ts";
import { layoutOf, readName } from "./layout.ts";
import { openToRead, piecesOf } from "./read-text.ts";
import { holdingsIn, sweepFiles } from "./sweep-files.ts";
import { markUsed, type Verified, writeEntries } from "./write-entries.ts";

/**
 * Stores in files under a folder, one of plain text for each original, named by its SHA-256. Several processes may use
 * the same folder at once.
 */
export function createFilesDriver(options: {
	readonly folder: string;
	readonly namespace: string;
	readonly retention: Retention;
	readonly now: () => number;
}): Driver {
	const { folder, namespace, retention, now } = options;
	const layout = layoutOf(path.join(folder, namespace));
	const verified = rememberHashes();

	const aboutsOf = async (hash: string): Promise<About[]> => {
		const names = (await namesIn(layout.textFolder(hash))).filter((name) => {
			const named = readName(name);
			return named.is === "about" && named.hash === hash;
		});
		const read = await Promise.all(names.map((name) => readAboutFile(path.join(layout.textFolder(hash), name))));
		return read.filter((about) => about !== undefined);
	};

	const textsIn = async (bucket: string): Promise<string[]> =>
		(await namesIn(bucket)).filter((name) => readName(name).is === "text");

	const find = async (toolCallId: string): Promise<Stored[]> => {
		const call = callKey(toolCallId);
		const found: Stored[] = [];
		for (const name of await namesIn(layout.callFolder(call))) {
			const named = readName(name);
			if (named.is !== "call" || named.call !== call) continue;
			const about = await readAboutFile(layout.about(named.hash, call));
			const isStored = await stat(layout.text(named.hash)).then(
				() => true,
				() => false,
			);
			if (isStored && about?.toolCallId === toolCallId) found.push({ hash: named.hash, about });
		}
		return found;
	};

	return {
		location: folder,
		write: (entries) => usingPlace(folder, () => writeEntries(entries, { layout, verified, now })),
		hashesFrom: (prefix) =>
			usingPlace(folder, async () =>
				(await textsIn(layout.textFolder(prefix))).filter((hash) => hash.startsWith(prefix)),
			),
		read: (hash) =>
			usingPlace(folder, async () => {
				const handle = await openToRead(layout.text(hash));
				if (handle === undefined) return undefined;
				const { mtimeMs } = await handle.stat();
				// A text can be read where its time cannot be written, as on a read-only file system.
				await markUsed(layout.text(hash), mtimeMs, now()).catch(() => {});
				return readingFrom(folder, piecesOf(handle));
			}),
		distrust: (hash) => verified.delete(hash),
		aboutsOf: (hash) => usingPlace(folder, () => aboutsOf(hash)),
		find: (toolCallId) => usingPlace(folder, () => find(toolCallId)),
		async *hashes() {
			for (const bucket of layout.buckets) yield* await usingPlace(folder, () => textsIn(bucket));
		},
		holdings: () =>
			usingPlace(folder, async () => {
				const all = await holdingsIn(layout);
				const bytes = all.reduce((sum, one) => sum + one.bytes, 0);
				const oldestUse = all.reduce((oldest, one) => Math.min(oldest, one.usedAt), Number.POSITIVE_INFINITY);
				return { originals: all.length, bytes, oldestUse: all.length === 0 ? null : Math.round(oldestUse) };
			}),
		claimSweep: () => usingPlace(folder, () => claimSweep(layout.sweepMarker, now())),
		sweep: (time) => usingPlace(folder, () => sweepFiles({ layout, retention, time })),
		clear: () =>
			usingPlace(folder, async () => {
				const counts = await Promise.all(layout.buckets.map(async (bucket) => (await textsIn(bucket)).length));
				await rm(layout.folder, { recursive: true, force: true, maxRetries: 5 });
				verified.clear();
				return counts.reduce((sum, count) => sum + count, 0);
			}),
		async close() {},
	};
}

const mostRemembered = 100_000;

/** Some hashes; forgets all where there are too many, which costs reading each text once more. */
function rememberHashes(): Verified & { readonly delete: (hash: string) => void; readonly clear: () => void } {
	const hashes = new Set<string>();
	return {
		has: (hash) => hashes.has(hash),
		add(hash) {
			if (hashes.size >= mostRemembered) hashes.clear();
			hashes.add(hash);
		},
		delete: (hash) => hashes.delete(hash),
		clear: () => hashes.clear(),
	};
}

/** A folder in which nothing was stored yet is not made for the sake of a marker. */
async function claimSweep(marker: string, now: number): Promise<boolean> {
	if ((await namesIn(path.dirname(marker))).length === 0) return false;
	const sweptAt = await stat(marker).then(
		({ mtimeMs }) => mtimeMs,
		() => Number.NEGATIVE_INFINITY,
	);
	if (sweptAt <= now && now - sweptAt < safeForMs) return false;
	await inFolder(path.dirname(marker), () => putEmptyFile(marker, now));
	return true;
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
