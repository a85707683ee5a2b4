import { z } from "zod";
import { characterNumber, tokenNumber } from "./numbers.ts";
import { markerVariables, templateSchema } from "./template.ts";
import { truncationStrategies } from "./truncation-strategies.ts";

/** The `[truncate]` section of a policy: how one large text is cut, and how the guard cuts large results. */
export const truncateSection = z.strictObject({
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
