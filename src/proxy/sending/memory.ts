import { createHash } from "node:crypto";
import path from "node:path";
import type { Archive } from "../../storage/archive/archive.ts";
import { type ArchiveLocation, archivePlace } from "../../storage/archive/open.ts";
import { nameWithoutCredentials } from "../../storage/archive/saved-address.ts";
import { stateFolder } from "../../storage/files/state-folder.ts";
import { createEntries, type MemoryLimits } from "./entries.ts";
import { isDistinct } from "./identity.ts";
import type { Journal, Tail, Wait } from "./journal.ts";
import { lineOf, type Note, readLine } from "./notes.ts";
import { type Remembered, takeNote } from "./remembered.ts";
import type { ResultState } from "./states.ts";

export type Memory = ReturnType<typeof createMemory>;

const longestWaitMs = 50;
/** Names of results by which the conversation with their states is found. */
const mostResults = 50_000;
/** Notes of one conversation that wait for a journal. */
const mostUnwritten = 1_000;
/** Characters of the notes of one conversation: some 10 000 results. */
const mostNoted = 32_000_000;

/**
 * Remembers by conversation how its results were last sent, with the other processes that have the same journal; without one,
 * for this process alone. `isStorable` tells whether a text may be written: text that the policy redacts is not, and the state
 * is known to this process only.
 */
