import { z } from "zod";
import { parseStrategyName, truncationStrategies } from "./names.ts";

/** A number of tokens. */
const tokenNumber = z.int().min(0).max(1_000_000_000);
/** A number of messages from which something is done. */
const messageNumber = z.int().min(1).max(1_000_000_000);
/** A number of characters (UTF-16 code units). */
const characterNumber = z.int().min(0).max(1_000_000_000);

/** Variables that a placeholder template may use. */
export const placeholderVariables = ["tool_call_id", "tool_name", "original_chars", "ref", "digest"] as const;
/** Variables that a truncation marker may use. */
export const markerVariables = ["omitted_chars", "original_chars", "ref"] as const;

const variable = /\{([A-Za-z_][A-Za-z0-9_]*)\}/g;

/** The names of the variables that a template uses, in order of appearance. */
export function templateVariables(template: string): string[] {
	return Array.from(template.matchAll(variable), (match) => match[1] as string);
}

/** A schema for templates that refuses any variable other than those given, and half characters (lone surrogates). */
export function templateSchema(known: readonly string[]) {
	return z
		.string()
		.min(1)
		.max(2_000)
		.superRefine((template, context) => {
			const unknown = new Set(templateVariables(template).filter((name) => !known.includes(name)));
			for (const name of unknown) {
				const shown = name.length > 40 ? `${name.slice(0, 40)}…` : name;
				context.addIssue({
					code: "custom",
					message: `unknown variable {${shown}}; known: ${known.map((one) => `{${one}}`).join(", ")}`,
				});
			}
			if (!template.isWellFormed()) {
				context.addIssue({ code: "custom", message: "half a character (a lone surrogate), which no API accepts" });
			}
		});
}

/** What may become of the results of one tool. */
const toolRule = z.union([z.enum(["never", "always"]), z.strictObject({ keep_last: z.int().min(1).max(1_000_000) })]);

