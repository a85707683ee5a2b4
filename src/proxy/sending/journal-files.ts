import { appendFileSync, closeSync, mkdirSync, openSync, readSync, statSync, utimesSync } from "node:fs";
import { chmod, readFile, rm, stat, writeFile } from "node:fs/promises";
import { hostname, uptime as secondsOfUptime } from "node:os";
import path from "node:path";
import { unusablePlace } from "../../storage/archive/driver.ts";
import { decideSweep, type Holding, readIntent } from "../../storage/archive/retention.ts";
import { namesIn } from "../../storage/files/disk.ts";
import type { Journal, Tail } from "./journal.ts";

/**
 * A file of lines for each conversation, to which every process only appends. A place is an offset in it, and its time is that
 * of the last request. A file serves better than entries of the archive: one `stat` tells whether another process has sent
 * anything, and its time costs no entry a request. These calls are so short that a request waits for them less than it would
 * for a thread.
 */
export function createFilesJournal({
	folder,
	now,
	uptime = () => secondsOfUptime() * 1_000,
}: {
	readonly folder: string;
	readonly now: () => number;
	/** The uptime of the machine, in ms. */
	readonly uptime?: (() => number) | undefined;
}): Journal {
	const fileOf = (conversation: string) => path.join(folder, `${conversation}.jsonl`);
	const using = async <T>(use: () => T): Promise<T> => {
		try {
			return use();
		} catch (error) {
			throw unusablePlace(folder, error, "The proxy's memory in");
		}
	};
	return {
		read: (conversation, after) => using(() => readAfter(fileOf(conversation), after)),
		append: (conversation, { lines, after }) =>
			using(() => {
				const file = fileOf(conversation);
				// Begins a line, since a full disk may have cut the last one.
				const text = `\n${lines.join("\n")}\n`;
				append(file, text);
				const size = statSync(file, { throwIfNoEntry: false })?.size;
				// Read again only what others append.
				if (size === after + Buffer.byteLength(text))
					return { ...tailOf(Buffer.from(text), after), lastCall: undefined };
				return readAfter(file, after);
			}),
		touch(conversation, at) {
			const file = fileOf(conversation);
			const touch = () => utimesSync(file, at / 1_000, at / 1_000);
			try {
				try {
					touch();
				} catch (error) {
					if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
					append(file, "{}\n");
					touch();
				}
			} catch {
				// The results that have states keep them also on a full or read-only disk.
			}
		},
		/** By the rule of the archive: a wrong clock deletes no large share. */
		async sweep(maxAgeMs) {
			await chmod(folder, 0o700).catch(() => {});
			const holdings: Holding[] = [];
			for (const name of await namesIn(folder).catch(() => [])) {
				const about = name.endsWith(".jsonl") ? await stat(path.join(folder, name)).catch(() => undefined) : undefined;
				if (about) holdings.push({ hash: name, bytes: about.size, usedAt: about.mtimeMs });
			}
			const intentFile = path.join(folder, "sweep-intent.json");
			const { expired, intent } = decideSweep({
				holdings,
				retention: { maxAgeMs, maxBytes: Number.POSITIVE_INFINITY },
				time: { now: now(), unasked: { uptime: uptime(), machine: hostname() } },
				intent: readIntent(await readFile(intentFile, "utf8").catch(() => undefined)),
			});
			const noted = intent
				? writeFile(intentFile, JSON.stringify(intent), { mode: 0o600 })
				: rm(intentFile, { force: true });
			// The next sweep notes it otherwise.
			await noted.catch(() => {});
			for (const { hash } of expired) await rm(path.join(folder, hash), { force: true }).catch(() => {});
		},
	};
}

function append(file: string, text: string): void {
	const options = { mode: 0o600 };
	try {
		appendFileSync(file, text, options);
	} catch (error) {
		if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
		mkdirSync(path.dirname(file), { recursive: true, mode: 0o700 });
		appendFileSync(file, text, options);
	}
}

function readAfter(file: string, after: number): Tail {
	const about = statSync(file, { throwIfNoEntry: false });
	const lastCall = about?.mtimeMs;
	if (!about || about.size <= after) return { lines: [], end: about?.size ?? after, lastCall };
	const bytes = Buffer.alloc(about.size - after);
	const opened = openSync(file, "r");
	try {
		const length = readSync(opened, bytes, 0, bytes.length, after);
		return { ...tailOf(bytes.subarray(0, length), after), lastCall };
	} finally {
		closeSync(opened);
	}
}

/** Another process may be in the middle of a line. */
function tailOf(bytes: Buffer, after: number): Omit<Tail, "lastCall"> {
	const lines: Tail["lines"][number][] = [];
	let start = 0;
	for (let end = bytes.indexOf(10); end !== -1; end = bytes.indexOf(10, start)) {
		if (end > start) lines.push({ text: bytes.toString("utf8", start, end), place: after + end + 1 });
		start = end + 1;
	}
	return { lines, end: after + start };
}
