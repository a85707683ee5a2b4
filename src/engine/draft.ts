import type { Edit, Plan, Size } from "./edit.ts";
import type { Path } from "./path.ts";
import { startSum } from "./size.ts";

/** A plan in the making: edits of several strategies, none overlapping another. */
export interface Draft {
	/** Adds an edit unless an earlier one settles that part already; tells whether it was added. */
	readonly add: (edit: Edit) => boolean;
	/** The edits so far, by message, oldest first. */
	readonly plan: () => Plan;
	/** Size of each message with the edits made so far; follows them. */
	readonly sizes: () => readonly Size[];
	/** What the edits made so far save. */
	readonly saved: () => Size;
}

/**
 * Starts a plan over messages of the given sizes. A dropped message takes its other edits with it; a placeholder takes
 * the place of truncations inside its content where it is smaller than what they leave, never the other way round.
 */
export function startDraft(before: readonly Size[]): Draft {
	const byMessage: (readonly Edit[] | undefined)[] = before.map(() => undefined);
	const sizes = [...before];
	const saved = startSum();

	/** Puts edits in the place of those that a message had. */
	function settle(message: number, edits: readonly Edit[]): true {
		byMessage[message] = edits;
		const was = sizes[message];
		const original = before[message];
		if (!was || !original) return true;
		const is = sizeAfter(original, edits);
		sizes[message] = is;
		saved.add(was);
		saved.subtract(is);
		return true;
	}

	return {
		add(edit) {
			const present = byMessage[edit.message];
			if (!present) return settle(edit.message, [edit]);
			if (edit.reason === "drop") {
				// What drops a message stands alone there, so that the first edit tells.
				return settle(edit.message, present[0]?.reason === "drop" ? [...present, edit] : [edit]);
			}
			if (present.some((one) => one.reason === "drop")) return false;
			const overlapping = present.filter((one) => overlap(one.path, edit.path));
			if (overlapping.some((one) => one.reason === edit.reason || edit.reason === "truncate")) return false;
			if (overlapping.length > 0 && savedBy([edit]) <= savedBy(overlapping)) return false;
			return settle(edit.message, [...present.filter((one) => !overlapping.includes(one)), edit]);
		},
		plan() {
			const plan: Edit[] = [];
			for (let message = 0; message < byMessage.length; message += 1) {
				const edits = byMessage[message];
				if (edits) for (let index = 0; index < edits.length; index += 1) plan.push(edits[index] as Edit);
			}
			return plan;
		},
		sizes: () => sizes,
		saved: saved.total,
	};
}

function sizeAfter(before: Size, edits: readonly Edit[]): Size {
	if (edits[0]?.reason === "drop") return nothing;
	let { chars, tokens, fixed = 0 } = before;
	for (const { unsent, before: was, after: is } of edits) {
		if (unsent) continue;
		chars += is.chars - was.chars;
		tokens += is.tokens - was.tokens;
		fixed += (is.fixed ?? 0) - (was.fixed ?? 0);
	}
	return { chars, tokens, fixed };
}

const nothing: Size = { chars: 0, tokens: 0 };

/** What edits save: tokens, or characters where they stand in a copy that costs none. */
function savedBy(edits: readonly Edit[]): number {
	const key = edits[0]?.unsent ? "chars" : "tokens";
	return edits.reduce((sum, edit) => sum + edit.before[key] - edit.after[key], 0);
}

function overlap(a: Path, b: Path): boolean {
	const length = Math.min(a.length, b.length);
	for (let index = 0; index < length; index += 1) if (a[index] !== b[index]) return false;
	return true;
}
