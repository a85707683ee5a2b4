import type { ReplaceEdit } from "../edit.ts";
import { sizeOfResult, type TokenMeter } from "../measure.ts";
import { type PairedResult, pairResults } from "../pairing.ts";
import { type KeptReason, type MaskResultParameters, maskResult } from "../strategies/mask-result.ts";
import { withDigest } from "../strategies/with-digest.ts";
import { toolTurns } from "../tool-turns.ts";
import type { Message, ToolResult, Transcript } from "../transcript.ts";
import { findErrors } from "../use/error-resolution.ts";

/** A tool result as a replay sees it. */
export interface ReplayResult {
	/** Index of the message that holds it. */
	readonly message: number;
	/** Number of its tool turn, from 0; `undefined` for an orphan. */
	readonly turn: number | undefined;
	readonly toolName: string | undefined;
	/** Tokens of its texts, images, recordings and documents. */
	readonly tokens: number;
	/** Tokens that masking it saves; 0 where it cannot be masked or the policy keeps it. */
	readonly saves: number;
	/** What masks it, or why it stays whatever else happens. */
	readonly outcome: readonly ReplaceEdit[] | KeptReason;
	/** What its placeholder tells of what it held: the facts and identifiers of its digest; often none. */
	readonly digest: readonly string[];
	/** Of an error that stays until it is settled: the message that settles it, `Infinity` where none does; else -1. */
	readonly staysUntil: number;
}

/** A conversation as the sequence of LLM calls that it was. Tokens are those of the meter, unscaled. */
export interface ReplayHistory {
	readonly transcript: Transcript;
	/** Tokens of each message, results included, before any edit. */
	readonly messageTokens: readonly number[];
	/** Tokens that each request carries before its first message. */
	readonly surroundingTokens: number;
	/** In the order of `pairResults`, which is that of the messages. */
	readonly results: readonly ReplayResult[];
	/** Places of the results that came as placeholders: the history is the answer of an earlier call, or begins with one. */
	readonly masked: ReadonlySet<number>;
	/** For each message, the place of its first result in `results`; one more than messages, to end the last. */
	readonly firstResult: Int32Array;
	/** For each message, 1 where it opens a tool turn. */
	readonly opensTurn: Uint8Array;
	/**
	 * Indexes of the messages that open an answer. Each was one LLM call, whose input is all that stands before it. An
	 * answer that a format splits over several assistant messages in a row, without results between, was one call.
	 */
	readonly calls: readonly number[];
}

/** What reading a history needs to know: how its results would be masked, and how it is counted. */
export interface HistoryParameters extends MaskResultParameters {
	readonly transcript: Transcript;
	readonly meter: TokenMeter;
}

/**
 * Reads a conversation for replaying. Messages that a session no longer sends, since a compaction of its own took their
 * place, count as sent throughout: they were when they came, and what was decided about them then may not depend on
 * what became of them later.
 */
export function readHistory(parameters: HistoryParameters): ReplayHistory {
	const { transcript, meter } = parameters;
	const { messages } = transcript;
	const turns = toolTurns(transcript);
	const turnAt = new Map(turns.map((message, turn) => [message, turn]));
	const opensTurn = new Uint8Array(messages.length);
	for (const message of turns) opensTurn[message] = 1;
	const firstResult = new Int32Array(messages.length + 1);
	messages.forEach((message, index) => {
		firstResult[index + 1] = (firstResult[index] as number) + message.results.length;
	});
	const { keep_errors, error_detection } = parameters.policy;
	const isStructural = keep_errors && error_detection === "structural";
	const how = withDigest(isStructural ? { ...parameters, isError: () => false } : parameters);
	const paired = pairResults(transcript);
	const turnOf = ({ caller }: PairedResult) => (caller === undefined ? undefined : turnAt.get(caller));
	const outcomes = paired.map((one) => (turnOf(one) === undefined ? "orphan" : maskResult(one, how)));
	const masked = new Set(outcomes.flatMap((outcome, place) => (outcome === "already_masked" ? [place] : [])));
	const errors = isStructural ? findErrors(transcript, masked) : [];
	const results = paired.map((one, place): ReplayResult => {
		const outcome = outcomes[place] as ReplayResult["outcome"];
		return {
			message: one.message,
			turn: turnOf(one),
			toolName: one.call?.name,
			tokens: tokensOfResult(one.result, meter),
			saves: typeof outcome === "string" ? 0 : tokensSaved(outcome),
			outcome,
			digest: typeof outcome === "string" ? none : itemsShown(how.digest?.(one), outcome),
			staysUntil: errors[place] ? (errors[place].resolvedFrom ?? Number.POSITIVE_INFINITY) : -1,
		};
	});
	return {
		transcript,
		messageTokens: messages.map((message) => tokensOf(message, meter)),
		surroundingTokens: transcript.surroundings.reduce((sum, text) => sum + meter.countTokens(text), 0),
		results,
		masked,
		firstResult,
		opensTurn,
		calls: callsOf(messages),
	};
}

function callsOf(messages: readonly Message[]): number[] {
	return messages.flatMap(({ role }, index) => (role === "assistant" && !isOpen(messages[index - 1]) ? [index] : []));
}

/** Whether a message is an answer that the next may go on with: of the assistant, without results to answer to. */
export function isOpen(message: Message | undefined): boolean {
	return message?.role === "assistant" && message.results.length === 0;
}

function tokensOf(message: Message, { countTokens, messageOverhead }: TokenMeter): number {
	let tokens = messageOverhead + message.mediaTokens;
	for (const text of message.counted) tokens += countTokens(text);
	for (const result of message.results) tokens += sizeOfResult(result, countTokens).tokens;
	return tokens;
}

function tokensOfResult(result: ToolResult, { countTokens }: TokenMeter): number {
	// Texts of documents are among those of the result.
	return result.media.reduce((sum, { tokens }) => sum + tokens, sizeOfResult(result, countTokens).tokens);
}

const none: readonly never[] = [];

/** The items of a digest, where the placeholder has it: a short result's has none. */
function itemsShown(digest: string | undefined, [edit]: readonly ReplaceEdit[]): readonly string[] {
	if (!digest || !edit) return none;
	// A format may put the placeholder into JSON.
	const written = JSON.stringify(digest).slice(1, -1);
	return JSON.stringify(edit.replacement).includes(written) ? digest.split(/,? /) : none;
}

/** Tokens that the edits of a result save in what is sent. */
export function tokensSaved(edits: readonly ReplaceEdit[]): number {
	return edits.reduce((sum, edit) => (edit.unsent ? sum : sum + edit.before.tokens - edit.after.tokens), 0);
}