export function createMemory({
	journal,
	now,
	isStorable = () => true,
	limits,
	patienceMs = longestWaitMs,
}: {
	readonly journal: Journal | undefined;
	readonly now: () => number;
	readonly isStorable?: ((text: string) => boolean) | undefined;
	readonly limits?: MemoryLimits | undefined;
	/** The time that a request waits for the journal in all. */
	readonly patienceMs?: number | undefined;
}) {
	const patience = (): Wait => ({ leftMs: patienceMs });
	const entries = createEntries(limits);
	/** By the key of a result, the conversation that decided on it last. */
	const results = new Map<string, string>();
	/** By conversation, the end of the last request that decides. */
	const turns = new Map<string, Promise<unknown>>();

	const take = (
		conversation: string,
		note: Parameters<typeof takeNote>[1],
		states: Parameters<typeof takeNote>[2],
	): boolean => {
		for (const [key, state] of states) {
			results.delete(key);
			if (state) results.set(key, conversation);
		}
		for (const oldest of results.keys()) {
			if (results.size <= mostResults) break;
			results.delete(oldest);
		}
		return takeNote(entries.of(conversation), note, states);
	};

	/** The same for notes that no journal has. */
	const takeAlone = (conversation: string, note: Note): void => {
		const { states = [], ...others } = note;
		const changed = states.map(({ key, state }) => [key, state] as const);
		take(conversation, others, changed);
		if (states.length === 0 && !note.block && !note.carrier) return;
		const entry = entries.of(conversation);
		entry.isAlone = true;
		entries.grow(entry, readLine(lineOf(note, { isStorable: () => true }))?.chars ?? 0);
	};

	/** Takes the lines after a place in their order. Returns whether each state of `own` holds, and no other line has one. */
	const takeTail = (conversation: string, after: number, tail: Tail, own: readonly string[] = []): boolean => {
		const { lines, end, lastCall } = tail;
		const entry = entries.of(conversation);
		if (tail.isWhole) {
			entry.read = 0;
			entry.changedAt.clear();
		}
		// It was let go while these were read.
		if (entry.read < after && !tail.isWhole) return false;
		let holds = true;
		for (const { text, place } of lines) {
			const isOwn = own.includes(text);
			// Another request of this process has taken it meanwhile.
			if (place <= entry.read && isOwn) continue;
			const read = readLine(text);
			if (!isOwn && read && read.states.length > 0) holds = false;
			if (place <= entry.read) continue;
			entry.read = place;
			entry.noted += text.length;
			if (!read) continue;
			if (!take(conversation, { ...read.note, place }, read.states)) holds = false;
			entries.grow(entry, read.chars);
		}
		if (end > entry.read || end < after) entry.read = end;
		entry.lastCall = lastCall ?? entry.lastCall;
		entry.isUnread = false;
		return holds;
	};

	/** Reads the notes of other processes. After a fault, those of this process are all there is. */
	const readOthers = async (conversation: string, wait: Wait): Promise<void> => {
		if (!journal) return;
		try {
			const after = entries.of(conversation).read;
			takeTail(conversation, after, await journal.read(conversation, after, wait));
		} catch {
			// The results that have states keep them also where the journal cannot be read.
			const entry = entries.of(conversation);
			entry.isUnread = entry.read === 0 && entry.requests === 0;
		}
	};

	const noteHere = (conversation: string, note: Note): void => {
		takeAlone(conversation, note);
		entries.letOldestGo();
	};

	/**
	 * Afterwards other processes know it. Returns `overtaken` if another request has decided on results since this one has read:
	 * that holds. Throws PalimpsestError `archive_unavailable` where it cannot be written, and then nothing is noted.
	 */
	const note = async (conversation: string, given: Note, wait: Wait = patience()): Promise<"noted" | "overtaken"> => {
		const entry = entries.of(conversation);
		if (!journal || entry.noted > mostNoted) {
			noteHere(conversation, given);
			return "noted";
		}
		const after = entry.read;
		const changed = new Set(given.states?.map(({ key }) => key));
		// This process or another may have decided something newer since.
		const isNewest = ({ key, state }: NonNullable<Note["states"]>[number]) =>
			entry.states.get(key) === state && !changed.has(key);
		const waited = entry.unwritten.map((one) => ({ ...one, states: one.states?.filter(isNewest) }));
		const lines = waited.map((one) => lineOf(one, { isStorable }));
		const own = lineOf({ ...given, seen: after }, { isStorable });
		const states = [...waited, given].flatMap((one) => one.states ?? []);
		const elsewhere = states.filter(({ result, state }) => state && isDistinct(result)).map(({ key }) => key);
		const unwritten = entry.unwritten.slice();
		const tail = await journal.append(conversation, { lines: [...lines, own], after, results: elsewhere }, wait);
		const kept = entries.of(conversation);
		kept.unwritten = kept.unwritten.filter((one) => !unwritten.includes(one));
		const holds = takeTail(conversation, after, tail, [...lines, own]);
		const stored = new Set(readLine(own)?.states.map(([key]) => key));
		const alone = given.states?.filter(({ key }) => !stored.has(key)) ?? [];
		if (alone.length > 0) takeAlone(conversation, { number: given.number, states: alone });
		entries.letOldestGo();
		return holds ? "noted" : "overtaken";
	};

	/** Of requests at once of one conversation, each decides with what the one before it has noted. */
	const inTurn = <T>(conversation: string, work: () => Promise<T>): Promise<T> => {
		const own = (turns.get(conversation) ?? Promise.resolve()).then(work);
		const ended = own.catch(() => {});
		turns.set(conversation, ended);
		void ended.then(() => turns.get(conversation) === ended && turns.delete(conversation));
		return own;
	};

	/** Writes the notes that wait, until that fails. */
	const writeWaiting = async (): Promise<void> => {
		for (const conversation of entries.names()) {
			const { unwritten, requests } = entries.of(conversation);
			if (unwritten.length > 0) await inTurn(conversation, () => note(conversation, { number: requests }));
		}
	};
	journal?.onBack?.(() => void writeWaiting().catch(() => {}));

	return {
		isStorable,
		inTurn,
		/** For all that one request asks of the journal. */
		patience,
		/** What this process knows. */
		recall: (conversation: string): Remembered => entries.of(conversation),
		/** The same for a request that has read before, where the conversation may have been let go since. */
		async renewed(conversation: string, before: Remembered, wait: Wait): Promise<Remembered> {
			const held = entries.of(conversation);
			if (held === before) return before;
			await readOthers(conversation, wait);
			// If the journal cannot be read, this process knows only what the request has read.
			return held.requests >= before.requests ? held : before;
		},
		/** The same with the notes of other processes. */
		async fetch(conversation: string, wait: Wait = patience()): Promise<Remembered> {
			await readOthers(conversation, wait);
			const entry = entries.of(conversation);
			entries.letOldestGo();
			return entry;
		},
		/**
		 * The states of results in other conversations: a host may compact one and go on with its last results. Another process may
		 * have decided on them, unless that `isRead` already.
		 */
		async findElsewhere(
			keys: readonly string[],
			wait: Wait = patience(),
			{ isRead = false } = {},
		): Promise<ReadonlyMap<string, ResultState>> {
			const all = isRead ? [] : entries.names();
			const found = journal?.find ? await journal.find(keys, wait).catch(() => []) : all;
			await Promise.all(found.map((conversation) => readOthers(conversation, wait)));
			const states = new Map<string, ResultState>();
			for (const key of keys) {
				const conversation = results.get(key);
				if (conversation === undefined) continue;
				// It was let go since.
				if (entries.of(conversation).read === 0) await readOthers(conversation, wait);
				const state = entries.of(conversation).states.get(key);
				if (state) states.set(key, state);
			}
			entries.letOldestGo();
			return states;
		},
		note,
		/** The same for this process only. */
		noteHere,
		/** The same where nothing can be written now: the next note that can be writes this one, too. */
		noteLater(conversation: string, note: Note): void {
			const entry = entries.of(conversation);
			entry.isAlone = true;
			if (journal && entry.unwritten.length < mostUnwritten) entry.unwritten.push({ ...note, seen: entry.read });
			noteHere(conversation, note);
		},
		/** Notes the time of a request, from which its cache lives on; only for this process where it cannot be written. */
		called(conversation: string): void {
			const at = now();
			entries.of(conversation).lastCall = at;
			journal?.touch(conversation, at);
		},
		sweep: async (maxAgeMs: number): Promise<void> => journal?.sweep?.(maxAgeMs),
		close: async (): Promise<void> => journal?.close?.(),
	};
}

/**
 * Where the states are kept of a program whose archive is in Redis, or that has none: in the user's state folder. `undefined`
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
