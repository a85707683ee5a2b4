import { z } from "zod";
import { PalimpsestError } from "../../errors.ts";
import { truncationStrategies } from "../../policy/truncation-strategies.ts";
import { originalLink } from "../original-link.ts";
import { policyInput, policyOfCall } from "../policy-input.ts";
import { beside, defineTool, pureTool } from "../tool.ts";

/** Cuts one large text to its head and tail, or to what matters in it. */
export const truncateOutput = defineTool({
	name: "truncate_output",
	title: "Truncate a large output",
	description:
		"Shortens one large text (log, JSON, diff, …) to head and tail, or to what its structure and your focus say matters. Says what is left out. Within the limit it stays as it is.",
	annotations: pureTool,
	inputSchema: z.object({
		text: z.string().optional().describe("Or give `path`."),
		path: z.string().optional().describe("File with the text."),
		max_chars: z.int().optional().describe("Limit"),
		max_tokens: z.int().optional().describe("Or this."),
		strategy: z.enum(truncationStrategies).optional(),
		focus: z.string().optional().describe("What you look for."),
		policy: policyInput(["truncate"]),
	}),
	outputSchema: z.looseObject({ text: z.string().optional(), truncated: z.boolean() }),
	async handle({ text, path, max_chars: maxChars, max_tokens: maxTokens, policy: override, ...rest }, context) {
		const policy = policyOfCall(context, override);
		const { archive, log } = context;
		if ((text === undefined) === (path === undefined)) {
			throw new PalimpsestError("invalid_argument", "Expected either `text` or `path`, and not both.");
		}
		const whole = text ?? (await context.files.read(path ?? "", policy.limits.max_file_bytes)).toString("utf8");
		const { truncateText } = await import("../../pipeline/truncate-text.ts");
		const request = { ...rest, text: whole, policy, maxChars, maxTokens, archive, recall: "offered", log } as const;
		const cut = await truncateText(request);
		const { ref } = cut.report;
		const links = ref === undefined ? [] : [originalLink({ ref, chars: whole.length })];
		return { text: cut.text, ...cut.report, [beside]: { blocks: links } };
	},
});
