import { fillTemplate } from "../../masking/template.ts";
import { addRange, type CharRange, type Draft, type Marks } from "./draft.ts";
import type { TextUnits } from "./text-units.ts";

/** What of a text is put together. */
export interface AssembleParameters {
	readonly units: TextUnits;
	/** The units kept, in order. */
	readonly kept: readonly number[];
	readonly marks: Marks;
	/** Which notice stands at the top. */
	readonly notice: NoticeKind;
	/** Whether all of `from` to `to` (not included) are like `unit`. */
	readonly isLike?: ((unit: number, from: number, to: number) => boolean) | undefined;
}

export type NoticeKind = "full" | "short" | "none";

/** Puts kept units together, with a notice at the top and a mark at each gap. */
export function assembleUnits({ units, kept, marks, notice, isLike }: AssembleParameters): Draft {
	const { text, line, start, end, count } = units;
	const ranges: CharRange[] = [];
	const notices: string[] = [];
	const parts: string[] = [];
	let keptLines = 0;
	let keptChars = 0;
	/** The last unit that was written or left out. */
	let before = -1;
	const mark = (one: string) => {
		notices.push(one);
		parts.push(one);
	};
	const insideMark = (from: number, to: number) =>
		mark(fillTemplate(marks.wording.inside, { omitted_chars: (end[to] as number) - (start[from] as number) }));
	const gap = (from: number, to: number) => {
		// Left out: the rest of the line before, whole lines, the start of the line behind.
		let [first, last] = [from, to - 1];
		const behind = before >= 0 ? line[before] : undefined;
		const ahead = to < count ? line[to] : undefined;
		if (behind !== undefined && line[first] === behind) {
			let rest = first;
			while (rest <= last && line[rest] === behind) rest += 1;
			insideMark(first, rest - 1);
			first = rest;
		}
		let opening = last + 1;
		while (opening > first && line[opening - 1] === ahead) opening -= 1;
		if (opening > first) {
			const lines = { from: line[first] as number, to: line[opening - 1] as number };
			if (parts.length > 0) parts.push("\n");
			const alike = before >= 0 && isLike?.(before, first, opening);
			mark(fillTemplate(alike ? marks.wording.folded : marks.wording.gap, lines));
		}
		last = opening;
		if (last < to) {
			if (parts.length > 0) parts.push("\n");
			insideMark(last, to - 1);
		} else if (to < count && parts.length > 0 && behind !== ahead) parts.push("\n");
	};
	for (const unit of kept) {
		if (unit > before + 1) gap(before + 1, unit);
		else if (before >= 0 && line[before] !== line[unit]) parts.push("\n");
		const [from, to] = [start[unit] as number, end[unit] as number];
		parts.push(text.slice(from, to));
		const isFirst = line[unit] !== line[unit - 1];
		const joined = before === unit - 1 && before >= 0 && isFirst;
		addRange(ranges, joined ? (end[before] as number) : from, to);
		keptChars += to - from;
		if (isFirst) keptLines += 1;
		before = unit;
	}
	if (before < count - 1) gap(before + 1, count);
	const body = parts.join("");
	const top = writeNotice(notice, marks, { text, units, keptLines, keptChars });
	if (top !== "") notices.unshift(top);
	return { text: top !== "" && body !== "" ? `${top}\n${body}` : top + body, kept: ranges, notices };
}

function writeNotice(
	kind: NoticeKind,
	{ wording, ref }: Marks,
	{ text, units, keptLines, keptChars }: { text: string; units: TextUnits; keptLines: number; keptChars: number },
): string {
	if (kind === "none") return "";
	const full = ref === undefined ? wording.notice : wording.archived;
	const template = kind === "short" ? shortNotice({ wording, ref }) : full;
	return fillTemplate(template, {
		omitted_lines: units.lines - keptLines,
		total_lines: units.lines,
		omitted_chars: text.length - keptChars,
		total_chars: text.length,
		...(ref === undefined ? {} : { ref }),
	});
}

/** The notice for little room, with the reference filled in where there is one. Variable: {omitted_chars}. */
export function shortNotice({ wording, ref }: Marks): string {
	return ref === undefined ? wording.short : fillTemplate(wording.shortArchived, { ref });
}

/** Most characters that a notice and a mark can take, line feed included. */
export function longestMarks({ units, marks }: Pick<AssembleParameters, "units" | "marks">) {
	const { wording, ref } = marks;
	const [chars, lines] = [units.text.length, units.lines];
	const most = { omitted_chars: chars, total_chars: chars, omitted_lines: lines, total_lines: lines };
	const full = ref === undefined ? wording.notice : fillTemplate(wording.archived, { ref });
	const short = shortNotice(marks);
	const lengthOf = (template: string, values: Record<string, number>) => fillTemplate(template, values).length + 1;
	const span = { from: lines, to: lines };
	const gap = Math.max(lengthOf(wording.gap, span), lengthOf(wording.folded, span));
	return {
		full: lengthOf(full, most),
		short: lengthOf(short, most),
		gap,
		inside: lengthOf(wording.inside, most),
	};
}
