import { keepWithin, markWhole, pinnedWords } from "../engine/compaction/kept-words.ts";
import { lostIdentifiers, textsOfMessages } from "../engine/compaction/lost-identifiers.ts";
import { writeHandoverPrompt } from "../engine/compaction/prompt.ts";
import { inTheirTurn, type PickedRange, pickRange, renderRange } from "../engine/compaction/range.ts";
import {
	checkSummary,
	frameSummary,
	joinedSummaries,
	planSummary,
	summaryOfMessage,
} from "../engine/compaction/summary.ts";
import { answersToTools, usersTexts } from "../engine/compaction/users-words.ts";
import { asksPerson } from "../engine/conversation/asking-tools.ts";
import { compactJson } from "../engine/conversation/json.ts";
import { scaleTokens, sizeOf, type TokenMeter, type TokenScale } from "../engine/conversation/measure.ts";
import { valueAt } from "../engine/conversation/paths.ts";
import { addSizes, type Edit, noSize, type ReplaceEdit, type Size } from "../engine/conversation/plan.ts";
import type { Message, Transcript } from "../engine/conversation/transcript.ts";
import { planMask } from "../engine/masking/mask.ts";
import type { LocaleName } from "../engine/policy/names.ts";
import { byAge } from "../engine/policy/presets.ts";
import type { MaskPolicy, Policy } from "../engine/policy/schema.ts";
import { locales } from "../engine/policy/wordings.ts";
import { PalimpsestError } from "../errors.ts";
import type { ReadConversation } from "../formats/detect.ts";
import { sha256Of } from "../formats/json-text/value.ts";
import type { Archive } from "../storage/archive/archive.ts";
import {
	type CallerRequest,
	type CompactRequest,
	type OpenedCompaction,
	type PlannedCompaction,
	type SummaryReport,
	type SummarySource,
	unchanged,
} from "./compaction-request.ts";
import { mostUserTokens } from "./context-window.ts";
import { summariseInParts } from "./summariser/in-parts.ts";
import type { Summariser } from "./summariser/summariser.ts";

/** docs/compaction.md#tool-result-hiding. No edits if nothing is left to hide. */
export function planHiding(opened: OpenedCompaction, policy: Policy): readonly ReplaceEdit[] {
	const { transcript, meter } = opened;
	const { countTokens } = meter;
	// The specification uses the plain window, whatever the policy says about masking.
	const mask: MaskPolicy = {
		...policy.mask,
		...byAge,
		window_turns: policy.compaction.keep_tool_groups,
		keep_errors: false,
		keep_last_k_per_tool: null,
		tools: policy.compaction.keep_user_text === false ? {} : answersStay(transcript),
	};
	const replaying = { meter: { countTokens, messageOverhead: 0 }, prices: policy.prices };
	const { edits } = planMask({ ...opened, policy: mask, media: policy.media, countTokens, replaying });
	// Hiding a message that is no longer sent would only delay the summary.
	return edits.filter(({ message }) => transcript.messages[message]?.sent !== false);
}

/** docs/compaction.md#llm-summary */
export async function planSummarised(
	request: CompactRequest,
	opened: OpenedCompaction,
): Promise<PlannedCompaction | "guard"> {
	const { policy, answer, archive } = request;
	const { source, meter, measurement, scale } = opened;
	const { document, transcript, located, format } = source;
	const { messages: sizes } = measurement;
	const range = rangeOf(request, source);
	if (!range) return unchanged;
	const earlier = earlierSummaries(source, range);
	const before = [
		...range.messages.map((index) => sizes[index] ?? noSize),
		sizeOf(earlier.text, meter.countTokens),
	].reduce(addSizes, noSize);
	const { words, pinned } = keepsWords(request) ? wordsOf(policy, opened, { range, earlier }) : noWords;
	const ranged = { ...opened, range, rangeTokens: textTokens(before, scale), words: words.texts };

	if (answer.kind === "none") return "guard";
	const least = summaryOverhead(policy.locale, ranged) + leastSummary;
	if (answer.kind !== "given" && ranged.rangeTokens <= least) return unchanged;
	if (answer.kind === "caller") return { result: "summary_requested", request: callerRequest(policy, ranged) };
	const { text, by, parts, usage } = await obtainSummary(request, answer, ranged);

	const takeOut = (text: string, { refOf }: Archive) => ({ kind: "group", text, ref: refOf(text) }) as const;
	const takenOut = archive && takeOut(rangeJson(source, range), archive);
	const framed = frameSummary({ summary: text, locale: policy.locale, ref: takenOut?.ref, words: words.texts });
	const where = { document, transcript, base: located.base, writer: format.write };
	const edits = planSummary({ ...where, range, sizes, text: framed, meter, takenOut, folded: earlier.frames.length });
	const texts = [...earlier.frames.map((frame) => frame.summary), ...textsOfMessages(transcript, range.messages)];
	const { lost, found, lostCount } = lostIdentifiers({ texts, summary: [text, ...words.texts].join("\n") });
	const tokens = (size: Size) => scaleTokens(size, scale).tokens;
	const summary: SummaryReport = {
		by,
		messages: range.messages.length,
		tokens: { before: tokens(before), after: tokens(sizeOfSummary(edits[0], framed, meter)) },
		...(takenOut ? { ref: takenOut.ref } : {}),
		parts,
		...(usage ? { usage: { prompt_tokens: usage.promptTokens, completion_tokens: usage.completionTokens } } : {}),
		lost_identifiers: lost.map(({ text: name, kind }) => ({ text: name, kind })),
		identifiers: { found, lost: lostCount },
		...(words.texts.length > 0 ? { user_texts: { kept: words.texts.length, cut: words.cut } } : {}),
	};
	return { edits, result: "summarised", summary, pinned };
}

