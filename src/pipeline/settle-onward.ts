import { type Findings, findEarlier } from "../engine/continuation.ts";
import type { Edit, EditReason, Plan } from "../engine/edit.ts";
import type { CountTokens } from "../engine/measure.ts";
import { pairResults } from "../engine/pairing.ts";
import type { Path } from "../engine/path.ts";
import { totalsOf } from "../engine/plan-totals.ts";
import type { Transcript } from "../engine/transcript.ts";
import { verify } from "../engine/verify.ts";
import type { LocatedMessages } from "../formats/format.ts";
import type { ReadConversation } from "../formats/read-conversation.ts";
import { writeValue } from "./write-value.ts";

/** A plan that kept every promise. */
interface SettledPlan {
	readonly plan: Plan;
	readonly countTokens: CountTokens;
	/** Where in the plan the edits of each value of the list begin; at its end the length of the plan. */
	readonly starts: Uint32Array;
}

const settledPlans: Findings<SettledPlan> = new WeakMap();

/** Takes note that a plan kept every promise, so that only what differs from it is verified as the conversation goes on. */
export function rememberSettled({ transcript, located }: ReadConversation, plan: Plan, countTokens: CountTokens): void {
	const found = startsOf(plan, located);
	if (found) settledPlans.set(transcript.messages, { plan, countTokens, starts: found.starts });
}

/**
 * Applies the plan of a conversation that goes on from one whose plan was settled. Values that equal those of then, with
 * the very same edits, keep the promises that they kept; the others are verified as if they stood alone, and all pairs
 * are looked at for one that would be torn apart.
 *
 * @returns the edited document, or `undefined` where the whole has to be verified.
 */
export function settleOnward(source: ReadConversation, plan: Plan, countTokens: CountTokens): unknown {
	const { document, located, transcript, format } = source;
	const { base, messages } = located;
	const earlier = findEarlier(settledPlans, transcript.messages);
	const isKnown = earlier?.finding.countTokens === countTokens && !format.links && base.length <= 1;
	const found = isKnown ? startsOf(plan, located, earlier.finding) : undefined;
	if (!earlier || !found) return undefined;

	const { starts } = found;
	const changed = changedValues(plan, found, earlier.finding);
	const written: unknown[] = [];
	const rewritten: unknown[] = [];
	for (let index = 0, next = 0; index < messages.length; index += 1) {
		const isChanged = changed[next] === index;
		if (isChanged) next += 1;
		const from = starts[index] as number;
		const to = starts[index + 1] as number;
		if (from === to) {
			written.push(messages[index]);
			continue;
		}
		if (to === from + 1 && isRemoval(plan[from] as Edit, base.length)) continue;
		const value = writeValue(messages[index], plan.slice(from, to), base.length + 1);
		if (value === undefined) return undefined;
		written.push(value);
		if (isChanged) rewritten.push(value);
	}
	if (tearsPairs(transcript, plan) || !keepsPromises(source, { changed, rewritten, plan, starts, countTokens })) {
		return undefined;
	}
	settledPlans.set(transcript.messages, { plan, countTokens, starts });
	const [key] = base;
	return key === undefined ? written : { ...(document as object), [key]: written };
}

/** The values with edits that they did not have when the conversation was settled before. */
function changedValues(plan: Plan, { starts, same }: EditStarts, earlier: SettledPlan): number[] {
	const changed: number[] = [];
	const before = earlier.starts;
	for (let index = same; index + 1 < starts.length; index += 1) {
		const from = starts[index] as number;
		const to = starts[index + 1] as number;
		if (from === to) continue;
		const was = before[index] ?? 0;
		let isSame = index + 1 < before.length && (before[index + 1] as number) - was === to - from;
		for (let edit = from; isSame && edit < to; edit += 1) isSame = plan[edit] === earlier.plan[was + edit - from];
		if (!isSame) changed.push(index);
	}
	return changed;
}

/** Whether a call would go without its result, or a result without its call. */
function tearsPairs(transcript: Transcript, plan: Plan): boolean {
	const isDropped = new Uint8Array(transcript.messages.length);
	for (const message of totalsOf(plan).gone) isDropped[message] = 1;
	for (const { message, caller } of pairResults(transcript)) {
		if (caller !== undefined && isDropped[message] !== isDropped[caller]) return true;
	}
	return false;
}

/** Verifies the changed values, before and after, as a conversation of their own. */
function keepsPromises(
	{ format, located, transcript }: ReadConversation,
	what: SettledPlan & { readonly changed: readonly number[]; readonly rewritten: readonly unknown[] },
): boolean {
	const { changed, rewritten, plan, starts, countTokens } = what;
	if (changed.length === 0) return true;
	const depth = located.base.length;
	const inPlace: Edit[] = [];
	for (const [position, index] of changed.entries()) {
		const paths = transcript.messages[index]?.paths;
		if (paths?.length !== 1 || paths[0]?.[depth] !== index) return false;
		for (const edit of plan.slice(starts[index], starts[index + 1])) {
			if (edit.message !== index) return false;
			inPlace.push({ ...edit, path: [position, ...edit.path.slice(depth + 1)], message: position });
		}
	}
	const read = (messages: readonly unknown[]) => {
		return { document: messages, transcript: format.read({ document: messages, base: [], messages }) };
	};
	const before = read(changed.map((index) => located.messages[index]));
	return verify(before, read(rewritten), { plan: inPlace, countTokens }).length === 0;
}

/** What is done to a message whatever is done to others, but for the pairs that it belongs to. */
const ownReasons: ReadonlySet<EditReason> = new Set(["mask", "truncate", "drop", "thinking"]);

/** Where the edits of each value begin, and how many of the first values have the very edits of an earlier plan. */
interface EditStarts {
	readonly starts: Uint32Array;
	readonly same: number;
}

/**
 * `undefined` where the edits do not stand in the order of the values, or one is no edit of a message by itself. The edits
 * with which an `earlier` plan of the same list begins too were looked at then.
 */
function startsOf(plan: Plan, { base, messages }: LocatedMessages, earlier?: SettledPlan): EditStarts | undefined {
	const values = messages.length;
	const starts = new Uint32Array(values + 1);
	let value = 0;
	let position = earlier ? commonBeginning(plan, earlier.plan) : 0;
	if (earlier && position > 0) {
		value = Number(plan[position - 1]?.path[base.length]);
		if (value >= values) return undefined;
		starts.set(earlier.starts.subarray(0, value + 1));
	}
	// The last of them may have more edits now, or fewer.
	const same = value;
	for (; position < plan.length; position += 1) {
		const { reason, path } = plan[position] as Edit;
		const at = path[base.length];
		if (typeof at !== "number" || at < value || at >= values) return undefined;
		if (!ownReasons.has(reason) || !leadsInto(path, base)) return undefined;
		for (; value < at; value += 1) starts[value + 1] = position;
	}
	starts.fill(plan.length, value + 1);
	return { starts, same };
}

/** With how many of the same edits two plans begin. */
function commonBeginning(plan: Plan, other: Plan): number {
	let length = 0;
	while (length < plan.length && length < other.length && plan[length] === other[length]) length += 1;
	return length;
}

/** Whether a path goes through a place. */
function leadsInto(path: Path, base: Path): boolean {
	for (let depth = 0; depth < base.length; depth += 1) if (path[depth] !== base[depth]) return false;
	return true;
}

/** Whether an edit takes out the whole value. */
function isRemoval(edit: Edit, depth: number): boolean {
	return edit.kind === "remove" && edit.path.length === depth + 1;
}
