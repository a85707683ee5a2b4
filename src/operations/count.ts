import { isJsonObject } from "../conversation/json.ts";
import { scaleTokens, type TokenMeter } from "../conversation/measure.ts";
import type { Transcript } from "../conversation/transcript.ts";
import { PalimpsestError } from "../errors.ts";
import { type ReadConversation, requestBody } from "../formats/detect.ts";
import { asCountedText, stringAt } from "../formats/json-values.ts";
import type { Policy } from "../policy/schema.ts";
import { loadCounter } from "../tokens/counter.ts";
import { type EncodingName, encodingNames } from "../tokens/encodings.ts";
import { type CountMethod, estimateTokens, type TokenEstimate } from "../tokens/estimate.ts";
import { leastTokens, mostTokens } from "../tokens/merge.ts";
import { requestOverhead } from "../tokens/request.ts";

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

/** How the numbers of tokens in a report came about. */
export interface CountingReport {
	/** The encoding that was counted in. */
	readonly encoding: string;
	readonly method: CountMethod;
	/** What each counted token was multiplied by; 1 where they are the model's own. */
	readonly factor: number;
}

export function countingReport({ encoding, method, scale }: TokenEstimate): CountingReport {
	return { encoding, method, factor: scale.factor };
}

/** The model that a call is about: as named by the caller, else in the request body, else in the policy. */
export function modelOfCall(named: string | undefined, document: unknown, policy: Policy): string | undefined {
	const body = requestBody(document);
	// Bedrock's Converse names it otherwise.
	const inBody = isJsonObject(body) ? (stringAt(body, "model") ?? stringAt(body, "modelId")) : undefined;
	return named ?? inBody ?? policy.guard.model ?? undefined;
}

/** A conversation as it is sent: with the tool schemas beside it, and with what its provider adds. */
export interface SentConversation {
	readonly transcript: Transcript;
	/** What the provider documents that it adds, in tokens of the model. */
	readonly requestOverhead: (countTokens: TokenMeter["countTokens"]) => number;
}

/**
 * Adds what a request carries beside the messages. `tools` are schemas that were passed along, where the conversation
 * holds none itself.
 *
 * @throws PalimpsestError `invalid_argument` where tools stand in both.
 */
export function asSent(
	{ transcript, located }: ReadConversation,
	{ model, tools: passed }: { readonly model: string | undefined; readonly tools?: unknown },
): SentConversation {
	const own = toolsOf(located.document);
	if (passed !== undefined && own !== undefined) {
		throw new PalimpsestError("invalid_argument", "Expected `tools` only where the conversation itself holds none.");
	}
	const tools = passed ?? own;
	return {
		transcript:
			passed === undefined
				? transcript
				: { ...transcript, surroundings: [...transcript.surroundings, asCountedText(passed)] },
		requestOverhead(countTokens) {
			if (model === undefined || tools === undefined) return 0;
			return requestOverhead({ model, tools, toolTokens: countTokens(asCountedText(tools)), countTokens });
		},
	};
}

/** The tool schemas in a request body; Bedrock's Converse has them one level deeper. */
function toolsOf(body: unknown): unknown {
	if (!isJsonObject(body)) return undefined;
	const { tools, toolConfig } = body;
	return tools ?? (isJsonObject(toolConfig) ? toolConfig.tools : undefined) ?? undefined;
}

/** How a call counts. */
export interface CallMeter {
	/** Counts in the encoding of `estimate`, unscaled. */
	readonly meter: TokenMeter;
	/** What the model makes of these numbers. */
	readonly estimate: TokenEstimate;
}

/** The meter for a call: in the policy's encoding, else in the model's own or the one nearest to it, else in o200k_base. */
export async function tokenMeter(policy: Policy, model: string | undefined): Promise<CallMeter> {
	const estimate = await estimateTokens(model, policy.tokens.encoding ?? undefined);
	const countTokens = await loadCounter(estimate.encoding);
	return { meter: sameMeter(estimate.encoding, countTokens, policy), estimate };
}

/** Meters that count the most and the least tokens that a text can have in any encoding; without counting it. */
export function boundingMeters(policy: Policy): { readonly most: TokenMeter; readonly least: TokenMeter } {
	return { most: sameMeter("most", mostTokens, policy), least: sameMeter("least", leastTokens, policy) };
}

const meters = new Map<string, TokenMeter>();

/** The same object for the same way of counting, since sizes are remembered by it. */
function sameMeter(name: EncodingName | "most" | "least", countTokens: TokenMeter["countTokens"], policy: Policy) {
	const messageOverhead = policy.tokens.message_overhead;
	const key = `${name}+${messageOverhead}`;
	const known = meters.get(key);
	if (known?.countTokens === countTokens) return known;
	if (meters.size >= 64) meters.clear();
	const meter = { countTokens, messageOverhead };
	meters.set(key, meter);
	return meter;
}
