import type { Recalled, RecalledListing, RecalledPart } from "../operations/recall.ts";
import { type FoundOriginals, originalNames, writeSearch } from "../operations/search-originals.ts";
import { type Answer, beside } from "./answer.ts";

/** One line of description, then the unchanged text: hosts that show structured content alone would show it as JSON. */
export function recalledAnswer(recalled: Recalled): Answer {
	switch (recalled.kind) {
		case "part":
			return { ...recalled.part, [beside]: { text: `${describePart(recalled.part)}\n${recalled.part.text}` } };
		case "image": {
			const { listing, image } = recalled;
			const { mediaType, bytes, data } = image;
			const text = `${describe(listing)}: ${mediaType}, ${bytes} bytes, follows.`;
			const blocks = [{ type: "image" as const, data, mimeType: mediaType }];
			return { ...listing, image: { media_type: mediaType, bytes }, [beside]: { text, blocks } };
		}
		case "several": {
			const { originals, leftOut } = recalled;
			const lines = [
				"Several originals have this tool_call_id. Ask for one by its ref:",
				...originals.map((one) => `${one.ref} ${describe(one)}, ${one.chars} characters`),
				...(leftOut > 0 ? [`and ${leftOut} more`] : []),
			];
			const left = leftOut > 0 && { left_out_originals: leftOut };
			return { originals, ...left, [beside]: { text: lines.join("\n") } };
		}
	}
}

/** The line on a part: its source, its extent, and the call for more. */
export function describePart(part: RecalledPart): string {
	const { total, shown, matches, redactions, next } = part;
	const isWhole = part.left_out_chars === 0 && shown?.chars.start === 0 && shown.chars.end === total.chars && !matches;
	const isOne = total.lines === 1;
	const all = `${total.lines} ${isOne ? "line" : "lines"}`;
	const extent =
		shown === null
			? `none of ${all}`
			: isWhole
				? isOne
					? "the only line"
					: `all ${all}`
				: `lines ${shown.lines.first}-${shown.lines.last} of ${total.lines}, characters ${shown.chars.start}-${shown.chars.end} of ${total.chars}`;
	const facts = [
		matches ? `${matches.shown} of ${matches.found} matching lines, ${extent}` : extent,
		...(redactions > 0 ? [`${redactions} places were redacted before it was kept`] : []),
		...(next ? [`for more call recall_original ${JSON.stringify(next)}`] : []),
	];
	return `[${describe(part)}: ${facts.join("; ")}]`;
}

function describe({ kind, tool_name, archived_at }: RecalledListing): string {
	// A tool's name comes from the conversation, so it is quoted and cut.
	const tool = tool_name === undefined ? "" : ` of ${JSON.stringify(tool_name.slice(0, 64))}`;
	return `${originalNames[kind]}${tool}, kept ${archived_at}`;
}

export function foundAnswer(found: FoundOriginals): Answer {
	const how = "Read one with recall_original and its ref, for instance with lines or grep.";
	const goOn = (ref: string) => `call it with the same query and ${JSON.stringify({ ref })}.`;
	return { ...found, [beside]: { text: writeSearch(found, { how, goOn }) } };
}
