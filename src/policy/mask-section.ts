import { z } from "zod";
import { tokenNumber } from "./numbers.ts";
import { placeholderVariables, templateSchema } from "./template.ts";

/** What may become of the results of one tool. */
const toolRule = z.union([z.enum(["never", "always"]), z.strictObject({ keep_last: z.int().min(1).max(1_000_000) })]);

/** How old tool results are masked: the `[mask]` of a policy. */
export const maskSection = z.strictObject({
	enabled: z.boolean().default(true).describe("Whether old tool results are masked at all."),
	window_turns: z
		.int()
		.default(8)
		.describe("Tool turns, counted from the end, whose results stay intact. 0 or less masks nothing."),
	keep_errors: z.boolean().default(true).describe("Whether results that look like errors stay."),
	error_detection: z
		.enum(["seed", "structural"])
		.default("seed")
		.describe(
			"What looks like an error. `seed`: words such as `timeout` anywhere in it. `structural`: the format's flag, the exit code, and how what was run ends.",
		),
	keep_last_k_per_tool: z
		.int()
		.min(0)
		.nullable()
		.default(null)
		.describe("The last K results of each tool name stay, window or not. 0 or absent: off."),
	tools: z
		.record(z.string().min(1).max(200), toolRule)
		.default({})
		.describe(
			'Rules for single tools by name. `"never"`: its results stay. `"always"`: they go after one turn, whatever the window. `{ keep_last = K }`: its last K stay.',
		),
	digest_tokens: tokenNumber
		.default(0)
		.describe(
			"Tokens of a placeholder that may name what the result held: its outcome, paths and identifiers. 0: none. A template of your own needs {digest} for it.",
		),
	placeholder_template: templateSchema(placeholderVariables)
		.nullable()
		.default(null)
		.describe(
			"What stands in place of a masked result. Variables: {tool_call_id}, {tool_name}, {original_chars}, {ref}, {digest}. Absent: the locale's wording.",
		),
	selection: z
		.enum(["age", "use"])
		.default("age")
		.describe(
			"Which results older than the window go. `age`: all, or but for `keep_tokens` the oldest. `use`: what is out of date, then what the conversation has not come back to for longest and holds the least; `keep_tokens` of the others stay.",
		),
	keep_tokens: tokenNumber
		.nullable()
		.default(null)
		.describe(
			"Tokens of results that stay, those in the window included, where there are as many worth keeping. Absent: as `thrift` says for `use`, none beyond the window for `age`.",
		),
	thrift: z
		.enum(["low", "medium", "high"])
		.default("medium")
		.describe("How much `use` keeps and how long `break_even` waits, where `keep_tokens` and `patience` are absent."),
	cadence: z
		.enum(["every_turn", "stride", "break_even"])
		.default("every_turn")
		.describe(
			"When results go that may. `every_turn`: at once, which breaks the provider's prompt cache at each call. `stride`: every `stride_turns`. `break_even`: once carrying them costs what rewriting the cache does, at the `[prices]`.",
		),
	stride_turns: z.int().min(1).max(1_000_000).default(10).describe("Tool turns from one masking to the next."),
	patience: z
		.number()
		.min(0)
		.max(1_000)
		.nullable()
		.default(null)
		.describe(
			"Multiple of the cost of rewriting at which `break_even` acts: more waits longer and keeps more. Absent: 1 for `age`, as `thrift` says for `use`.",
		),
});
