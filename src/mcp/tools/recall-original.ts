import { z } from "zod";
import { PalimpsestError } from "../../errors.ts";
import { policyOfCall } from "../policy-input.ts";
import { tellRecalled } from "../tell-recalled.ts";
import { defineTool, pureTool } from "../tool.ts";

// The archive checks all bounds, which would cost every conversation tokens.
const count = z.int().optional();

/** Reads again what was masked, truncated or dropped. */
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
		const { recallOriginal: recall } = await import("../../pipeline/recall-original.ts");
		const policy = policyOfCall(context, undefined);
		return tellRecalled(await recall({ ...rest, archive, policy, toolCallId, maxTokens, showsImages: true }));
	},
});
