import { createHash } from "node:crypto";
import { appendFileSync, mkdirSync, readFileSync, statSync, utimesSync } from "node:fs";
import { chmod, readFile, rm, stat, writeFile } from "node:fs/promises";
import { hostname, uptime as secondsOfUptime } from "node:os";
import path from "node:path";
import type { Archive } from "../../storage/archive/archive.ts";
import { unusablePlace } from "../../storage/archive/driver.ts";
import { type ArchiveLocation, archivePlace } from "../../storage/archive/open.ts";
import { decideSweep, type Holding, readIntent } from "../../storage/archive/retention.ts";
import { nameWithoutCredentials } from "../../storage/archive/saved-address.ts";
import { namesIn } from "../../storage/files/disk.ts";
import { stateFolder } from "../../storage/files/state-folder.ts";
import { lineOf, type Note, readLine } from "./notes.ts";
import { type Entry, newEntry, type Remembered } from "./remembered.ts";
import { isGone, type ResultState } from "./states.ts";

export type Memory = ReturnType<typeof createMemory>;

/** Limits over all conversations. Past them those whose file has all of their states go first: they are read again. */
export interface MemoryLimits {
	readonly mostConversations: number;
	/** Characters of states, with the texts that were sent in place of results. */
	readonly mostChars: number;
}

const usualLimits: MemoryLimits = { mostConversations: 500, mostChars: 24_000_000 };
/** States that no file has are held up to so many times the limit. */
const moreAlone = 3;
/** Names of results by which the conversation with their states is found. */
const mostResults = 50_000;
/** Notes of one conversation that wait for a disk. */
const mostUnwritten = 1_000;
/** The limit of one conversation: some 10 000 results. */
const mostFileBytes = 32_000_000;

/**
 * Remembers by conversation, in `folder` if one is given: a file of JSON lines for each conversation, to which every
 * process only appends. Its time is that of the last request. A file serves better than entries of the archive: one
 * `stat` tells whether another process has sent anything, and its time costs no entry a request. These calls are so
 * short that a request waits for them less than it would for a thread. `isStorable` tells whether a text may be
 * written: text that the policy redacts is not, and the state is known to this process only.
 */
