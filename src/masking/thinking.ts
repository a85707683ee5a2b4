import { type CountTokens, sizeOf } from "../conversation/measure.ts";
import { type Edit, type Plan, type RemoveEdit, takesMessageOut } from "../conversation/plan.ts";
import { jsonPointer, type Path, type ThinkingBlock, type Transcript, valueAt } from "../conversation/transcript.ts";

/** A reasoning block whose prefix a plan changes. */
export interface AffectedThinking {
	readonly message: number;
	readonly block: ThinkingBlock;
}

/** How blocks are taken out: by these edits, but for those that have to stay. */
export interface ThinkingStrip {
	readonly edits: readonly RemoveEdit[];
	readonly left: readonly AffectedThinking[];
}

/**
 * How many messages there were when an edit was first made, in an earlier call about the same history; `Infinity` where
 * it is made now.
 */
export type MomentOf = (edit: Edit) => number;

/** Every edit is made now. */
export const madeNow: MomentOf = () => Number.POSITIVE_INFINITY;

/** Finds the moments when one is asked for: only a conversation with bound reasoning needs them. */
export function lazyMoments(find: () => MomentOf): MomentOf {
	let found: MomentOf | undefined;
	return (edit) => {
		found ??= find();
		return found(edit);
	};
}

/**
 * The reasoning blocks that are bound to what stood before them and no longer does: those between an edit and the moment
 * at which it was first made. What was written after that moment was written to the edited text, and is valid. Providers
 * that check the binding (Claude from 5.1 on) may refuse a block whose prefix differs.
 */
export function affectedThinking(transcript: Transcript, plan: Plan, momentOf: MomentOf = madeNow): AffectedThinking[] {
	if (transcript.messages.every(({ thinking }) => thinking.length === 0)) return [];
	const edited = plan.filter((edit) => !edit.unsent && edit.message >= 0);
	if (edited.length === 0) return [];
	const first = edited.reduce((least, { message }) => Math.min(least, message), Number.POSITIVE_INFINITY);
	if (!transcript.messages.some(({ thinking }, index) => index >= first && thinking.some(({ bound }) => bound)))
		return [];
	const byMessage = new Map<number, Edit[]>();
	for (const edit of edited) {
		const known = byMessage.get(edit.message);
		if (known) known.push(edit);
		else byMessage.set(edit.message, [edit]);
	}
	const dropped = new Set(plan.filter(takesMessageOut).map((edit) => edit.message));
	// The latest moment at which anything before a message was edited.
	let latest = Number.NEGATIVE_INFINITY;
	return transcript.messages.flatMap(({ thinking }, message) => {
		const here = byMessage.get(message) ?? [];
		const before = latest;
		for (const edit of here) latest = Math.max(latest, momentOf(edit));
		if (dropped.has(message)) return [];
		const bound = thinking.filter((block) => block.bound);
		// A message may hold several steps, so that reasoning stands behind a result in the same one.
		const affected =
			before > message ? bound : bound.filter(({ path }) => here.some((edit) => isBefore(edit.path, path)));
		return affected.map((block) => ({ message, block }));
	});
}

/** Whether a path leads to an earlier item of the same list. */
function isBefore(path: Path, other: Path): boolean {
	const fork = path.findIndex((segment, index) => segment !== other[index]);
	const [a, b] = [path[fork], other[fork]];
	return typeof a === "number" && typeof b === "number" && a < b;
}

/**
 * Plans to take those blocks out as wholes. A block stays where it cannot be taken out, and where nothing would be left
 * of its message or of the list that it stands in, since no API takes an empty one.
 */
export function planStripThinking(what: {
	readonly document: unknown;
	readonly transcript: Transcript;
	readonly affected: readonly AffectedThinking[];
	readonly countTokens: CountTokens;
}): ThinkingStrip {
	const { document, transcript, affected, countTokens } = what;
	const removable = affected.filter(({ block }) => !block.fixed);
	const removed = new Set(removable.map(({ block }) => jsonPointer(block.path)));
	const siblings = countBy(removable, ({ block }) => jsonPointer(block.path.slice(0, -1)));
	const emptiesList = ({ path }: ThinkingBlock) => {
		const list = valueAt(document, path.slice(0, -1));
		return !Array.isArray(list) || siblings.get(jsonPointer(path.slice(0, -1))) === list.length;
	};
	const emptiesMessage = (message: number) =>
		transcript.messages[message]?.paths.every((path) => removed.has(jsonPointer(path))) ?? true;
	const edits: RemoveEdit[] = [];
	const left: AffectedThinking[] = [];
	for (const one of affected) {
		const { message, block } = one;
		if (block.fixed || emptiesMessage(message) || emptiesList(block)) {
			left.push(one);
			continue;
		}
		const before = sizeOf(block.text, countTokens);
		const after = { chars: 0, tokens: 0 };
		edits.push({ kind: "remove", reason: "thinking", path: block.path, message, before, after });
	}
	return { edits, left };
}

function countBy<Item>(items: readonly Item[], keyOf: (item: Item) => string): ReadonlyMap<string, number> {
	const counts = new Map<string, number>();
	for (const item of items) counts.set(keyOf(item), (counts.get(keyOf(item)) ?? 0) + 1);
	return counts;
}
