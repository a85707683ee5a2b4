import { fillTemplate } from "../../masking/template.ts";
import { shortNotice } from "./assemble-units.ts";
import { characterEdge } from "./character-edge.ts";
import type { Draft, Marks, Shorten } from "./draft.ts";

/** Longest sample that tells what data it is, in characters. */
const longestSample = 120;
/** Where in the data it is looked for. */
const longestSearch = 4_096;

/** What data is described with. */
export interface DescribeDataParameters {
	readonly marks: Marks;
	readonly notice: (keptChars: number) => string;
	/** Shows the lines in it that tell of failures; `undefined` where there are none. */
	readonly failures?: Shorten | undefined;
}

/**
 * Data that no model reads: what is said of it, and the lines in it that tell of failures or else the first characters that
 * can be read.
 */
export function describeData(
	text: string,
	kind: "binary" | "base64" | "minified",
	{ marks, notice, failures }: DescribeDataParameters,
): Shorten {
	const { wording } = marks;
	const lines = text.split("\n").length;
	const said = fillTemplate(wording.data, { kind: wording.kinds[kind], total_chars: text.length, total_lines: lines });
	const readable = /[\p{L}\p{N}\p{P}\p{S} ]{6,}/u.exec(text.slice(0, longestSearch));
	return (maxChars): Draft => {
		if (failures !== undefined) {
			const room = maxChars - said.length - 1;
			if (room < 2 * said.length) return failures(maxChars);
			const { text: lines, kept, notices } = failures(room);
			return { text: `${said}\n${lines}`, kept, notices: [said, ...notices] };
		}
		const top = notice(0);
		const hasTop = said.length + top.length + 1 <= maxChars - 20;
		const short = fillTemplate(shortNotice(marks), { omitted_chars: text.length });
		// A description names no reference, so that the short notice goes before it where the whole is archived.
		const heading = said.length <= maxChars && (marks.ref === undefined || short.length > maxChars) ? said : short;
		const shown = hasTop ? `${top}\n${said}` : heading.length <= maxChars ? heading : "";
		const room = Math.min(longestSample, maxChars - shown.length - 1);
		const start = readable?.index ?? 0;
		const end = characterEdge(text, start, Math.min(start + room, readable ? start + readable[0].length : text.length));
		const notices = hasTop ? [top, said] : shown === "" ? [] : [shown];
		if (room < 6 && shown !== "") return { text: shown, kept: [], notices };
		const sample =
			shown === "" ? text.slice(start, characterEdge(text, start, start + maxChars)) : text.slice(start, end);
		const kept = sample === "" ? [] : [{ start, end: start + sample.length }];
		if (shown === "" && sample === "") return { text: "…".slice(0, maxChars), kept, notices };
		return { text: shown === "" ? sample : `${shown}\n${sample}`, kept, notices };
	};
}
