import { z } from "zod";
import { localeNames, logLevels, parseStrategyName, presetNames, truncationStrategies } from "./names.ts";

function section<Shape extends z.ZodRawShape>(description: string, shape: Shape) {
	return z
		.strictObject(shape)
		.prefault({} as never)
		.describe(description);
}

function field<Schema extends z.ZodType>(schema: Schema, fallback: z.output<Schema>, description: string) {
	return schema.default(fallback as never).describe(description);
}

function absentOr<Schema extends z.ZodType>(schema: Schema, description: string) {
	return schema
		.nullable()
		.default(null as never)
		.describe(description);
}

function flag(fallback: boolean, description: string) {
	return field(z.boolean(), fallback, description);
}

/** The first word is the default. */
function choice<const Word extends string>(words: readonly [Word, ...Word[]], description: string) {
	return field(z.enum(words), words[0] as never, description) as z.ZodDefault<z.ZodEnum<{ [Key in Word]: Key }>>;
}

function distinct<const Word extends string>(words: readonly Word[], rule = "each at most once") {
	return z.array(z.enum(words)).refine((given) => new Set(given).size === given.length, rule);
}

const largeNumber = z.int().min(0).max(1_000_000_000);
const messageNumber = z.int().min(1).max(1_000_000_000);

export const placeholderVariables = ["tool_call_id", "tool_name", "original_chars", "ref", "digest"] as const;
export const markerVariables = ["omitted_chars", "original_chars", "ref"] as const;
const variable = /\{([A-Za-z_][A-Za-z0-9_]*)\}/g;

/** Refuses unknown variables and lone surrogates. */
function templateSchema(known: readonly string[]) {
	return z
		.string()
		.min(1)
		.max(2_000)
		.superRefine((template, context) => {
			const names = Array.from(template.matchAll(variable), (match) => match[1] as string);
			const unknown = new Set(names.filter((name) => !known.includes(name)));
			const listed = known.map((one) => `{${one}}`).join(", ");
			for (const name of unknown) {
				const shown = name.length > 40 ? `${name.slice(0, 40)}…` : name;
				context.addIssue({ code: "custom", message: `unknown variable {${shown}}; known: ${listed}` });
			}
			if (!template.isWellFormed()) {
				context.addIssue({ code: "custom", message: "half a character (a lone surrogate), which no API accepts" });
			}
		});
}

const toolRule = z.union([z.enum(["never", "always"]), z.strictObject({ keep_last: z.int().min(1).max(1_000_000) })]);

const mark = z.string().min(1).max(1_000);

/** At most two, since a text may match a mark with wildcards in many ways. */
const openingMark = mark.refine(
	(text) => (text.match(/\{tool\}|\*/g) ?? []).length <= 2,
	"at most two of {tool} and *",
);

const observationPattern = z.strictObject({
	before: openingMark,
	after: mark.optional(),
	action: mark.optional(),
	tool: z.string().min(1).max(200).optional(),
});

const mask = section("Masking of old tool results.", {
	enabled: flag(true, "Whether old tool results are masked at all."),
	window_turns: field(z.int(), 8, "Latest tool turns whose results stay. 0 or less: nothing is masked."),
	keep_errors: flag(true, "Whether results that look like errors stay."),
	error_detection: choice(
		["words", "structural"],
		"What looks like an error. `words`: words such as `timeout`. `structural`: the format's flag, the exit code, the end of the output.",
	),
	keep_last_k_per_tool: absentOr(z.int().min(0), "The last K results of each tool stay. 0 or null: off."),
	tools: field(
		z.record(z.string().min(1).max(200), toolRule),
		{},
		'Rules for tools by name. `"never"`: its results stay. `"always"`: they are masked after one turn. `{ keep_last = K }`: its last K stay.',
	),
	observations: field(
		z.union([z.enum(["auto"]), z.boolean(), z.array(observationPattern).max(50)]),
		"auto",
		"Whether observations in user messages (docs/formats.md#text-protocols) are tool results, in every operation. `auto`: if no other result comes before the first one. `true`: always, except for marks that a person may also write. A list (`[[mask.observations]]`): `true`, and patterns of your own: `before` and `after`, the texts around it, with `{tool}` for a name and `*` for anything in a line; `action`, a text in the assistant's message; `tool`, a name.",
	),
	digest_tokens: field(
		largeNumber,
		0,
		"Tokens for a digest of the result in its placeholder: outcome, paths, identifiers. 0: none. Your own template needs {digest}.",
	),
	placeholder_template: absentOr(
		templateSchema(placeholderVariables),
		"Your own placeholder. Variables: {tool_call_id}, {tool_name}, {original_chars}, {ref}, {digest}.",
	),
	placeholder: choice(
		["full", "short"],
		"The locale's placeholder. `full`: with the call's id and a hint at `recall_original`. `short`: tool, size and reference in about 18 tokens.",
	),
	selection: choice(
		["age", "use"],
		"Which results older than the window are masked. `age`: all. `use`: those that cost more to keep than to recall, by how likely they are needed again. People's answers and skills in use stay.",
	),
	thrift: field(
		z.enum(["low", "medium", "high"]),
		"medium",
		"How readily `use` masks. `high` saves the most tokens; `low` keeps the most results, and cuts no file as it arrives.",
	),
	cadence: choice(
		["every_turn", "stride", "break_even"],
		"When results are masked. `every_turn`: at once, which breaks the prompt cache at each call. `stride`: every `stride_turns`. `break_even`: once keeping them has cost as much as rewriting the cache.",
	),
	stride_turns: field(z.int().min(1).max(1_000_000), 10, "Tool turns from one masking to the next."),
	by: choice(
		["palimpsest", "provider"],
		"Who removes old results from Anthropic requests in the proxy. `palimpsest`: placeholders. `provider`: Anthropic clears them (docs/proxy.md#the-provider-clears).",
	),
});

