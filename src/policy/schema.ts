import { z } from "zod";
import { localeNames, logLevels, presetNames } from "./names.ts";
import * as sections from "./sections.ts";

/** Files, variables, `--set`, the tools' `policy` argument and `docs/policy.md` are all made from it. */
export const policySchema = z.strictObject({
	preset: sections.field(z.enum(presetNames), "observation-masking", "Values to start from."),
	locale: sections.field(z.enum(localeNames), "fr", "Language of every placeholder, marker and notice."),
	log_level: sections.field(z.enum(logLevels), "warning", "Least severe level that is logged."),
	text: sections.choice(
		["auto", "full"],
		"What the text block of a tool's answer says of one over 256 kB of JSON: a summary (`auto`), or all of it a second time (`full`), for hosts that show their model the text alone.",
	),
	media: sections.choice(
		["keep", "mask"],
		"Images, audio and documents in old tool results: left as they are, or replaced by a line that says what was there.",
	),
	thinking: sections.choice(
		["keep", "strip_after_edit", "refuse"],
		"Reasoning blocks that stand behind an edit and are bound to what stands before them, which some providers then refuse: left as they are and reported, taken out, or a reason to change nothing.",
	),
	on_archive_failure: sections.choice(
		["refuse", "mask_without_recall"],
		"Where what is taken out cannot be archived: change nothing and say why, or take it out all the same, with placeholders that promise nothing.",
	),
	limits: sections.limits,
	mask: sections.mask,
	guard: sections.guard,
	truncate: sections.truncate,
	compaction: sections.compaction,
	archive: sections.archive,
	tokens: sections.tokens,
	prices: sections.prices,
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
export type PolicyLayer = DeepPartial<Policy>;

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
