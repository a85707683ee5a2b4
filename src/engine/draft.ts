import type { Edit, Plan, Size } from "./edit.ts";
import type { Path } from "./path.ts";

/** A plan in the making: edits of several strategies, none overlapping another. */
export interface Draft {
	/** Adds an edit unless an earlier one settles that part already; tells whether it was added. */
	readonly add: (edit: Edit) => boolean;
	/** The edits so far, by message, oldest first. */
	readonly plan: () => Plan;
	/** Size of each message with the edits made so far. */
	readonly sizes: () => Size[];
}

/**
 * Starts a plan over messages of the given sizes. A dropped message takes its other edits with it; a placeholder takes
 * the place of truncations inside its content where it is smaller than what they leave, never the other way round.
 */
export function startDraft(before: readonly Size[]): Draft {
	const byMessage = new Map<number, Edit[]>();
	return {
		add(edit) {
			const present = byMessage.get(edit.message) ?? [];
			if (edit.reason === "drop") {
				byMessage.set(edit.message, [...present.filter((one) => one.reason === "drop"), edit]);
				return true;
			}
			if (present.some((one) => one.reason === "drop")) return false;
			const overlapping = present.filter((one) => overlap(one.path, edit.path));
			if (overlapping.some((one) => one.reason === edit.reason || edit.reason === "truncate")) return false;
			if (overlapping.length > 0 && saved([edit]) <= saved(overlapping)) return false;
			byMessage.set(edit.message, [...present.filter((one) => !overlapping.includes(one)), edit]);
			return true;
		},
		plan: () =>
			Array.from(byMessage)
				.sort(([a], [b]) => a - b)
				.flatMap(([, edits]) => edits),
		sizes() {
			const sizes = before.map((size) => ({ ...size }));
			for (const [message, edits] of byMessage) {
				const size = sizes[message];
				if (!size) continue;
				if (edits.some((edit) => edit.reason === "drop")) {
					size.chars = 0;
					size.tokens = 0;
					continue;
				}
				for (const edit of edits) {
					if (edit.unsent) continue;
					size.chars += edit.after.chars - edit.before.chars;
					size.tokens += edit.after.tokens - edit.before.tokens;
				}
			}
			return sizes;
		},
	};
}

/** What edits save: tokens, or characters where they stand in a copy that costs none. */
function saved(edits: readonly Edit[]): number {
	const key = edits[0]?.unsent ? "chars" : "tokens";
	return edits.reduce((sum, edit) => sum + edit.before[key] - edit.after[key], 0);
}

function overlap(a: Path, b: Path): boolean {
	const length = Math.min(a.length, b.length);
	for (let index = 0; index < length; index += 1) if (a[index] !== b[index]) return false;
	return true;
}
