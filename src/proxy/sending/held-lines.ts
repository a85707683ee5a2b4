import { createHash } from "node:crypto";

/** Over all conversations, in characters. */
const mostChars = 24_000_000;

/**
 * The lines of a journal that this process has read or written, of the conversations that were used last: they are written again
 * where Redis has lost them.
 */
export function createHeldLines() {
	const held = new Map<string, { readonly lines: readonly string[]; readonly chars: number }>();
	let chars = 0;
	return {
		of: (conversation: string): readonly string[] => held.get(conversation)?.lines ?? [],
		/** Whether so many lines are held, and the SHA-1 of the last one is this: Redis may have lost some, and have others there. */
		endsAt(conversation: string, { after, hash }: { readonly after: number; readonly hash: string }): boolean {
			const lines = held.get(conversation)?.lines;
			if (lines?.length !== after) return false;
			return (
				after === 0 ||
				createHash("sha1")
					.update(lines[after - 1] as string)
					.digest("hex") === hash
			);
		},
		/** Holds lines behind so many of those that are held. */
		add(conversation: string, after: number, lines: readonly string[]): void {
			const before = held.get(conversation);
			const all = [...(before?.lines.slice(0, after) ?? []), ...lines];
			const length = all.reduce((sum, line) => sum + line.length, 0);
			held.delete(conversation);
			held.set(conversation, { lines: all, chars: length });
			chars += length - (before?.chars ?? 0);
			for (const [oldest, one] of held) {
				if (chars <= mostChars || oldest === conversation) break;
				held.delete(oldest);
				chars -= one.chars;
			}
		},
	};
}