export function createMemory({
	folder,
	now,
	isStorable = () => true,
	uptime = () => secondsOfUptime() * 1_000,
	limits: { mostConversations, mostChars } = usualLimits,
}: {
	readonly folder: string | undefined;
	readonly now: () => number;
	readonly limits?: MemoryLimits | undefined;
	readonly isStorable?: (text: string) => boolean;
	/** The uptime of the machine, in ms. */
	readonly uptime?: () => number;
}) {
	const conversations = new Map<string, Entry>();
	/** By the key of a result, the conversation that decided on it last. */
	const results = new Map<string, string>();
	let latest: string | undefined;
	let chars = 0;
	const fileOf = (conversation: string) => folder && path.join(folder, `${conversation}.jsonl`);

	const entryOf = (conversation: string): Entry => {
		const entry = conversations.get(conversation) ?? newEntry();
		conversations.delete(conversation);
		conversations.set(conversation, entry);
		latest = conversation;
		return entry;
	};

	const letGo = (isDue: (entry: Entry) => boolean, most: MemoryLimits): void => {
		for (const [oldest, entry] of conversations) {
			if (conversations.size <= most.mostConversations && chars <= most.mostChars) return;
			if (oldest === latest || !isDue(entry)) continue;
			conversations.delete(oldest);
			chars -= entry.chars;
		}
	};
	const letOldestGo = (): void => {
		letGo(({ isAlone }) => !isAlone, { mostConversations, mostChars });
		letGo(() => true, { mostConversations: moreAlone * mostConversations, mostChars: moreAlone * mostChars });
	};
	const grow = (entry: Entry, more: number): void => {
		entry.chars += more;
		chars += more;
	};

	const take = (
		conversation: string,
		note: Omit<Note, "states">,
		states: Iterable<readonly [string, ResultState | undefined]>,
	) => {
		const entry = entryOf(conversation);
		for (const [key, state] of states) {
			results.delete(key);
			if (!state) {
				entry.states.delete(key);
				continue;
			}
			entry.states.set(key, state);
			results.set(key, conversation);
			if (isGone(state) && state.changed > entry.lastMasking) {
				entry.maskings += 1;
				entry.lastMasking = state.changed;
			}
		}
		dropOldest(results, mostResults);
		entry.requests = Math.max(entry.requests, note.number);
		if (note.model !== undefined) entry.models.set(note.number, note.model);
		if (note.messages !== undefined) {
			entry.messages = note.messages;
			if (note.isCold) entry.coldAt.add(note.messages);
		}
		for (const [key, number] of note.produced ?? []) if (!entry.produced.has(key)) entry.produced.set(key, number);
		for (const key of note.leftOut ?? []) if (!entry.leftOut.has(key)) entry.leftOut.set(key, note.number);
		for (const key of note.putBack ?? []) entry.leftOut.delete(key);
		if (note.ending !== undefined) entry.endings.set(note.ending, note.number);
		entry.frozenUntil = Math.max(entry.frozenUntil, note.frozenUntil ?? 0);
		if (note.frozenUntil !== undefined) entry.refusedAt = note.number;
		entry.isEnforced ||= note.isEnforced === true;
		entry.dropsBlocks ||= note.dropsBlocks === true;
		entry.refusesClearing ||= note.refusesClearing === true;
	};

	/** The same for notes that no file has. */
	const takeAlone = (conversation: string, note: Note): void => {
		const { states = [] } = note;
		take(
			conversation,
			note,
			states.map(({ key, state }) => [key, state]),
		);
		if (states.length === 0) return;
		const entry = entryOf(conversation);
		entry.isAlone = true;
		grow(entry, readLine(lineOf(note, () => true))?.chars ?? 0);
	};

	const readNew = (conversation: string, file: string): void => {
		const entry = entryOf(conversation);
		const about = statSync(file, { throwIfNoEntry: false });
		if (!about) return;
		entry.lastCall = about.mtimeMs;
		if (about.size === entry.read) return;
		const bytes = readFileSync(file);
		// Another process may be in the middle of a line.
		const end = bytes.lastIndexOf(10) + 1;
		for (const line of bytes.subarray(Math.min(entry.read, end), end).toString("utf8").split("\n")) {
			const read = readLine(line);
			if (!read) continue;
			take(conversation, read.note, read.states);
			grow(entry, read.chars);
		}
		entry.read = end;
	};

	/** Reads the notes of other processes. After a fault of the disk, those of this process are all there is. */
	const readOthers = (conversation: string): void => {
		const file = fileOf(conversation);
		try {
			if (file) readNew(conversation, file);
		} catch {
			// The results that have states keep them also where the folder cannot be read.
		}
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
		/** Also reads the notes of other processes. */
		recall(conversation: string): Remembered {
			readOthers(conversation);
			const entry = entryOf(conversation);
			letOldestGo();
			return entry;
		},
		/**
		 * Finds the state of a result in any conversation of this process: a host may compact one and go on with its
		 * last results. Another process may have decided on them.
		 */
		statesAnywhere(): (key: string) => ResultState | undefined {
			for (const conversation of [...conversations.keys()]) readOthers(conversation);
			return (key) => {
				const conversation = results.get(key);
				return conversation === undefined ? undefined : this.recall(conversation).states.get(key);
			};
		},
		/**
		 * Afterwards other processes know it. Throws PalimpsestError `archive_unavailable` where it cannot be written, and then
		 * nothing is noted. Begins a line, since a full disk may have cut the last one.
		 */
		note(conversation: string, note: Note): void {
			const entry = entryOf(conversation);
			const file = fileOf(conversation);
			if (!file || entry.read > mostFileBytes) takeAlone(conversation, note);
			else {
				// Other processes may have decided something newer since.
				const waited = entry.unwritten.map((one) => {
					return { ...one, states: one.states?.filter(({ key, state }) => entry.states.get(key) === state) };
				});
				const line = lineOf(note, isStorable);
				const lines = `\n${[...waited.map((one) => lineOf(one, isStorable)), line].join("\n")}\n`;
				using(() => append(file, lines));
				entry.unwritten = [];
				// Read again only the notes that others append.
				const size = statSync(file, { throwIfNoEntry: false })?.size;
				if (size === entry.read + Buffer.byteLength(lines)) entry.read = size;
				// As it is read again: the texts are in the conversation.
				const written = readLine(line);
				take(conversation, note, written?.states ?? []);
				grow(entry, written?.chars ?? 0);
				const stored = new Set(written?.states.map(([key]) => key));
				const states = note.states?.filter(({ key }) => !stored.has(key)) ?? [];
				if (states.length > 0) takeAlone(conversation, { number: note.number, states });
			}
			letOldestGo();
		},
		/** The same for this process only. */
		noteHere(conversation: string, note: Note): void {
			takeAlone(conversation, note);
			letOldestGo();
		},
		/** The same where nothing can be written now: the next note that can be writes this one, too. */
		noteLater(conversation: string, note: Note): void {
			const entry = entryOf(conversation);
			entry.isAlone = true;
			if (folder && entry.unwritten.length < mostUnwritten) entry.unwritten.push(note);
			this.noteHere(conversation, note);
		},
		/** Notes the time of a request, from which its cache lives on; only for this process where it cannot be written. */
		called(conversation: string): void {
			const entry = entryOf(conversation);
			const at = now();
			entry.lastCall = at;
			const file = fileOf(conversation);
			if (!file) return;
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
		/** Deletes files that no request has touched for that long, by the rule of the archive: a wrong clock deletes no large share. */
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

/**
 * Where the states are kept of a proxy whose archive is in Redis, or that has none: in the user's state folder. `undefined`
 * for other archives: one of files has them next to it, and one in memory ends with the process.
 */
export function memoryFolderFor({ where, namespace }: ArchiveLocation): string | undefined {
	const place = archivePlace(where);
	if (place !== "redis" && place !== "none") return undefined;
	const name = createHash("sha256")
		.update(JSON.stringify([nameWithoutCredentials(where), namespace]))
		.digest("hex")
		.slice(0, 32);
	return path.join(stateFolder(), "conversations", name);
}

/** Next to an archive in a folder, under a name that no namespace can have. `undefined` for other archives. */
export function memoryFolderOf(archive: Archive | undefined): string | undefined {
	if (!archive || !path.isAbsolute(archive.location)) return undefined;
	return path.join(archive.location, `${archive.namespace}.conversations`);
}

function dropOldest(map: Map<string, unknown>, most: number): void {
	for (const key of map.keys()) {
		if (map.size <= most) return;
		map.delete(key);
	}
}
