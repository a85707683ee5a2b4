import { z } from "zod";
import { compactionSection } from "./compaction-section.ts";
import { maskSection } from "./mask-section.ts";
import { characterNumber, messageNumber, tokenNumber } from "./numbers.ts";
import { pricesSection } from "./prices-section.ts";
import { markerVariables, templateSchema } from "./template.ts";
import { truncateSection } from "./truncate-section.ts";

/** The conditions under which the guard's first rung truncates large results. */
const truncateWhen = z.enum(["always", "over_budget"]);

const guard = z.strictObject({
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

const tokenCounting = z.strictObject({
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

const limits = z.strictObject({
	max_file_bytes: z
		.int()
		.min(1)
		.max(2 ** 31)
		.default(64 * 1024 * 1024)
		.describe("Bytes of a file or of standard input that are read at most."),
});

const archive = z.strictObject({
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

/** The names that `preset` takes; each is described in `presets.ts`. */
export const presetNames = [
	"observation-masking",
	"tool-result-hiding",
	"context-guard",
	"context-trim",
	"balanced",
] as const;

/** The locales of every placeholder, marker and notice. */
export const localeNames = ["fr", "en", "zh"] as const;

/** Levels of RFC 5424 that the MCP logging utility uses, least severe first. */
export const logLevels = ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"] as const;

/**
 * Every field of a policy, with its default and its description. The configuration file, the environment,
 * `--set`, the tools' `policy` argument, `policy://schema` and `docs/policy.md` are all made from it.
 */
export const policySchema = z.strictObject({
	preset: z.enum(presetNames).default("observation-masking").describe("Values to start from."),
	locale: z.enum(localeNames).default("fr").describe("Language of every placeholder, marker and notice."),
	log_level: z.enum(logLevels).default("warning").describe("Least severe level that is logged."),
	text: z
		.enum(["auto", "full"])
		.default("auto")
		.describe(
			"What the text block of a tool's answer says of one over 256 kB of JSON: a summary (`auto`), or all of it a second time (`full`), for hosts that show their model the text alone.",
		),
	media: z
		.enum(["keep", "mask"])
		.default("keep")
		.describe(
			"Images, audio and documents in old tool results: left as they are, or replaced by a line that says what was there.",
		),
	thinking: z
		.enum(["keep", "strip_after_edit", "refuse"])
		.default("keep")
		.describe(
			"Reasoning blocks that stand behind an edit and are bound to what stands before them, which some providers then refuse: left as they are and reported, taken out, or a reason to change nothing.",
		),
	on_archive_failure: z
		.enum(["refuse", "mask_without_recall"])
		.default("refuse")
		.describe(
			"Where what is taken out cannot be archived: change nothing and say why, or take it out all the same, with placeholders that promise nothing.",
		),
	limits: limits.prefault({}).describe("Sizes past which input is refused."),
	mask: maskSection.prefault({}).describe("Masking of old tool results."),
	guard: guard.prefault({}).describe("Keeping a conversation within the model's context window."),
	truncate: truncateSection.prefault({}).describe("Cutting one large text, and large results in the guard."),
	compaction: compactionSection
		.prefault({})
		.describe("Putting a summary in the place of old messages, or hiding old results."),
	archive: archive.prefault({}).describe("Keeping what is taken out. Where it is kept is said by `--archive`."),
	tokens: tokenCounting.prefault({}).describe("Counting of tokens."),
	prices: pricesSection.prefault({}).describe("What tokens cost."),
});

type DeepReadonly<Value> = Value extends object ? { readonly [Key in keyof Value]: DeepReadonly<Value[Key]> } : Value;

/** A complete, valid policy. */
export type Policy = DeepReadonly<z.output<typeof policySchema>>;
/** The masking part of a policy. */
export type MaskPolicy = Policy["mask"];
/** The prices of a policy. */
export type Prices = Policy["prices"];
/** The guard part of a policy. */
export type GuardPolicy = Policy["guard"];
/** The part of a policy that says how one text is cut. */
export type TruncatePolicy = Policy["truncate"];
/** The compaction part of a policy. */
export type CompactionPolicy = Policy["compaction"];
export type PresetName = (typeof presetNames)[number];
export type LocaleName = (typeof localeNames)[number];
export type LogLevel = (typeof logLevels)[number];