const guard = section("Keeping a conversation within the model's context window.", {
	enabled: flag(true, "Whether the guard changes a conversation. If off, it only reports."),
	ladder: field(
		distinct(["truncate", "mask", "drop"], "each step at most once"),
		["truncate", "mask", "drop"],
		"Steps, in this order, until the conversation fits.",
	),
	model: absentOr(z.string().min(1), "Model whose window and encoding are used when a call names none."),
	context_window_override: absentOr(largeNumber.min(1), "Context window in tokens, in place of the model's own."),
	unknown_window: field(
		z.union([largeNumber.min(1), z.enum(["refuse", "leave"])]),
		"refuse",
		"If the model's window is unknown: `refuse` the call, `leave` the conversation unchanged, or assume so many tokens.",
	),
	reserve_tokens: field(largeNumber, 8192, "Tokens of the window left free for the answer."),
	budget_ratio: field(z.number().gt(0).max(1), 1, "Share of the window that is used, before the reserve."),
	target_ratio: absentOr(
		z.number().gt(0).max(1),
		"Share of the budget to which the guard reduces a larger conversation. Null: just under the budget.",
	),
	truncate_when: choice(["always", "over_budget"], "Whether results over the limit are cut even if all fits."),
	max_tool_result_chars: field(
		largeNumber,
		50_000,
		"Characters (UTF-16 code units) up to which a result stays whole. All strategies but `head_tail` cut longer ones to this length.",
	),
	truncate_head_chars: field(largeNumber, 2_000, "Characters kept from the start of a cut result."),
	truncate_tail_chars: field(largeNumber, 2_000, "Characters kept from the end of a cut result."),
	marker_template: absentOr(
		templateSchema(markerVariables),
		"Your own text between head and tail. Variables: {omitted_chars}, {original_chars}, {ref}.",
	),
	keep_last_messages: field(z.int().min(1), 1, "Newest messages, without system messages, that are never dropped."),
	pin_task: flag(true, "Whether the first user message is never dropped."),
	max_messages: absentOr(messageNumber, "Number of messages from which the report calls a conversation too long."),
	auto_compact: flag(false, "Whether a conversation of `max_messages` or more is compacted first."),
});

const tokens = section("Counting of tokens.", {
	encoding: absentOr(
		z.enum(["o200k_base", "cl100k_base", "o200k_harmony"]),
		"Encoding in which all texts are counted, exactly. Null: the model's own, else the nearest one, scaled; o200k_base if no model is named.",
	),
	message_overhead: field(largeNumber, 4, "Tokens added for each message's role and delimiters."),
});

const limits = section("Sizes over which input is refused.", {
	max_file_bytes: field(z.int().min(1).max(2_147_483_648), 67_108_864, "Most bytes of a file or of standard input."),
});

