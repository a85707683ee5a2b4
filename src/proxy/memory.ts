import { appendFileSync, mkdirSync, readFileSync, statSync, utimesSync } from "node:fs";
import { chmod, readFile, rm, stat, writeFile } from "node:fs/promises";
import { hostname, uptime as secondsOfUptime } from "node:os";
import path from "node:path";
import type { Archive } from "../archive/archive.ts";
import { unusablePlace } from "../archive/driver.ts";
import { decideSweep, type Holding, readIntent } from "../archive/retention.ts";
import { isJsonObject } from "../conversation/json.ts";
import { namesIn } from "../files/disk.ts";

/** What was decided for one conversation, so that it is decided in the same way again. */
export interface Remembered {
	/** By the key of a result, the value that stands in its place since it was masked. */
	readonly masked: ReadonlyMap<string, unknown>;
	/** Keys of the messages after which the provider's cache had expired. */
	readonly pauses: ReadonlySet<string>;
	/** Why its requests are not edited any more. */
	readonly leftAlone: string | undefined;
	/** The time of its last request, in ms since 1970, also of other processes. */
	readonly lastCall: number | undefined;
}

export interface Decisions {
	readonly masked?: ReadonlyMap<string, unknown>;
	readonly pause?: string;
	readonly leftAlone?: string;
}

export type Memory = ReturnType<typeof createMemory>;

const mostConversations = 500;
const mostResults = 50_000;
/** Of one conversation: some 10 000 results. */
const mostFileBytes = 4_000_000;

/**
 * Remembers decisions by conversation, in `folder` if one is given: a file of JSON lines for each conversation, to which
 * every process only appends. Its time is that of the last request. A file serves better than entries of the archive:
 * one `stat` tells whether another process has decided anything, and its time costs no entry a request. These calls are
 * so short that a request waits for them less than it would for a thread. Throws PalimpsestError `archive_unavailable`
 * where the folder cannot be used.
 */
export function createMemory({
	folder,
	now,
	uptime = () => secondsOfUptime() * 1_000,
}: {
	readonly folder: string | undefined;
	readonly now: () => number;
	/** That of the machine, in ms. */
	readonly uptime?: () => number;
}) {
	const conversations = new Map<string, Entry>();
	const results = new Map<string, unknown>();
	const fileOf = (conversation: string) => folder && path.join(folder, `${conversation}.jsonl`);

	const entryOf = (conversation: string): Entry => {
		const entry = conversations.get(conversation) ?? newEntry();
		conversations.delete(conversation);
		conversations.set(conversation, entry);
		dropOldest(conversations, mostConversations);
		return entry;
	};

	const take = (entry: Entry, decisions: Decisions): void => {
		for (const [key, replacement] of decisions.masked ?? []) {
			// The first decision counts: its bytes have been sent.
			if (!entry.masked.has(key)) entry.masked.set(key, replacement);
			results.delete(key);
			results.set(key, entry.masked.get(key));
		}
		dropOldest(results, mostResults);
		if (decisions.pause !== undefined) entry.pauses.add(decisions.pause);
		entry.leftAlone ??= decisions.leftAlone;
	};

	const readNew = (entry: Entry, file: string): void => {
		const about = statSync(file, { throwIfNoEntry: false });
		if (!about) return;
		entry.lastCall = about.mtimeMs;
		if (about.size === entry.read) return;
		const bytes = readFileSync(file);
		// Another process may be in the middle of a line.
		const end = bytes.lastIndexOf(10) + 1;
		for (const line of bytes.subarray(Math.min(entry.read, end), end).toString("utf8").split("\n")) {
			take(entry, decisionsIn(line));
		}
		entry.read = end;
	};

	const using = (use: () => void): void => {
		try {
			use();
		} catch (error) {
			throw unusablePlace(folder ?? "", error, "The proxy's memory in");
		}
	};

	const append = (file: string, line: string): void => {
		const options = { mode: 0o600 };
		try {
			appendFileSync(file, line, options);
		} catch (error) {
			if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
			mkdirSync(path.dirname(file), { recursive: true, mode: 0o700 });
			appendFileSync(file, line, options);
		}
	};

	return {
		/** What is known of a conversation now, by this process or another. */
		recall(conversation: string): Remembered {
			const entry = entryOf(conversation);
			const file = fileOf(conversation);
			if (file) using(() => readNew(entry, file));
			return entry;
		},
		/** The same in any conversation: a host may compact one and go on with its last results. */
		maskedAnywhere: (key: string): unknown => results.get(key),
		/**
		 * Afterwards other processes can read the decisions. Where they cannot be written, nothing is masked, but a
		 * conversation is left alone. Begins a line, since a full disk may have cut the last one.
		 */
		remember(conversation: string, decisions: Decisions): void {
			const entry = entryOf(conversation);
			entry.leftAlone ??= decisions.leftAlone;
			const file = fileOf(conversation);
			if (file && entry.read <= mostFileBytes) using(() => append(file, `\n${lineOf(decisions)}\n`));
			take(entry, decisions);
		},
		/** Notes the time of a request, from which its cache lives on; only for this process where it cannot be written. */
		called(conversation: string): void {
			const entry = entryOf(conversation);
			const at = now();
			entry.lastCall = at;
			const file = fileOf(conversation);
			if (!file) return;
			try {
				if (!statSync(file, { throwIfNoEntry: false })) append(file, "{}\n");
				utimesSync(file, at / 1_000, at / 1_000);
			} catch {
				// The results that were masked before stay masked also on a full or read-only disk.
			}
		},
		/** Deletes what no request has touched for that long, by the rule of the archive: a wrong clock deletes no large share. */
		async sweep(maxAgeMs: number): Promise<void> {
			if (!folder) return;
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

/** Beside an archive in a folder; its name is that of no namespace. `undefined` for other archives. */
export function memoryFolderOf(archive: Archive | undefined): string | undefined {
	if (!archive || !path.isAbsolute(archive.location)) return undefined;
	return path.join(archive.location, `${archive.namespace}.conversations`);
}

interface Entry extends Remembered {
	readonly masked: Map<string, unknown>;
	readonly pauses: Set<string>;
	leftAlone: string | undefined;
	lastCall: number | undefined;
	/** Bytes of its file that were read. */
	read: number;
}

function newEntry(): Entry {
	return { masked: new Map(), pauses: new Set(), leftAlone: undefined, lastCall: undefined, read: 0 };
}

function dropOldest(map: Map<string, unknown>, most: number): void {
	for (const key of map.keys()) {
		if (map.size <= most) return;
		map.delete(key);
	}
}

function lineOf({ masked, pause, leftAlone }: Decisions): string {
	return JSON.stringify({ masked: masked && [...masked], pause, left_alone: leftAlone });
}

/** A line that was cut off by a crash decides nothing. */
function decisionsIn(line: string): Decisions {
	let read: unknown;
	try {
		read = JSON.parse(line);
	} catch {
		return {};
	}
	if (!isJsonObject(read)) return {};
	const { masked, pause, left_alone: leftAlone } = read;
	const pairs = (Array.isArray(masked) ? masked : []).filter(
		(pair): pair is [string, unknown] => Array.isArray(pair) && pair.length === 2 && typeof pair[0] === "string",
	);
	return {
		masked: new Map(pairs),
		...(typeof pause === "string" ? { pause } : {}),
		...(typeof leftAlone === "string" ? { leftAlone } : {}),
	};
}
