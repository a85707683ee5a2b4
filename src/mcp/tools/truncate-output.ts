import { z } from "zod";
import { PalimpsestError } from "../../errors.ts";
import type { TruncateOutcome } from "../../pipeline/truncate-text.ts";
import { truncationStrategies } from "../../policy/names.ts";
import { originalLink } from "../resources.ts";
import { type Answer, beside, defineTool, policyInput, policyOfCall, pureTool } from "../tool.ts";

/** Members that a model can do without, in two steps: the marks in the text tell which lines are left out. */
const [spare, unneeded] = [
	["band", "encoding", "method", "factor", "chars", "kept_lines", "omitted_chars", "omitted"],
	["strategy", "tokens", "lines", "omitted_lines"],
] as const;

/** Forms of the answer, the fullest first: where the answer has to be small, the text needs the room. */
const forms: readonly ((outcome: TruncateOutcome) => Answer)[] = [
	({ text, report }) => {
		const { ref, chars } = report;
		const blocks = ref === undefined ? [] : [originalLink({ ref, chars: chars.before })];
		return { text, ...report, [beside]: { blocks } };
	},
	({ text, report }) => without({ text, ...report }, spare),
	({ text, report }) => without({ text, ...report }, [...spare, ...unneeded]),
];

function without(answer: Answer, names: readonly string[]): Answer {
	return Object.fromEntries(Object.entries(answer).filter(([name]) => !names.includes(name)));
}

/** The two things that hosts show of an answer: its structured content, or its blocks, the first of which repeats that. */
function shownOf(answer: Answer): readonly string[] {
	const json = JSON.stringify(answer);
	const blocks = answer[beside]?.blocks ?? [];
	return [json, [json, ...blocks.map((block) => JSON.stringify(block))].join("\n")];
}

/** The tool `truncate_output`: cuts one large text to its head and tail, or to its important parts. */
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
		const { truncateToShow } = await import("../../pipeline/truncate-text.ts");
		const request = { ...rest, text: whole, policy, maxChars, maxTokens, archive, recall: "offered", log } as const;
		// Some hosts show all of the answer as JSON, so that all of it has to be within a limit in tokens.
		const { outcome, way } = await truncateToShow(
			request,
			forms.map((write) => (one) => shownOf(write(one))),
		);
		return (forms[way] as (typeof forms)[number])(outcome);
	},
});