const archive = section("Archiving of originals; `--archive` says where.", {
	max_age_days: field(z.number().positive().max(36_500), 30, "Days after which an unused original is deleted."),
	max_bytes: field(
		z.int().min(1),
		1_000_000_000,
		"Most bytes of all originals. Over it, those unused for longest are deleted.",
	),
	recall_hint: flag(true, "Whether placeholders say that the original is intact and how to read it."),
	redact: field(
		z.array(z.string().min(1).max(1_000)).max(100),
		[],
		"Patterns (RE2) of text that is never stored: a mark replaces each match.",
	),
	redact_credentials: flag(
		false,
		"Whether credentials of well-known forms are replaced too. Needs the package `@secretlint/secretlint-rule-preset-recommend`.",
	),
});

const truncate = section("Cutting one large text, and large results in the guard.", {
	strategy: field(
		z.enum(truncationStrategies),
		"head_tail",
		"Which parts of a text over the limit are kept, also by the guard. `head_tail`: start and end. `auto`: by the text's structure and the purpose of the call. The others: always this way.",
	),
	max_chars: field(
		largeNumber,
		50_000,
		"Characters up to which a text stays whole. All strategies but `head_tail` cut longer ones to this length.",
	),
	command_chars: absentOr(
		largeNumber,
		"`max_chars` for results of commands that report what they did, or list files, as they arrive in the proxy or a plugin. Null, or with `mask.thrift` low: `max_chars`.",
	),
	repeats: field(z.boolean(), false, "Whether lines of a new result are left out if an earlier one in view has them."),
	max_tokens: absentOr(
		largeNumber.min(1),
		"The limit in tokens, with notices, in place of `max_chars`. `auto` then replaces `head_tail`. The guard ignores it.",
	),
	head_chars: field(largeNumber, 2_000, "Characters that `head_tail` keeps from the start."),
	tail_chars: field(largeNumber, 2_000, "Characters that `head_tail` keeps from the end."),
	keep_ansi: flag(false, "Whether escape sequences of terminals stay. `head_tail` always keeps them."),
	marker_template: absentOr(
		templateSchema(markerVariables),
		"Your own text between head and tail, with the same variables.",
	),
	json_content: flag(false, "Whether `head_tail` cuts only `content` of a JSON object, and adds `_truncated: true`."),
});

const compaction = section("Replacing old messages by a summary, or hiding old results.", {
	strategy: field(
		z.string().superRefine((name, context) => {
			const parsed = parseStrategyName(name);
			if (parsed.kind === "unusable") context.addIssue({ code: "custom", message: parsed.problem });
		}),
		"hiding-then-summary",
		"How a conversation is compacted: `llm-summary`, `tool-result-hiding`, `hiding-then-summary`, `provider` (Anthropic writes it, docs/compaction.md#provider), or your own `module#Export` or `module:Class`, which no tool call may name.",
	),
	by: choice(
		["host", "provider"],
		"Who compacts Anthropic requests in the proxy. `host`: the program itself. `provider`: Anthropic, in place of masking, which may cost more (docs/proxy.md#the-provider-compacts).",
	),
	at_messages: absentOr(messageNumber, "Number of messages from which compaction is due. Null: only tokens decide."),
	keep_last_messages: field(z.int().min(0), 2, "Newest messages, without system messages, that no summary replaces."),
	keep_tool_groups: field(z.int().min(1), 5, "Latest tool turns whose results are not hidden."),
	answered_by: field(
		distinct(["sampling", "openai-compatible", "caller", "none"]).min(1),
		["sampling", "openai-compatible", "caller"],
		"Who writes a summary: the first available of the client's model, the endpoint in the environment and the caller. `none`: the guard's steps instead.",
	),
	keep_user_text: field(
		z.union([z.boolean(), z.enum(["summaries"])]),
		"summaries",
		"Whether people's messages stay word for word. `summaries`: below each summary of `hiding-then-summary`. `true`: below every summary, and when the guard drops messages.",
	),
	keep_user_tokens: absentOr(
		largeNumber.min(1),
		"Most tokens of these texts. Over it, those between the first and the last three are shortened, oldest first. Null: 4 % of the window.",
	),
	max_summary_tokens: field(largeNumber.min(1), 2_000, "Most tokens that a summary should have."),
	prompt_tokens: field(largeNumber.min(1), 60_000, "Most tokens of the prompt for a summary."),
	caller_prompt_tokens: field(largeNumber.min(1), 6_000, "The same, if the caller writes the summary."),
});

const price = z.number().min(0).max(1_000_000);

