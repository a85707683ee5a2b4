import type { Edit, InsertEdit, ReplaceEdit, Size, TakenOut } from "../edit.ts";
import type { TokenMeter } from "../measure.ts";
import type { MessageWriter } from "../message-writer.ts";
import { type Path, valueAt } from "../path.ts";
import type { Transcript } from "../transcript.ts";
import type { PickedRange } from "./pick-range.ts";

/** What putting a summary into a conversation needs to know. */
export interface SummaryPlanParameters {
	readonly document: unknown;
	readonly transcript: Transcript;
	/** Path of the list of messages. */
	readonly base: Path;
	readonly writer: MessageWriter;
	readonly range: PickedRange;
	/** Size of each message before any edit. */
	readonly sizes: readonly Size[];
	/** The framed summary. */
	readonly text: string;
	readonly meter: TokenMeter;
	/** What it stands for, where that is archived. */
	readonly takenOut?: TakenOut | undefined;
}

const nothing: Size = { chars: 0, tokens: 0 };

/**
 * Plans to put a summary in the place of a range of messages. In a format whose API wants user and assistant in turn it is
 * added to the user message beside it; else it is a message of its own, in the place of the first value of the range or,
 * where that value is only a part of one that holds other messages too, in front of it.
 */
export function planSummary(parameters: SummaryPlanParameters): Edit[] {
	const { transcript, range, sizes } = parameters;
	const summary = planPart(parameters) ?? planMessage(parameters);
	const edits: Edit[] = [summary];
	for (const index of range.messages) {
		transcript.messages[index]?.paths.forEach((path, position) => {
			if (summary.kind === "replace" && index === range.first && position === 0) return;
			const before = position === 0 ? (sizes[index] ?? nothing) : nothing;
			edits.push({ kind: "remove", reason: "summary", path, message: index, before, after: nothing });
		});
	}
	return edits;
}

/** The summary as a part of the user message in front of the range, else of the one behind it; `undefined` where none is. */
function planPart(parameters: SummaryPlanParameters): InsertEdit | undefined {
	const { document, transcript, writer, range, text, meter, takenOut } = parameters;
	const { part } = writer;
	if (!part) return undefined;
	const gone = new Set(range.messages);
	const behind = transcript.messages.findIndex((_, index) => index > range.first && !gone.has(index));
	for (const message of [range.first - 1, behind]) {
		const neighbour = transcript.messages[message];
		const place = neighbour?.paths[0];
		if (!place || neighbour.role !== "user") continue;
		const list = [...place, ...part.list];
		const parts = valueAt(document, list);
		if (!Array.isArray(parts)) continue;
		// What tools answered comes first in its message.
		const isFirst = message === behind && neighbour.results.length === 0;
		const after = { chars: text.length, tokens: meter.countTokens(text) };
		const path = [...list, isFirst ? 0 : parts.length];
		return insert({ path, message, inserts: "part", value: part.write(text), after, takenOut });
	}
	return undefined;
}

function planMessage(parameters: SummaryPlanParameters): InsertEdit | ReplaceEdit {
	const { document, transcript, base, writer, range, sizes, text, meter, takenOut } = parameters;
	const fixed = meter.messageOverhead;
	const after = { chars: text.length, tokens: meter.countTokens(text) + fixed, fixed };
	const [path = []] = transcript.messages[range.first]?.paths ?? [];
	// In front of a compaction's record it would be sent no longer.
	const place = isListed(path, parameters) ? path : path.slice(0, base.length + 1);
	const value = writer.message({ role: "user", text, instead: valueAt(document, place) });
	if (path.length > place.length) {
		const message = transcript.messages.findIndex(({ paths }) => paths[0]?.[base.length] === place.at(-1));
		return insert({ path: place, message, inserts: "message", value, after, takenOut });
	}
	return {
		kind: "replace",
		reason: "summary",
		path,
		message: range.first,
		replacement: value,
		before: sizes[range.first] ?? nothing,
		after,
		...(takenOut ? { takenOut } : {}),
	};
}

/** Whether a path leads to an item of a list of messages that a value of the list of messages holds. */
function isListed(path: Path, { base, writer: { within } }: SummaryPlanParameters): boolean {
	if (!within) return false;
	const begin = base.length + 1;
	return path.length === begin + within.length + 1 && within.every((key, index) => path[begin + index] === key);
}

function insert(given: Pick<InsertEdit, "path" | "message" | "inserts" | "value" | "after" | "takenOut">): InsertEdit {
	const { takenOut, ...edit } = given;
	return { kind: "insert", reason: "summary", before: nothing, ...edit, ...(takenOut ? { takenOut } : {}) };
}
