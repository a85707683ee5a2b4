import { lostIdentifiers, textsOfMessages } from "../compaction/lost-identifiers.ts";
import { writeHandoverPrompt } from "../compaction/prompt.ts";
import { type PickedRange, pickRange, renderRange } from "../compaction/range.ts";
import { checkSummary, frameSummary, planSummary, summaryOfMessage } from "../compaction/summary.ts";
import { compactJson } from "../conversation/json.ts";
import { type CountTokens, scaleTokens, type TokenMeter } from "../conversation/measure.ts";
import { noSize, type ReplaceEdit, type Size, startSum } from "../conversation/plan.ts";
import { type Transcript, valueAt } from "../conversation/transcript.ts";
import { PalimpsestError } from "../errors.ts";
import type { ReadConversation } from "../formats/detect.ts";
import { sha256Of } from "../json-text/value.ts";
import { planMask } from "../masking/mask.ts";
import type { LocaleName } from "../policy/names.ts";
import type { MaskPolicy, Policy } from "../policy/schema.ts";
import { locales } from "../policy/wordings.ts";
import { summariseInParts } from "../summariser/in-parts.ts";
import type { SummaryProgress } from "../summariser/summariser.ts";
import type {
	CompactRequest,
	OpenedCompaction,
	PlannedCompaction,
	SummaryReport,
	SummarySource,
} from "./compaction-request.ts";

/**
 * Plans the hiding of old tool results (docs/specs/compaction-strategies.md#tool-result-hiding): those of the last
 * `keep_tool_groups` tool turns stay, a placeholder replaces all others, errors too. Returns no edits if nothing that is sent is left to hide.
 */
export function planHiding(opened: OpenedCompaction, policy: Policy): readonly ReplaceEdit[] {
	const { transcript, meter } = opened;
	const { countTokens } = meter;
	// The document's rule is the plain window, whatever the policy says of masking.
	const mask: MaskPolicy = {
		...policy.mask,
		enabled: true,
		window_turns: policy.compaction.keep_tool_groups,
		keep_errors: false,
		keep_last_k_per_tool: null,
		keep_tokens: null,
		tools: {},
		selection: "age",
		cadence: "every_turn",
	};
	const replaying = { meter: { countTokens, messageOverhead: 0 }, prices: policy.prices };
	const { edits } = planMask({ ...opened, policy: mask, media: policy.media, countTokens, replaying });
	// Hiding a message that is no longer sent would only put the summary off.
	return edits.filter(({ message }) => transcript.messages[message]?.sent !== false);
}

/**
 * Plans a summary in the place of all but the task and the last messages
 * (docs/specs/compaction-strategies.md#llm-summary), or asks the caller for one.
 *
 * @throws as `obtainSummary` and `rangeOfToken` do.
 */
export async function planSummarised(request: CompactRequest, opened: OpenedCompaction): Promise<PlannedCompaction> {
	const { policy, answer, archive, signal, onProgress } = request;
	const { source, meter, measurement, scale } = opened;
	const range = rangeOf(request, opened);
	if (!range) return { kind: "unchanged" };
	const before = startSum();
	for (const index of range.messages) before.add(measurement.messages[index] ?? noSize);
	const { tokens: rangeTokens } = before.total();

	if (answer.kind === "none") return { kind: "guard" };
	if (answer.kind !== "given" && isTooShortToSummarise(rangeTokens, policy.locale, meter)) return { kind: "unchanged" };
	if (answer.kind === "caller") return { kind: "request", request: callerRequest(request, opened, range, rangeTokens) };
	const { transcript } = source;
	const asked = { source: answer, transcript, range, rangeTokens, policy, meter, signal, onProgress };
	const { text, by, parts, usage } = await obtainSummary(asked);

	const original = archive && rangeJson(source, range);
	const takenOut =
		archive && original !== undefined
			? ({ kind: "group", text: original, ref: archive.refOf(original) } as const)
			: undefined;
	const framed = frameSummary({ summary: text, locale: policy.locale, ref: takenOut?.ref });
	const { document, located, format } = source;
	const { messages: sizes } = measurement;
	const where = { document, transcript, base: located.base, writer: format.write };
	const edits = planSummary({ ...where, range, sizes, text: framed, meter, takenOut });
	const { lost, found, lostCount } = lostIdentifiers({
		texts: textsOfMessages(transcript, range.messages),
		summary: text,
	});
	const tokens = (size: Size) => scaleTokens(size, scale).tokens;
	const summary: SummaryReport = {
		by,
		messages: range.messages.length,
		tokens: { before: tokens(before.total()), after: tokens(edits[0]?.after ?? noSize) },
		...(takenOut ? { ref: takenOut.ref } : {}),
		parts,
		...(usage ? { usage: { prompt_tokens: usage.promptTokens, completion_tokens: usage.completionTokens } } : {}),
		lost_identifiers: lost.map(({ text: name, kind }) => ({ text: name, kind })),
		identifiers: { found, lost: lostCount },
	};
	return { kind: "edits", edits, result: "summarised", summary };
}