/** The tokens of text that take as much room: fixed tokens, such as a message's delimiters, are not scaled to the model. */
function textTokens({ tokens, fixed = 0 }: Size, { factor }: TokenScale): number {
	return Math.floor(tokens - fixed + fixed / Math.max(1, factor));
}

const noWords = { words: { texts: [], cut: 0 }, pinned: [] };

/** Whether the words of people are kept unchanged, as the policy says. */
export function keepsWords({ policy, strategy }: CompactRequest): boolean {
	const { keep_user_text: keeps } = policy.compaction;
	return keeps === "summaries" ? strategy.name === "hiding-then-summary" || strategy.name === "provider" : keeps;
}

/** The earlier summaries in the message that the summary joins. They become a part of it. */
function earlierSummaries({ document, transcript, format }: ReadConversation, range: PickedRange): EarlierSummaries {
	const { message, frames } = joinedSummaries({ document, transcript, writer: format.write, range });
	return { message, frames, text: frames.map(({ text }) => text).join("\n\n") };
}

type EarlierSummaries = ReturnType<typeof joinedSummaries> & { readonly text: string };

/** Without the text of the message that it joins. */
function sizeOfSummary(edit: Edit | undefined, framed: string, { countTokens }: TokenMeter): Size {
	return edit?.reason === "merge" ? sizeOf(framed, countTokens) : (edit?.after ?? noSize);
}

function answersStay({ messages }: Transcript): MaskPolicy["tools"] {
	const names = messages.flatMap(({ calls }) => calls.flatMap(({ name }) => name ?? []));
	return Object.fromEntries(names.filter(asksPerson).map((name) => [name, "never"]));
}

/** The texts that people wrote in a range, and what they answered to tools there. */
export function wordsOf(
	policy: Policy,
	{ source, meter, contextWindow, isPlaceholder }: OpenedCompaction,
	{ range, earlier }: { readonly range: Pick<PickedRange, "messages">; readonly earlier: EarlierSummaries },
) {
	const written = usersTexts(source);
	const texts = markWhole(written.flat());
	const answers = answersToTools(source.transcript, isPlaceholder);
	let next = 0;
	const byMessage = written.map((own, message) => {
		const marked = texts.slice(next, next + own.length);
		next += own.length;
		return [...marked, ...(answers[message] ?? []).map((text) => ({ text, isWhole: false }))];
	});
	const isGone = new Set(range.messages);
	const kept = earlier.frames.flatMap((frame) => frame.words ?? []).length;
	const gone = byMessage.flatMap((of, message) => {
		const own = written[message]?.length ?? 0;
		if (isGone.has(message)) return of;
		return message === earlier.message ? of.slice(own - kept, own) : [];
	});
	const words = keepWithin({
		texts: gone,
		most: mostUserTokens(policy, contextWindow),
		countTokens: meter.countTokens,
		locale: policy.locale,
	});
	return { words, pinned: pinnedWords(texts) };
}

function rangeOf({ policy, answer }: CompactRequest, source: ReadConversation): PickedRange | undefined {
	if (answer.kind === "given" && answer.token !== undefined) return rangeOfToken(source, answer.token);
	const { transcript } = source;
	return pickRange({
		transcript,
		keepLastMessages: policy.compaction.keep_last_messages,
		pinTask: policy.guard.pin_task,
		isSummary: (index) => summaryAt(transcript, index) !== undefined,
	});
}

function callerRequest(policy: Policy, ranged: Ranged): CallerRequest {
	const { source, range, rangeTokens, scale } = ranged;
	const { caller_prompt_tokens, max_summary_tokens } = policy.compaction;
	const { pieces, writePrompt } = showRange(ranged, policy, caller_prompt_tokens);
	return {
		summary_token: summaryToken(source, range),
		prompt: writePrompt(pieces),
		max_summary_tokens,
		messages: {
			first: range.first,
			last: range.messages.at(-1) ?? range.first,
			count: range.messages.length,
			tokens: scaleTokens({ tokens: rangeTokens }, scale).tokens,
		},
	};
}

