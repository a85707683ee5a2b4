import { z } from "zod";
import { PalimpsestError } from "../../errors.ts";
import type { TruncateOutcome } from "../../operations/truncate.ts";
import { truncationStrategies } from "../../policy/names.ts";
import { originalLink } from "../resources.ts";
import { type Answer, beside, defineTool, policyInput, policyOfCall, pureTool } from "../tool.ts";

/** What a model can do without, in two steps: the marks in the text tell which lines are left out, and how many. */
const [spare, unneeded] = [
	["band", "encoding", "method", "factor", "chars", "kept_lines", "omitted_chars", "omitted"],
	["strategy", "tokens", "lines", "omitted_lines"],
] as const;

/** Ways to answer, the fullest first: where the answer has to be small, its room is for the text. */
const ways: readonly ((outcome: TruncateOutcome) => Answer)[] = [
	({ text, report }) => {
		const { ref, chars } = report;
		const links = ref === undefined ? [] : [originalLink({ ref, chars: chars.before })];
		return { text, ...report, [beside]: { blocks: links } };
	},
	({ text, report }) => without({ text, ...report }, spare),
	({ text, report }) => without({ text, ...report }, [...spare, ...unneeded]),
];

function without(answer: Answer, names: readonly string[]): Answer {
	return Object.fromEntries(Object.entries(answer).filter(([name]) => !names.includes(name)));
}

/** All that a host shows of an answer, as JSON: its structured content, or its blocks, of which the text repeats that. */
function shownOf(answer: Answer): readonly string[] {
	const json = JSON.stringify(answer);
	const blocks = answer[beside]?.blocks ?? [];
	return [json, [json, ...blocks.map((block) => JSON.stringify(block))].join("\n")];
}

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
		const { truncateToShow } = await import("../../operations/truncate.ts");
		const request = { ...rest, text: whole, policy, maxChars, maxTokens, archive, recall: "offered", log } as const;
		// Some hosts show all of the answer as JSON, so that all of it has to be within a limit in tokens.
		const { outcome, way } = await truncateToShow(
			request,
			ways.map((write) => (one) => shownOf(write(one))),
		);
		return (ways[way] as (typeof ways)[number])(outcome);
	},
});