const prices = section("The prices of tokens.", {
	input: field(price, 1, "Price of an input token."),
	cache_read: field(price, 0.1, "Price of a token read from the prompt cache."),
	cache_write: field(
		price,
		1.25,
		"Price of a token written to the cache. If equal to `cache_read`, `break_even` acts every turn.",
	),
	output: field(price, 5, "Price of an output token."),
	steps: field(
		z.array(z.strictObject({ over: z.number().min(1).max(1_000_000_000), input: price, output: price })).max(10),
		[],
		"Price steps `{ over, input, output }`: a prompt of more than `over` tokens costs `input` times as much, and its answer `output` times.",
	),
	thinking_redone: field(
		z.number().min(0).max(1),
		0.3,
		"Share of the present turn's reasoning that a model produces again after masking made it invalid (assumed).",
	),
	fault: field(
		price,
		1,
		"Cost in `replay` of a call that needs a masked result, as a multiple of an immediate recall.",
	),
	cache_seconds: field(
		z.int().min(1).max(1_000_000_000),
		300,
		"Seconds without a call after which the prompt cache is lost, unless a session records this time.",
	),
	cache_write_hour: absentOr(
		price,
		"Price of a token cached for longer than 300 seconds. Null: 1.6 × `cache_write` if that is above `input`, else `cache_write`.",
	),
});

/** Files, variables, `--set`, the tools' `policy` argument and `docs/policy.md` are all made from it. */
export const policySchema = z.strictObject({
	preset: field(z.enum(presetNames), "observation-masking", "Values to start from."),
	locale: field(z.enum(localeNames), "fr", "Language of our texts; the default is explained above."),
	log_level: field(z.enum(logLevels), "warning", "Least severe level that is logged."),
	text: choice(
		["auto", "full"],
		"The text block of an answer over 256 kB of JSON: a summary (`auto`), or all of it (`full`), for hosts that show their model only the text.",
	),
	media: choice(
		["keep", "mask"],
		"Whether images, audio and documents in old results are kept, or replaced by a line that describes them.",
	),
	thinking: absentOr(
		z.enum(["auto", "keep", "strip_after_edit", "refuse"]),
		"Signed reasoning that an edit makes invalid. `keep`: left and reported. `strip_after_edit`: removed. `auto`: removed for models that check it (docs/formats.md#reasoning), else left. `refuse`: nothing is changed. Null: `keep`; for `rescue` and a compaction `auto`.",
	),
	on_archive_failure: choice(
		["refuse", "mask_without_recall"],
		"If originals cannot be archived: change nothing and report why, or edit with placeholders that offer no recall.",
	),
	limits,
	mask,
	guard,
	truncate,
	compaction,
	archive,
	tokens,
	prices,
	figures: choice(
		["all", "private", "none"],
		"Whether figures for `palimpsest stats` are kept with the last names of folders (`all`), without (`private`), or not at all.",
	),
});

type DeepReadonly<Value> = Value extends object ? { readonly [Key in keyof Value]: DeepReadonly<Value[Key]> } : Value;

export type Policy = DeepReadonly<z.output<typeof policySchema>>;
export type MaskPolicy = Policy["mask"];
export type Prices = Policy["prices"];
export type TokenPrices = Pick<Prices, "input" | "cache_read" | "cache_write" | "output">;
export type GuardPolicy = Policy["guard"];
export type TruncatePolicy = Policy["truncate"];

type DeepPartial<Value> = Value extends readonly unknown[]
	? Value
	: Value extends object
		? { readonly [Key in keyof Value]?: DeepPartial<Value[Key]> }
		: Value;

/** Some fields of a policy, as set by a file, the environment, a flag or a tool's argument. */
/** `reader` is no field that anybody sets: the language of the person, where it is known (src/operations/config/reader.ts). */
export type PolicyLayer = DeepPartial<Policy> & { readonly reader?: Policy["locale"] | undefined };

/** The schema of a layer: every field optional, no defaults. */
export const policyLayerSchema = partialSchema(policySchema) as z.ZodObject;

function partialSchema(schema: z.ZodType): z.ZodType {
	const partial = withoutDefaults(schema);
	return schema.description === undefined ? partial : partial.describe(schema.description);
}

function withoutDefaults(schema: z.ZodType): z.ZodType {
	if (schema instanceof z.ZodDefault || schema instanceof z.ZodPrefault || schema instanceof z.ZodOptional) {
		return partialSchema(schema.unwrap() as z.ZodType);
	}
	if (schema instanceof z.ZodObject) {
		const fields = Object.entries(schema.shape as Record<string, z.ZodType>);
		return z.strictObject(Object.fromEntries(fields.map(([key, field]) => [key, partialSchema(field).optional()])));
	}
	return schema;
}
