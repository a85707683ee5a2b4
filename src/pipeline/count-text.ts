import { scaleTokens } from "../engine/token-scale.ts";
import { PalimpsestError } from "../errors.ts";
import type { Policy } from "../policy/schema.ts";
import type { EncodingName } from "../tokens/encoding.ts";
import { encodingNames } from "../tokens/encoding-names.ts";
import { type CountingReport, countingReport } from "./counting-report.ts";
import { tokenMeter } from "./token-meter.ts";

/** The tokens of a text. */
export interface TextCount extends CountingReport {
	/** By the best guess where the model's own are not counted. */
	readonly tokens: number;
	/** At least. */
	readonly low: number;
	/** At most. */
	readonly high: number;
	/** What a reader of the numbers should know, in English sentences. */
	readonly notes: readonly string[];
}

/** A text to count. */
export interface CountRequest {
	readonly text: string;
	readonly policy: Policy;
	/** Model whose tokenizer counts; by default the policy's. */
	readonly model?: string | undefined;
	/** Encoding to count in, in place of the policy's and of the model's. */
	readonly encoding?: EncodingName | undefined;
}

/**
 * Counts the tokens of a text as ordinary text, without the overhead of a message.
 *
 * @throws PalimpsestError `invalid_argument` where `text` is no string, or `encoding` none that is counted here.
 */
export async function countText({ text, policy, model, encoding }: CountRequest): Promise<TextCount> {
	if (typeof text !== "string") {
		throw new PalimpsestError("invalid_argument", `Expected \`text\` to be a string; got ${typeof text}.`);
	}
	if (encoding !== undefined && !encodingNames.includes(encoding)) {
		throw new PalimpsestError("invalid_argument", `Expected \`encoding\` to be ${encodingNames.join(", ")}.`);
	}
	const tokens = { ...policy.tokens, ...(encoding === undefined ? {} : { encoding }) };
	const { meter, estimate } = await tokenMeter({ ...policy, tokens }, model ?? policy.guard.model ?? undefined);
	const { tokens: likely, low, high } = scaleTokens({ tokens: meter.countTokens(text) }, estimate.scale);
	return { tokens: likely, low, high, ...countingReport(estimate), notes: estimate.notes };
}