/** How old tool results are masked: the `[mask]` of a policy. */
export const mask = z.strictObject({
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

/** The conditions under which the guard's first rung truncates large results. */
const truncateWhen = z.enum(["always", "over_budget"]);

export const guard = z.strictObject({
	enabled: z
		.boolean()
		.default(true)
		.describe("Whether the guard changes a conversation at all. Off, it says whether it fits and what takes the most."),
	ladder: z
		.array(z.enum(["truncate", "mask", "drop"]))
		.refine((steps) => new Set(steps).size === steps.length, "each step at most once")
		.default(["truncate", "mask", "drop"])
		.describe("Steps taken in this order until the conversation fits, each at most once."),
	model: z
		.string()
		.min(1)
		.nullable()
		.default(null)
		.describe("Model whose context window and encoding are used when a call names none."),
	context_window_override: tokenNumber
		.min(1)
		.nullable()
		.default(null)
		.describe("Context window in tokens, in place of the model's own."),
	unknown_window: z
		.union([tokenNumber.min(1), z.enum(["refuse", "leave"])])
		.default("refuse")
		.describe(
			"Where no context window is known for the model: `refuse` the call, `leave` the conversation as it is, or assume this many tokens.",
		),
	reserve_tokens: tokenNumber.default(8192).describe("Tokens of the window left free for the answer."),
	budget_ratio: z
		.number()
		.gt(0)
		.max(1)
		.default(1)
		.describe("Share of the window that may be used, before the reserve is taken off."),
	target_ratio: z
		.number()
		.gt(0)
		.max(1)
		.nullable()
		.default(null)
		.describe(
			"Share of the budget to which a conversation over it is brought down, so that the next calls append instead of cutting again. Absent: just under the budget, as it is at each call.",
		),
	truncate_when: truncateWhen
		.default("always")
		.describe(
			"`always`: a result over the limit is cut even where all fits. `over_budget`: only when over the budget.",
		),
	max_tool_result_chars: characterNumber
		.default(50_000)
		.describe(
			"Characters (UTF-16 code units) up to which a tool result is left whole; where `truncate.strategy` is another than `head_tail`, also what is left of a longer one at most.",
		),
	truncate_head_chars: characterNumber.default(2_000).describe("Characters kept from the start of a cut result."),
	truncate_tail_chars: characterNumber.default(2_000).describe("Characters kept from the end of a cut result."),
	marker_template: templateSchema(markerVariables)
		.nullable()
		.default(null)
		.describe(
			"What stands between head and tail of a cut result. Variables: {omitted_chars}, {original_chars}, {ref}. Absent: the locale's wording.",
		),
	keep_last_messages: z
		.int()
		.min(1)
		.default(1)
		.describe("Newest messages (system messages aside) that are never dropped."),
	pin_task: z.boolean().default(true).describe("Whether the first user message is never dropped."),
	max_messages: messageNumber
		.nullable()
		.default(null)
		.describe(
			"Messages from which a conversation counts as too long, whatever its tokens: the report says so. Absent: never.",
		),
	auto_compact: z
		.boolean()
		.default(false)
		.describe("Whether a conversation of `max_messages` or more is compacted first, as `[compaction]` says."),
});

export const tokens = z.strictObject({
	encoding: z
		.enum(["o200k_base", "cl100k_base", "o200k_harmony"])
		.nullable()
		.default(null)
		.describe(
			"Token encoding, whose numbers are then exact whatever the model. Absent: the model's own where known, else the nearest one, scaled for the model; o200k_base where no model is named.",
		),
	message_overhead: tokenNumber.default(4).describe("Tokens added for each message's role and delimiters."),
	count: z
		.enum(["auto", "always"])
		.default("auto")
		.describe(
			"`auto`: the guard does not count a conversation of over a million characters where the most or the least that it can be decides already. `always`: it counts every one.",
		),
});

export const limits = z.strictObject({
	max_file_bytes: z
		.int()
		.min(1)
		.max(2 ** 31)
		.default(64 * 1024 * 1024)
		.describe("Bytes of a file or of standard input that are read at most."),
});

export const archive = z.strictObject({
	max_age_days: z
		.number()
		.positive()
		.max(36_500)
		.default(30)
		.describe("Days after which an original that nobody used is thrown away."),
	max_bytes: z
		.int()
		.min(1)
		.default(1_000_000_000)
		.describe("Bytes of all originals together; past them those unused for longest are thrown away."),
	recall_hint: z
		.boolean()
		.default(true)
		.describe(
			"Whether the locale's placeholder goes on to say that what it names is intact, no error, and how to read it. Only where recall is offered: by a server that keeps originals.",
		),
	redact: z
		.array(z.string().min(1).max(1_000))
		.max(100)
		.default([])
		.describe("Regular expressions (RE2's syntax) for what is never stored: each match gives way to a mark."),
	redact_credentials: z
		.boolean()
		.default(false)
		.describe(
			"Whether credentials of well-known shapes (of GitHub, npm, Slack, AWS, private keys and others) are not stored either. Needs the package `@secretlint/secretlint-rule-preset-recommend`.",
		),
});

/** The `[truncate]` section of a policy: how one large text is cut, and how the guard cuts large results. */
export const truncate = z.strictObject({
	strategy: z
		.enum(truncationStrategies)
		.default("head_tail")
		.describe(
			"What is kept of a text over its limit. `head_tail`: start and end. `auto`: what its structure and what the call was after say. The others: what is named, whatever the text is. The guard takes it too.",
		),
	max_chars: characterNumber
		.default(50_000)
		.describe(
			"Characters (UTF-16 code units) up to which a text is left whole; with another strategy than `head_tail`, also what is left of a longer one at most.",
		),
	max_tokens: tokenNumber
		.min(1)
		.nullable()
		.default(null)
		.describe(
			"The same in tokens, notices included, in place of `max_chars`; `auto` then takes the place of `head_tail`. The guard takes no notice of it.",
		),
	head_chars: characterNumber
		.default(2_000)
		.describe("Characters that `head_tail` keeps from the start; their share of both counts for other strategies."),
	tail_chars: characterNumber.default(2_000).describe("Characters that `head_tail` keeps from the end."),
	keep_ansi: z
		.boolean()
		.default(false)
		.describe("Whether colours and other escape sequences of terminals stay. With `head_tail` they always do."),
	marker_template: templateSchema(markerVariables)
		.nullable()
		.default(null)
		.describe(
			"What stands between head and tail. Variables: {omitted_chars}, {original_chars}, {ref}. Absent: the locale's wording.",
		),
	json_content: z
		.boolean()
		.default(false)
		.describe(
			"Whether `head_tail` cuts of a JSON object with a long `content` that text alone, and puts `_truncated: true` in.",
		),
});

/** How a conversation is compacted: the `[compaction]` of a policy. */
export const compaction = z.strictObject({
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

const price = z.number().min(0).max(1_000_000);

/** What a provider charges for a token: the `[prices]` of a policy. Only their ratios matter. */
export const prices = z.strictObject({
	input: price.default(1).describe("Price of an input token."),
	cache_read: price.default(0.1).describe("Price of one that the provider reads from its prompt cache."),
	cache_write: price
		.default(1.25)
		.describe("Price of one that it writes to it. With the price of reading as high, `break_even` acts every turn."),
	output: price.default(5).describe("Price of an output token."),
});