function rangeOf({ policy, answer }: CompactRequest, { source }: OpenedCompaction): PickedRange | undefined {
	if (answer.kind === "given" && answer.token !== undefined) return rangeOfToken(source, answer.token);
	const { transcript } = source;
	return pickRange({
		transcript,
		keepLastMessages: policy.compaction.keep_last_messages,
		pinTask: policy.guard.pin_task,
		isSummary: (index) => {
			const message = transcript.messages[index];
			return message !== undefined && summaryOfMessage(message) !== undefined;
		},
	});
}

function callerRequest(
	{ policy }: CompactRequest,
	{ source, meter, scale }: OpenedCompaction,
	range: PickedRange,
	rangeTokens: number,
) {
	const { transcript } = source;
	const { caller_prompt_tokens: promptTokens, max_summary_tokens } = policy.compaction;
	const shown = showRange({ transcript, range, policy, promptTokens, countTokens: meter.countTokens });
	return {
		summary_token: summaryToken(source, range),
		prompt: shown.writePrompt(shown.pieces),
		max_summary_tokens,
		messages: {
			first: range.first,
			last: range.messages.at(-1) ?? range.first,
			count: range.messages.length,
			tokens: scaleTokens({ tokens: rangeTokens }, scale).tokens,
		},
	};
}

/** A summary as it may be put in. */
export interface ObtainedSummary {
	readonly text: string;
	readonly by: string;
	readonly parts: number;
	readonly usage?: { readonly promptTokens: number; readonly completionTokens: number } | undefined;
}

/** What a summary is asked for. */
export interface SummaryParameters {
	readonly source: Extract<SummarySource, { kind: "summariser" | "given" }>;
	readonly transcript: Transcript;
	readonly range: PickedRange;
	/** Tokens of the range. */
	readonly rangeTokens: number;
	readonly policy: Policy;
	readonly meter: TokenMeter;
	readonly signal?: AbortSignal | undefined;
	readonly onProgress?: ((progress: SummaryProgress) => void) | undefined;
}

/**
 * Gets the summary of a range, from a model or as the caller gave it, and checks it.
 *
 * @throws SummariserError where the model could not be asked; PalimpsestError `summary_refused` where what came may not
 * stand in a conversation.
 */
export async function obtainSummary(parameters: SummaryParameters): Promise<ObtainedSummary> {
	const { rangeTokens, policy, meter } = parameters;
	const answer = await askFor(parameters);
	const checked = checkSummary({
		text: answer.text,
		replacedTokens: rangeTokens,
		overheadTokens: summaryOverhead(policy.locale, meter),
		countTokens: meter.countTokens,
	});
	if (checked.kind === "accepted") return { ...answer, text: checked.text };
	throw new PalimpsestError(
		"summary_refused",
		`The summary was not taken, and the conversation was left as it was. ${checked.detail}`,
	);
}

async function askFor(parameters: SummaryParameters): Promise<ObtainedSummary> {
	const { source, transcript, range, policy, meter, signal, onProgress } = parameters;
	if (source.kind === "given") return { text: source.summary, by: "caller", parts: 1 };
	const { summariser } = source;
	const { prompt_tokens: promptTokens, max_summary_tokens: maxTokens } = policy.compaction;
	const { countTokens } = meter;
	const shown = showRange({ transcript, range, policy, promptTokens, countTokens });
	const asked = { summariser, ...shown, maxTokens, countTokens, signal, onProgress };
	const { text, parts, usage } = await summariseInParts(asked);
	return { text, by: summariser.name, parts, usage };
}

