import { type Entry, newEntry } from "./remembered.ts";

/** Limits over all conversations. Past them those of which every state can be read again go first. */
export interface MemoryLimits {
	readonly mostConversations: number;
	/** Characters of states, with the texts that were sent in place of results. */
	readonly mostChars: number;
}

const usualLimits: MemoryLimits = { mostConversations: 500, mostChars: 24_000_000 };
/** States that nothing else has are held up to so many times the limit. */
const moreAlone = 3;

/** What this process holds of conversations, the last used last. */
export function createEntries({ mostConversations, mostChars } = usualLimits) {
	const entries = new Map<string, Entry>();
	let latest: string | undefined;
	let chars = 0;

	const letGo = (isDue: (entry: Entry) => boolean, times: number): void => {
		for (const [oldest, entry] of entries) {
			if (entries.size <= times * mostConversations && chars <= times * mostChars) return;
			if (oldest === latest || !isDue(entry)) continue;
			entries.delete(oldest);
			chars -= entry.chars;
		}
	};

	return {
		/** A new one for a conversation that is not held. */
		of(conversation: string): Entry {
			const entry = entries.get(conversation) ?? newEntry();
			entries.delete(conversation);
			entries.set(conversation, entry);
			latest = conversation;
			return entry;
		},
		names: () => [...entries.keys()],
		grow(entry: Entry, more: number): void {
			entry.chars += more;
			chars += more;
		},
		letOldestGo(): void {
			letGo(({ isAlone }) => !isAlone, 1);
			letGo(() => true, moreAlone);
		},
	};
}
