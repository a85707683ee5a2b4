import { z } from "zod";
import { truncateText } from "../../pipeline/truncate-text.ts";
import { policyInput, policyOfCall } from "../policy-input.ts";
import { defineTool, pureTool } from "../tool.ts";

/** Cuts one large text to its head and tail. */
export const truncateOutput = defineTool({
	name: "truncate_output",
	title: "Truncate a large output",
	description:
		"Shortens one large text (a tool output, a log) to its head and tail with a marker between that says how much is missing. Texts within the limit come back unchanged; never longer than before.",
	annotations: pureTool,
	inputSchema: z.object({
		text: z.string(),
		max_chars: z.int().min(0).optional().describe("Characters up to which the text is left whole."),
		policy: policyInput(["truncate"]),
	}),
	outputSchema: z.looseObject({ text: z.string(), truncated: z.boolean(), omitted_chars: z.int() }),
	async handle({ text, max_chars, policy }, context) {
		const cut = await truncateText({
			text,
			policy: policyOfCall(context, policy),
			maxChars: max_chars,
			log: context.log,
		});
		return { text: cut.text, ...cut.report };
	},
});
