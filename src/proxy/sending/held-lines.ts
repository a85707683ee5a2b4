import { createHash } from "node:crypto";

/** Over all conversations, in characters. */
const mostChars = 24_000_000;

interface Held {
	readonly lines: readonly string[];
	/** Messages on lines behind them, as they came. */
	readonly told: readonly string[];
	readonly chars: number;
}

/**
 * The lines of a journal that this process has read or written, of the conversations that were used last, and those that others
 * have told of since. They are sent where Redis is away, and written again where it has lost them.
 */
export function createHeldLines() {
	const held = new Map<string, Held>();
	let chars = 0;
	const letOldestGo = (): void => {
		for (const [oldest, { chars: less }] of held) {
			if (chars <= mostChars || held.size === 1) return;
			held.delete(oldest);
			chars -= less;
		}
	};
	const add = (conversation: string, after: number, lines: readonly string[]): void => {
		const before = held.get(conversation) ?? { lines: [], told: [], chars: 0 };
		const all = [...before.lines.slice(0, after), ...lines];
		const later = before.told.filter((message) => placeOf(message) >= all.length);
		const one = { lines: all, told: later, chars: lengthOf(all) + lengthOf(later) };
		held.delete(conversation);
		held.set(conversation, one);
		chars += one.chars - before.chars;
		letOldestGo();
	};
	return {
		of: (conversation: string): readonly string[] => held.get(conversation)?.lines ?? [],
		/** The same with those that were told of and follow them: Redis may have lost some, and have others at their places. */
		allOf(conversation: string): readonly string[] {
			for (const message of held.get(conversation)?.told ?? []) {
				const lines = held.get(conversation)?.lines ?? [];
				const [, place, hash, ...next] = message.split("\n");
				const isNext = Number(place) === lines.length && (lines.length === 0 || sha1(lines.at(-1) as string) === hash);
				if (isNext) add(conversation, lines.length, next);
			}
			return held.get(conversation)?.lines ?? [];
		},
		/** Holds lines behind so many of those that are held. */
		add,
		/**
		 * Holds a message of lines that a process has appended: the conversation, the place before them, the SHA-1 of the line there,
		 * and the lines. It is read where it is needed, since most are read from Redis before that. Of a conversation that is not held,
		 * only the first lines are of use.
		 */
		tell(message: string): void {
			const conversation = message.slice(0, message.indexOf("\n"));
			const isFirst = placeOf(message) === 0;
			const one = held.get(conversation) ?? (isFirst ? { lines: [], told: [], chars: 0 } : undefined);
			if (!one || placeOf(message) < one.lines.length) return;
			// It stays as long unused as it was.
			held.set(conversation, { ...one, told: [...one.told, message], chars: one.chars + message.length });
			chars += message.length;
			letOldestGo();
		},
	};
}

function placeOf(message: string): number {
	return Number(message.split("\n", 2)[1]);
}

function lengthOf(lines: readonly string[]): number {
	return lines.reduce((sum, line) => sum + line.length, 0);
}

function sha1(line: string): string {
	return createHash("sha1").update(line).digest("hex");
}
