import { z } from "zod";
import { PalimpsestError } from "../../errors.ts";
import type { Recalled, RecalledListing, RecalledPart } from "../../operations/recall.ts";
import { type Answer, beside, defineTool, policyOfCall, pureTool } from "../tool.ts";

// The archive checks all bounds, which would cost every conversation tokens.
const count = z.int().optional();

/** The tool `recall_original`: reads an original that was masked, truncated or dropped. */
export const recallOriginal = defineTool({
	name: "recall_original",
	title: "Recall an original",
	description:
		"Reads the original that a placeholder names by ref= or réf=: left out on purpose, kept intact, no error. Whole or in part; answers hold max_tokens (2000).",
	annotations: pureTool,
	inputSchema: z.object({
		ref: z.string().optional(),
		tool_call_id: z.string().optional().describe("Or this."),
		lines: z.string().optional().describe('"120-180"'),
		chars: z.string().optional(),
		grep: z.string().optional().describe("Pattern"),
		context: count,
		head: count,
		tail: count,
		max_tokens: count,
	}),
	outputSchema: z.looseObject({}),
	async handle({ tool_call_id: toolCallId, max_tokens: maxTokens, ...rest }, { archive, ...context }) {
		if (!archive) throw new PalimpsestError("archive_unavailable", "Nothing is kept here that could be recalled.");
		const { recallOriginal: recall } = await import("../../operations/recall.ts");
		const policy = policyOfCall(context, undefined);
		return tellRecalled(await recall({ ...rest, archive, policy, toolCallId, maxTokens, showsImages: true }));
	},
});

/**
 * A recalled original as a tool's answer. The text block holds one line of description, then the recalled text as it was: a
 * model reads that more easily than the same text within JSON.
 */
export function tellRecalled(recalled: Recalled): Answer {
	switch (recalled.kind) {
		case "part": {
			const { part } = recalled;
			return { ...part, [beside]: { text: `${describePart(part)}\n${part.text}` } };
		}
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
			const left = leftOut > 0 ? { left_out_originals: leftOut } : {};
			return { originals, ...left, [beside]: { text: lines.join("\n") } };
		}
	}
}

/** One line: which original this is, how much of it, and how to ask for the rest. */
function describePart(part: RecalledPart): string {
	const { total, shown, matches, redactions, next } = part;
	const isWhole = part.left_out_chars === 0 && shown?.chars.start === 0 && shown.chars.end === total.chars && !matches;
	const extent =
		shown === null
			? `none of ${total.lines} lines`
			: isWhole
				? `all ${total.lines} lines`
				: `lines ${shown.lines.first}-${shown.lines.last} of ${total.lines}, characters ${shown.chars.start}-${shown.chars.end} of ${total.chars}`;
	const facts = [
		matches ? `${matches.shown} of ${matches.found} matching lines, ${extent}` : extent,
		...(redactions > 0 ? [`${redactions} places were redacted before it was kept`] : []),
		...(next ? [`for more call recall_original ${JSON.stringify(next)}`] : []),
	];
	return `[${describe(part)}: ${facts.join("; ")}]`;
}

const kinds: Readonly<Record<RecalledListing["kind"], string>> = {
	result: "Original result",
	text: "Original text",
	arguments: "Original arguments",
	group: "Dropped messages, JSON",
	media: "Original part, JSON",
	places: "Places",
};

function describe({ kind, tool_name, archived_at }: RecalledListing): string {
	// A tool's name comes from the conversation, so it is quoted and cut.
	const tool = tool_name === undefined ? "" : ` of ${JSON.stringify(tool_name.slice(0, 64))}`;
	return `${kinds[kind]}${tool}, kept ${archived_at}`;
}
