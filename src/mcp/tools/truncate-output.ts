import { z } from "zod";
import { PalimpsestError } from "../../errors.ts";
import { originalLink } from "../original-link.ts";
import { policyInput, policyOfCall } from "../policy-input.ts";
import { beside, defineTool, pureTool } from "../tool.ts";

/** Cuts one large text to its head and tail. */
export const truncateOutput = defineTool({
	name: "truncate_output",
	title: "Truncate a large output",
	description:
		"Shortens one large text (a tool output, a log) to its head and tail with a marker between that says how much is missing. Texts within the limit come back unchanged; never longer than before.",
	annotations: pureTool,
	inputSchema: z.object({
		text: z.string().optional().describe("The text. Or give `path`."),
		path: z.string().optional().describe("File with the text."),
		max_chars: z.int().min(0).optional().describe("Characters up to which the text is left whole."),
		policy: policyInput(["truncate"]),
	}),
	outputSchema: z.looseObject({ text: z.string().optional(), truncated: z.boolean(), omitted_chars: z.int() }),
	async handle({ text, path, max_chars, policy: override }, context) {
		const policy = policyOfCall(context, override);
		const { archive, log } = context;
		if ((text === undefined) === (path === undefined)) {
			throw new PalimpsestError("invalid_argument", "Expected either `text` or `path`, and not both.");
		}
		const whole = text ?? (await context.files.read(path ?? "", policy.limits.max_file_bytes)).toString("utf8");
		const { truncateText } = await import("../../pipeline/truncate-text.ts");
		const cut = await truncateText({ text: whole, policy, maxChars: max_chars, archive, log });
		const { ref } = cut.report;
		const links = ref === undefined ? [] : [originalLink({ ref, chars: whole.length })];
		return { text: cut.text, ...cut.report, [beside]: { blocks: links } };
	},
});
