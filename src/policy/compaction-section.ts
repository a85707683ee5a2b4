import { z } from "zod";
import { messageNumber, tokenNumber } from "./numbers.ts";
import { parseStrategyName } from "./strategy-name.ts";

/** How a conversation is compacted: the `[compaction]` of a policy. */
export const compactionSection = z.strictObject({
	strategy: z
		.string()
		.superRefine((name, context) => {
			const parsed = parseStrategyName(name);
			if (parsed.kind === "unusable") context.addIssue({ code: "custom", message: parsed.problem });
		})
		.default("hiding-then-summary")
		.describe(
			"How a conversation is compacted: `llm-summary`, `tool-result-hiding`, `hiding-then-summary` (hides; where nothing is left to hide, summarises), or `module#Export` (or `module:Class`), a strategy of your own, which no tool call may name.",
		),
	at_messages: messageNumber
		.nullable()
		.default(null)
		.describe("Messages from which compaction is due, beside the tokens. Absent: tokens alone decide."),
	keep_last_messages: z
		.int()
		.min(0)
		.default(2)
		.describe("Newest messages (system messages aside) that a summary never takes the place of."),
	keep_tool_groups: z
		.int()
		.min(1)
		.default(5)
		.describe("Tool turns, counted from the end, whose results hiding leaves as they are."),
	answered_by: z
		.array(z.enum(["sampling", "openai-compatible", "caller", "none"]))
		.min(1)
		.refine((ways) => new Set(ways).size === ways.length, "each at most once")
		.default(["sampling", "openai-compatible", "caller"])
		.describe(
			"Who is asked for a summary, the first that is there: the client's own model, the endpoint that the environment names, the caller itself; `none` falls back to the guard.",
		),
	max_summary_tokens: tokenNumber.min(1).default(2_000).describe("Tokens that a summary is asked to take at most."),
	prompt_tokens: tokenNumber
		.min(1)
		.default(60_000)
		.describe(
			"Tokens of the conversation that a model is shown to summarise at most; what is more is shown shortened.",
		),
	caller_prompt_tokens: tokenNumber
		.min(1)
		.default(6_000)
		.describe("The same where the caller is asked, whom each token costs context."),
});