/** A range as a model is shown it. */
export interface ShownRange {
	/** One text for each message; between them the prompt may be split. */
	readonly pieces: readonly string[];
	readonly writePrompt: (pieces: readonly string[]) => string;
	readonly writeJoinPrompt: (summaries: readonly string[]) => string;
	/** Stands in the gap of what is shortened. */
	readonly marker: string;
}

/** Renders a range for its prompt, within `promptTokens` tokens of the call's encoding. */
export function showRange(what: {
	readonly transcript: Transcript;
	readonly range: PickedRange;
	readonly policy: Policy;
	readonly promptTokens: number;
	readonly countTokens: CountTokens;
}): ShownRange {
	const { transcript, range, policy, promptTokens, countTokens } = what;
	const { locale } = policy;
	const marker = locales[locale].truncation_marker;
	const { pieces } = renderRange({
		transcript,
		messages: range.messages,
		budget: promptTokens,
		countTokens,
		marker,
		summaryOf: (index) => {
			const message = transcript.messages[index];
			return message && summaryOfMessage(message)?.summary;
		},
	});
	const maxTokens = policy.compaction.max_summary_tokens;
	return {
		pieces,
		marker,
		writePrompt: (some) => writeHandoverPrompt({ pieces: some, locale, maxTokens, of: "messages" }),
		writeJoinPrompt: (some) => writeHandoverPrompt({ pieces: some, locale, maxTokens, of: "summaries" }),
	};
}

/** Longest reference in a frame, so that what a frame costs is known before there is one. */
const anyRef = "0".repeat(20);

/** Tokens that are put in beside a summary: its frame and its message's overhead. */
export function summaryOverhead(locale: LocaleName, { countTokens, messageOverhead }: TokenMeter): number {
	return countTokens(frameSummary({ summary: "", locale, ref: anyRef })) + messageOverhead;
}

/** A hand-over with a few words under each of its six headings takes as many tokens. */
const leastSummary = 50;

/** Whether so few tokens stand in a range that a summary would not be shorter: then nobody is asked for one. */
export function isTooShortToSummarise(rangeTokens: number, locale: LocaleName, meter: TokenMeter): boolean {
	return rangeTokens <= summaryOverhead(locale, meter) + leastSummary;
}

/** Characters of the digest: an accident is out of the question, and nobody gains by a forged one. */
const digestLength = 12;

const grammar = /^(\d{1,9})-(\d{1,9})-([0-9a-f]{12})$/;

/** Names a range for the caller who is to summarise it: first and last message, and a digest of what they say. */
export function summaryToken(source: ReadConversation, range: PickedRange): string {
	const digest = sha256Of(rangeJson(source, range)).slice(0, digestLength);
	return `${range.first}-${range.messages.at(-1)}-${digest}`;
}

/**
 * The range that a token names, in the conversation as it is now: it may have grown at its end since.
 *
 * @throws PalimpsestError `invalid_argument` for what is no token, `stale_edit` where those messages are not there any
 * more.
 */
export function rangeOfToken(source: ReadConversation, token: string): PickedRange {
	const [, first, last] = grammar.exec(token) ?? [];
	if (first === undefined || last === undefined) {
		throw new PalimpsestError(
			"invalid_argument",
			"Expected `summary_token` exactly as the request for the summary gave it.",
		);
	}
	const whole = pickRange({ transcript: source.transcript, keepLastMessages: 0, pinTask: false });
	const within = ({ messages }: { readonly messages: readonly number[] }) =>
		messages.every((index) => index >= Number(first) && index <= Number(last));
	const groups = whole?.groups.filter(within) ?? [];
	const messages = groups.flatMap((group) => group.messages).toSorted((a, b) => a - b);
	const range = { messages, groups, first: messages[0] ?? -1 };
	if (messages.length > 0 && summaryToken(source, range) === token) return range;
	throw new PalimpsestError(
		"stale_edit",
		"The messages that the summary is of are not in this conversation as they were. Call again without `summary` for a new request.",
	);
}

/** The JSON of a range of messages, as they stand in the document: the form in which it is archived. */
export function rangeJson({ document, located, transcript }: ReadConversation, { messages }: PickedRange): string {
	const paths = messages.flatMap((index) => transcript.messages[index]?.paths ?? []);
	const depth = located.base.length;
	// Records of one message may stand among those of the next.
	const inPlace = paths.toSorted((one, other) => Number(one[depth]) - Number(other[depth]));
	return compactJson(inPlace.map((path) => valueAt(document, path)));
}
