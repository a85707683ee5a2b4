import type { Edit, Plan, Size } from "./edit.ts";
import type { Path } from "./path.ts";

/** A plan in the making: edits of several strategies, none overlapping another. */
export interface Draft {
	/** Adds an edit unless an earlier one settles that part already; tells whether it was added. */
	readonly add: (edit: Edit) => boolean;
	/** The edits so far, by message, oldest first. */
	readonly plan: () => Plan;
	/** Size of each message with the edits made so far. */
	readonly sizes: () => readonly Size[];
	/** Tokens that the edits made so far save. */
	readonly savedTokens: () => number;
}

/**
 * Starts a plan over messages of the given sizes. A dropped message takes its other edits with it; a placeholder takes
 * the place of truncations inside its content where it is smaller than what they leave, never the other way round.
 */
export function startDraft(before: readonly Size[]): Draft {
	const byMessage = new Array<Edit[] | undefined>(before.length);
	return {
		add(edit) {
			const present = byMessage[edit.message];
			if (!present) {
				byMessage[edit.message] = [edit];
				return true;
			}
			if (edit.reason === "drop") {
				byMessage[edit.message] = [...present.filter((one) => one.reason === "drop"), edit];
				return true;
			}
			if (present.some((one) => one.reason === "drop")) return false;
			const overlapping = present.filter((one) => overlap(one.path, edit.path));
			if (overlapping.some((one) => one.reason === edit.reason || edit.reason === "truncate")) return false;
			if (overlapping.length > 0 && saved([edit]) <= saved(overlapping)) return false;
			byMessage[edit.message] = [...present.filter((one) => !overlapping.includes(one)), edit];
			return true;
		},
		plan: () => byMessage.flatMap((edits) => edits ?? []),
		sizes() {
			const sizes = [...before];
			byMessage.forEach((edits, message) => {
				const size = sizes[message];
				if (edits && size) sizes[message] = sizeAfter(size, edits);
			});
			return sizes;
		},
		savedTokens() {
			let tokens = 0;
			byMessage.forEach((edits, message) => {
				const size = before[message];
				if (edits && size) tokens += size.tokens - sizeAfter(size, edits).tokens;
			});
			return tokens;
		},
	};
}

function sizeAfter(before: Size, edits: readonly Edit[]): Size {
	let { chars, tokens } = before;
	for (const edit of edits) {
		if (edit.reason === "drop") return nothing;
		if (edit.unsent) continue;
		chars += edit.after.chars - edit.before.chars;
		tokens += edit.after.tokens - edit.before.tokens;
	}
	return { chars, tokens };
}

const nothing: Size = { chars: 0, tokens: 0 };

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
