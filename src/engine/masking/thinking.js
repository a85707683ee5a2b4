import { groupBy, once } from "../conversation/lists.js";
import { sizeOf } from "../conversation/measure.js";
import { jsonPointer, valueAt } from "../conversation/paths.js";
import { noSize, takesMessageOut } from "../conversation/plan.js";
export const madeNow = () => Number.POSITIVE_INFINITY;
/** On demand, since only a conversation with bound reasoning needs them. */
export function lazyMoments(find) {
	const found = once(find);
	return (edit) => found()(edit);
}
/**
 * The reasoning blocks that are bound to text that a plan changes: those between an edit and the moment at which it was
 * first made. A later block was written to the edited text. Providers that check the binding (Claude from 5.1 on) may
 * refuse the others.
 */
export function affectedThinking(transcript, plan, momentOf = madeNow) {
	if (!transcript.messages.some(({ thinking }) => thinking.some(({ bound }) => bound))) return [];
	const edited = plan.filter((edit) => !edit.unsent);
	const byMessage = groupBy(edited, ({ message }) => message);
	const dropped = new Set(plan.filter(takesMessageOut).map((edit) => edit.message));
	// The latest moment at which anything before a message was edited.
	let latest = Number.NEGATIVE_INFINITY;
	return transcript.messages.flatMap(({ thinking }, message) => {
		const here = byMessage.get(message) ?? [];
		// A message that is put in front of this one comes before all of it.
		const isInFront = (edit) => edit.kind === "insert" && edit.inserts === "message";
		for (const edit of here.filter(isInFront)) latest = Math.max(latest, momentOf(edit));
		const before = latest;
		for (const edit of here) latest = Math.max(latest, momentOf(edit));
		if (dropped.has(message)) return [];
		const bound = thinking.filter((block) => block.bound);
		// A message may have several steps, and reasoning after a result.
		const affected = before > message ? bound : bound.filter(({ path }) => here.some((edit) => isBefore(edit, path)));
		return affected.map((block) => ({ message, block }));
	});
}
/** Whether an edit is of an earlier item of the same list, or puts one in front of this item. */
function isBefore({ kind, path }, other) {
	const isInsert = kind === "insert";
	const place = isInsert ? path.slice(0, -1) : path;
	const fork = place.findIndex((segment, index) => segment !== other[index]);
	const at = isInsert && fork === -1 ? place.length : fork;
	const [a, b] = [path[at], other[at]];
	return typeof a === "number" && typeof b === "number" && (isInsert && fork === -1 ? a <= b : a < b);
}
/** Plans to remove those blocks. A block stays (`left`) if it is fixed, or if its message or its list would become empty. */
export function planStripThinking(what) {
	const { document, transcript, affected, countTokens } = what;
	const removable = affected.filter(({ block }) => !block.fixed);
	const removed = new Set(removable.map(({ block }) => jsonPointer(block.path)));
	const siblings = groupBy(removable, ({ block }) => jsonPointer(block.path.slice(0, -1)));
	const emptiesList = ({ path }) => {
		const list = valueAt(document, path.slice(0, -1));
		return !Array.isArray(list) || siblings.get(jsonPointer(path.slice(0, -1)))?.length === list.length;
	};
	const emptiesMessage = (message) =>
		transcript.messages[message]?.paths.every((path) => removed.has(jsonPointer(path))) ?? true;
	const edits = [];
	const left = [];
	for (const one of affected) {
		const { message, block } = one;
		if (block.fixed || emptiesMessage(message) || emptiesList(block)) {
			left.push(one);
			continue;
		}
		const before = sizeOf(block.text, countTokens);
		edits.push({ kind: "remove", reason: "thinking", path: block.path, message, before, after: noSize });
	}
	return { edits, left };
}
