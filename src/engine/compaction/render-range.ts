import type { CountTokens } from "../measure.ts";
import { type PairedResult, pairResults } from "../pairing.ts";
import type { Transcript } from "../transcript.ts";
import { truncateHeadTail } from "../truncate/head-tail.ts";
import { type MessagePart, messageParts } from "./message-parts.ts";

/** What rendering depends on. */
export interface RenderRangeParameters {
	readonly transcript: Transcript;
	/** Indexes of the messages, ascending. */
	readonly messages: readonly number[];
	/** Most tokens of the rendered text. */
	readonly budget: number;
	readonly countTokens: CountTokens;
	/** Stands in the gap of what is shortened; variable {omitted_chars}. */
	readonly marker: string;
	/** Characters up to which a tool result is shown whole where the budget allows. */
	readonly resultChars?: number;
	/** The text of a message that is an earlier summary. */
	readonly summaryOf?: (message: number) => string | undefined;
}

/** A range of messages as the text that a model is to summarise. */
export interface RenderedRange {
	/** One for each message, in order; between them the text may be split. */
	readonly pieces: readonly string[];
	/** The pieces, joined. */
	readonly text: string;
	readonly tokens: number;
	/** Parts of messages that are shown shortened. */
	readonly shortened: number;
	/** Messages that are not shown at all, since the budget is too small. */
	readonly leftOut: number;
}

/** What is joined between two pieces. */
export const pieceSeparator = "\n\n";

const defaultResultChars = 2_000;
/** How often limits are halved before messages are left out. */
const halvings = 5;
/** Share of `resultChars` of each kind: texts of people and models say more than what tools answer, arguments less. */
const shares = { text: 8, result: 1, call: 0.5 };
/** Characters that are shown at least: below, the ends of a path or of a command line would go. */
const least = { text: 400, result: 120, call: 200 };

interface RenderedMessage {
	readonly message: number;
	readonly role: string;
	readonly parts: readonly MessagePart[];
	readonly summary: string | undefined;
}

/**
 * Renders messages for the prompt: who speaks, texts, calls, results shortened to head and tail, media named, reasoning
 * left out, an earlier summary as such. What is over the budget is shortened more and more, and at last messages are
 * left out, from the middle, where they are missed least. Never over the budget, though empty where that is tiny.
 */
export function renderRange(parameters: RenderRangeParameters): RenderedRange {
	const { budget, countTokens, resultChars = defaultResultChars } = parameters;
	const messages = readMessages(parameters);
	let last: Rendering = { pieces: [], shortened: 0 };
	for (let halving = 0; halving <= halvings; halving += 1) {
		last = renderAll(messages, resultChars / 2 ** halving, parameters.marker);
		const text = last.pieces.join(pieceSeparator);
		const tokens = countTokens(text);
		if (tokens <= budget) return { ...last, text, tokens, leftOut: 0 };
	}
	return leaveOut(last, parameters);
}

function readMessages({ transcript, messages, summaryOf }: RenderRangeParameters): RenderedMessage[] {
	const pairs = new Map<number, PairedResult[]>();
	for (const pair of pairResults(transcript)) {
		const known = pairs.get(pair.message);
		if (known) known.push(pair);
		else pairs.set(pair.message, [pair]);
	}
	return messages.flatMap((index): RenderedMessage[] => {
		const message = transcript.messages[index];
		if (!message) return [];
		const summary = summaryOf?.(index);
		const parts =
			summary === undefined
				? messageParts(message, pairs.get(index) ?? [])
				: messageParts({ ...message, counted: [summary], calls: [], thinking: [] }, []);
		return parts.length === 0 ? [] : [{ message: index, role: message.role, parts, summary }];
	});
}

interface Rendering {
	readonly pieces: readonly string[];
	readonly shortened: number;
}

function renderAll(messages: readonly RenderedMessage[], resultChars: number, marker: string): Rendering {
	let shortened = 0;
	const pieces = messages.map(({ message, role, parts, summary }) => {
		const lines = parts.map(({ kind, label, text }) => {
			const maxChars = Math.max(least[kind], Math.floor(resultChars * shares[kind]));
			const half = Math.floor(maxChars / 2);
			const cut = truncateHeadTail(text, { maxChars, headChars: half, tailChars: half, marker });
			if (cut.truncated) shortened += 1;
			if (kind === "text") return cut.text;
			return kind === "call" ? `-> ${label} ${cut.text}`.trimEnd() : `<- ${label}\n${cut.text}`.trimEnd();
		});
		const heading = summary === undefined ? role : "summary of what came before";
		return `[${message}] ${heading}:\n${lines.join("\n")}`;
	});
	return { pieces, shortened };
}

/** Keeps the newest pieces, and a quarter of the budget for the oldest. */
function leaveOut({ pieces, shortened }: Rendering, parameters: RenderRangeParameters): RenderedRange {
	const { budget, countTokens } = parameters;
	const weights = pieces.map((piece) => countTokens(piece + pieceSeparator));
	const fitting = (order: readonly number[], room: number) => {
		let left = room;
		const end = order.findIndex((index) => {
			left -= weights[index] ?? 0;
			return left < 0;
		});
		return end === -1 ? order.length : end;
	};
	const oldestFirst = pieces.map((_, index) => index);
	const gap = countTokens(gapOf(pieces.length) + pieceSeparator);
	let head = fitting(oldestFirst, (budget - gap) / 4);
	const headTokens = weights.slice(0, head).reduce((sum, weight) => sum + weight, 0);
	let tail = Math.min(pieces.length - head, fitting(oldestFirst.toReversed(), budget - gap - headTokens));
	// Texts counted apart and together can differ by some tokens, so the outcome is counted, and gives way until it fits.
	for (;;) {
		const leftOut = pieces.length - head - tail;
		const between = leftOut === 0 ? [] : [gapOf(leftOut)];
		const kept = [...pieces.slice(0, head), ...between, ...pieces.slice(pieces.length - tail)];
		const text = kept.join(pieceSeparator);
		const tokens = countTokens(text);
		if (tokens <= budget) return { pieces: kept, text, tokens, shortened, leftOut };
		if (head > 0) head -= 1;
		else if (tail > 0) tail -= 1;
		else return { pieces: [], text: "", tokens: 0, shortened, leftOut: pieces.length };
	}
}

function gapOf(messages: number): string {
	return `[... ${messages} messages ...]`;
}
