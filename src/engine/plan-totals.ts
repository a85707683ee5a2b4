import type { Edit, Plan, Size } from "./edit.ts";
import { type SizeSum, startSum, subtractSizes } from "./size.ts";
import { takesMessageOut } from "./takes-message-out.ts";

/** What the edits of a plan come to, all together. Sizes leave out what is sent to no model. */
export interface PlanTotals {
	/** What the edits take away less what they put in. */
	readonly saved: Size;
	/** The same of those that stand in a message. */
	readonly savedInMessages: Size;
	/** The first message with such an edit; `undefined` where there is none. */
	readonly firstMessage: number | undefined;
	/** Characters that results lost. */
	readonly resultChars: number;
	/** Messages that go, each once. */
	readonly gone: readonly number[];
	/** Messages that were not there before. */
	readonly added: number;
	readonly dropped: { readonly messages: number; readonly before: Size };
	readonly summarised: { readonly messages: number; readonly before: Size; readonly after: Size };
	/** Results masked and the edits that do it, with the characters of what these take out and put in. */
	readonly masked: {
		readonly results: number;
		readonly edits: number;
		readonly charsBefore: number;
		readonly charsAfter: number;
	};
	/** Results truncated, and the edits that do it. */
	readonly truncated: { readonly results: number; readonly edits: readonly Edit[] };
}

// A plan never changes once it is complete, and the report, its costs and the log each ask.
const known = new WeakMap<Plan, PlanTotals>();

/** Sums up a plan in one pass, once. The edits of a result stand side by side in it, and so do those that drop a message. */
export function totalsOf(plan: Plan): PlanTotals {
	const totals = known.get(plan) ?? sumUp(plan);
	known.set(plan, totals);
	return totals;
}

function sumUp(plan: Plan): PlanTotals {
	const [saved, savedElsewhere] = [startSum(), startSum()];
	let firstMessage: number | undefined;
	let resultChars = 0;
	let added = 0;
	const gone: number[] = [];
	const dropped = { messages: 0, before: startSum() };
	const summarised = { messages: new Set<number>(), before: startSum(), after: startSum() };
	const masked = { results: 0, edits: 0, charsBefore: 0, charsAfter: 0 };
	const truncated = { results: 0, edits: [] as Edit[] };
	const last: { dropped: number; masked: unknown; truncated: unknown } = { dropped: -1, masked: plan, truncated: plan };
	for (let index = 0; index < plan.length; index += 1) {
		const edit = plan[index] as Edit;
		const { kind, reason, message, before, after, result, unsent } = edit;
		if (kind === "insert" ? edit.inserts === "message" : kind === "replace" && reason === "summary") added += 1;
		switch (reason) {
			case "drop":
				dropped.before.add(before);
				if (message !== last.dropped) {
					last.dropped = message;
					dropped.messages += 1;
					gone.push(message);
				}
				break;
			case "summary":
				if (takesMessageOut(edit) && !summarised.messages.has(message)) {
					summarised.messages.add(message);
					gone.push(message);
				}
				summarised.before.add(before);
				summarised.after.add(after);
				break;
			case "mask":
				if (result !== last.masked) {
					last.masked = result;
					masked.results += 1;
				}
				if (unsent) break;
				masked.edits += 1;
				masked.charsBefore += before.chars;
				masked.charsAfter += after.chars;
				break;
			case "truncate":
				if (result !== last.truncated) {
					last.truncated = result;
					truncated.results += 1;
				}
				if (!unsent) truncated.edits.push(edit);
				break;
		}
		if (unsent) continue;
		addDifference(saved, before, after);
		if (kind === "replace" && reason !== "summary") resultChars += before.chars - after.chars;
		if (message < 0) {
			addDifference(savedElsewhere, before, after);
			continue;
		}
		if (firstMessage === undefined || message < firstMessage) firstMessage = message;
	}
	return {
		saved: saved.total(),
		savedInMessages: subtractSizes(saved.total(), savedElsewhere.total()),
		firstMessage,
		resultChars,
		gone,
		added,
		dropped: { messages: dropped.messages, before: dropped.before.total() },
		summarised: {
			messages: summarised.messages.size,
			before: summarised.before.total(),
			after: summarised.after.total(),
		},
		masked,
		truncated,
	};
}

function addDifference(sum: SizeSum, before: Size, after: Size): void {
	sum.add(before);
	sum.subtract(after);
}