async function obtainSummary(
	request: CompactRequest,
	source: Extract<SummarySource, { kind: "summariser" | "given" }>,
	ranged: Ranged,
) {
	const { policy } = request;
	const { meter, rangeTokens } = ranged;
	const overheadTokens = summaryOverhead(policy.locale, ranged);
	const answer =
		source.kind === "given"
			? { text: source.summary, by: "caller", parts: 1, usage: undefined }
			: await askModel(request, source.summariser, ranged);
	const checked = checkSummary({
		text: answer.text,
		replacedTokens: rangeTokens,
		overheadTokens,
		countTokens: meter.countTokens,
	});
	if (checked.kind === "accepted") return { ...answer, text: checked.text };
	const message = `The summary was rejected, and the conversation is unchanged. ${checked.detail}`;
	throw new PalimpsestError("summary_refused", message);
}

type Ranged = OpenedCompaction & {
	readonly range: PickedRange;
	readonly rangeTokens: number;
	/** Texts of people to keep. */
	readonly words: readonly string[];
};

async function askModel({ policy, signal, onProgress }: CompactRequest, summariser: Summariser, ranged: Ranged) {
	const { prompt_tokens, max_summary_tokens: maxTokens } = policy.compaction;
	const shown = showRange(ranged, policy, prompt_tokens);
	const { countTokens } = ranged.meter;
	const answer = await summariseInParts({ summariser, ...shown, maxTokens, countTokens, signal, onProgress });
	return { text: answer.text, by: summariser.name, parts: answer.parts, usage: answer.usage };
}

function showRange({ source, range, meter }: Ranged, policy: Policy, promptTokens: number) {
	const { transcript } = source;
	const { locale } = policy;
	const earlier = earlierSummaries(source, range);
	const earlierText = earlier.frames.map(({ summary }) => summary).join("\n\n");
	const marker = locales[locale].truncation_marker;
	const { pieces } = renderRange({
		transcript,
		messages: earlier.text === "" ? range.messages : [earlier.message, ...range.messages],
		budget: promptTokens,
		countTokens: meter.countTokens,
		marker,
		summaryOf: (index) => (index === earlier.message ? earlierText : summaryAt(transcript, index)?.summary),
	});
	const maxTokens = policy.compaction.max_summary_tokens;
	const write = (of: "messages" | "summaries") => (some: readonly string[]) =>
		writeHandoverPrompt({ pieces: some, locale, maxTokens, of });
	return { pieces, marker, writePrompt: write("messages"), writeJoinPrompt: write("summaries") };
}

function summaryAt({ messages }: Transcript, index: number) {
	const message = messages[index];
	return message && summaryOfMessage(message);
}

function summaryOverhead(locale: LocaleName, { meter, words }: Pick<Ranged, "meter" | "words">): number {
	const anyRef = "0".repeat(20);
	return meter.countTokens(frameSummary({ summary: "", locale, ref: anyRef, words })) + meter.messageOverhead;
}

/** Tokens of a hand-over with a few words under each of its six headings. A shorter range is not worth a summary. */
const leastSummary = 50;
/** Characters of the digest: long enough against accidents, and a forged one gains nothing. */
const digestLength = 12;
const grammar = /^(\d{1,9})-(\d{1,9})-([0-9a-f]{12})$/;

function summaryToken(source: ReadConversation, range: PickedRange): string {
	const digest = sha256Of(rangeJson(source, range)).slice(0, digestLength);
	return `${range.first}-${range.messages.at(-1)}-${digest}`;
}

/** The conversation may have grown at its end. Throws PalimpsestError `invalid_argument`, `stale_edit`. */
function rangeOfToken(source: ReadConversation, token: string): PickedRange {
	const parts = grammar.exec(token);
	if (!parts) {
		const message = "Expected `summary_token` exactly as the request for the summary gave it.";
		throw new PalimpsestError("invalid_argument", message);
	}
	const [first, last] = parts.slice(1).map(Number) as [number, number];
	const whole = pickRange({ transcript: source.transcript, keepLastMessages: 0, pinTask: false });
	const isWithin = (index: number) => index >= first && index <= last;
	const groups = whole ? whole.groups.filter(({ messages }) => messages.every(isWithin)) : [];
	// An answer may have been left out, so that the user does not speak twice in a row.
	for (const some of [groups, inTheirTurn(groups, source.transcript)]) {
		const messages = some.flatMap((group) => group.messages).toSorted((a, b) => a - b);
		const range = { messages, groups: some, first };
		if (summaryToken(source, range) === token) return range;
	}
	const message =
		"The summarised messages of this conversation have changed. Call again without `summary` for a new request.";
	throw new PalimpsestError("stale_edit", message);
}

/** With the message that the summary joins, if earlier summaries in it become a part of the summary. */
function rangeJson(source: ReadConversation, range: PickedRange): string {
	const { document, located, transcript } = source;
	const { message, text } = earlierSummaries(source, range);
	const messages = text === "" ? range.messages : [message, ...range.messages];
	const paths = messages.flatMap((index) => (transcript.messages[index] as Message).paths);
	const depth = located.base.length;
	// The records of a message may be mixed with those of the next.
	const inPlace = paths.toSorted((one, other) => Number(one[depth]) - Number(other[depth]));
	return compactJson(inPlace.map((path) => valueAt(document, path)));
}
