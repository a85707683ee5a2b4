import type { CountTokens } from "../conversation/measure.ts";
import { type MediaNode, type Message, resultText, type Transcript } from "../conversation/transcript.ts";
import {
	groupMessages,
	locateCallArguments,
	type MessageGroup,
	type PairedResult,
	pairResults,
} from "../conversation/turns.ts";
import { cleanValue, writeMediaPlaceholder } from "../masking/placeholder.ts";
import { truncateHeadTail } from "../truncation/head-tail.ts";
import { cleanText, neutraliseSpecialTokens } from "./clean-text.ts";

/** What picking a range depends on. */
export interface PickRangeParameters {
	readonly transcript: Transcript;
	/** Newest messages (system messages aside) that stay, with their groups. */
	readonly keepLastMessages: number;
	/** Whether the first user message stays; where the format's API wants a user message first, it always does. */
	readonly pinTask: boolean;
	/** Whether a message is an earlier summary. A range of nothing else is not worth summarising again. */
	readonly isSummary?: (message: number) => boolean;
}

/** The messages that a summary may take the place of. */
export interface PickedRange {
	/** Their indexes, ascending; whole groups only. */
	readonly messages: readonly number[];
	/** The same by group, oldest first. */
	readonly groups: readonly MessageGroup[];
	/** Tokens are saved from here on: the first of them, before which the summary is put. */
	readonly first: number;
}

/**
 * Picks what is summarised: all whole groups between the task and the last messages. A group stays whole or goes whole,
 * so that no call loses its result. What stands between and stays (a system message, what is no longer sent, a group
 * that reaches into the last messages) leaves a hole; apart from that the range is contiguous. Where user and assistant
 * are to speak in turn and a user message stands at both its ends, the assistant's last message in it stays between them.
 * `undefined` where there is nothing to summarise.
 */
export function pickRange(parameters: PickRangeParameters): PickedRange | undefined {
	const { transcript, keepLastMessages, pinTask, isSummary = () => false } = parameters;
	const { messages, inTurn } = transcript;
	const movable: number[] = [];
	messages.forEach((message, index) => {
		if (message.role !== "system" && message.sent !== false) movable.push(index);
	});
	const stays = new Set(keepLastMessages <= 0 ? [] : movable.slice(-keepLastMessages));
	const task = messages.findIndex((message) => message.role === "user" && message.sent !== false);
	const isPinned = task !== -1 && (pinTask || transcript.opensWithUser);

	const isMovable = new Set(movable);
	const between = groupMessages(transcript, pairResults(transcript)).filter((group) =>
		group.messages.every((index) => isMovable.has(index) && !stays.has(index) && !(isPinned && index <= task)),
	);
	const groups = inTurn ? untilTheirTurn(between, messages) : between;
	const picked = groups.flatMap((group) => group.messages).toSorted((a, b) => a - b);
	const [first] = picked;
	if (first === undefined || picked.every(isSummary)) return undefined;
	return { messages: picked, groups, first };
}

/** The groups without the last ones, as far as the user would else speak twice, in front of them and behind. */
function untilTheirTurn(groups: readonly MessageGroup[], messages: readonly Message[]): readonly MessageGroup[] {
	const first = groups[0]?.messages[0];
	if (first === undefined) return groups;
	const gone = new Set(groups.flatMap((group) => group.messages));
	const behind = messages.find(({ sent }, index) => index > first && !gone.has(index) && sent !== false);
	if (messages[first - 1]?.role !== "user" || behind?.role !== "user") return groups;
	const last = groups.findLastIndex((group) => messages[group.messages[0] ?? -1]?.role === "assistant");
	// Where the user spoke twice before, nothing is lost by its doing so again.
	return last === -1 ? groups : groups.slice(0, last);
}

/** A value read as plain JSON, or what is wrong with it. */
export type PlainJson =
	| { readonly kind: "json"; readonly value: unknown }
	| { readonly kind: "refused"; readonly problem: string };

/** How deep values may be nested, past any conversation's own nesting. */
const deepest = 64;

/**
 * A copy of somebody else's value, for us to keep: lists and objects anew. Fields that are `undefined` are left out, as
 * `JSON.stringify` does; whatever else JSON has no word for is refused, and what reading a property throws as well.
 */
export function plainJson(value: unknown): PlainJson {
	try {
		return { kind: "json", value: copy(value, 0) };
	} catch (error) {
		const problem = error instanceof Refusal ? error.message : "a property that cannot be read";
		return { kind: "refused", problem };
	}
}

/** Ends the copying at once, since a value that holds itself has no end. */
class Refusal extends Error {}

function copy(value: unknown, depth: number): unknown {
	if (depth > deepest) throw new Refusal(`values nested deeper than ${deepest} levels`);
	switch (typeof value) {
		case "string":
		case "boolean":
			return value;
		case "number":
			if (!Number.isFinite(value)) throw new Refusal("a number that is not finite");
			return value;
		case "object":
			return value === null ? null : copyObject(value, depth);
		default:
			throw new Refusal(typeof value === "undefined" ? "undefined" : `a ${typeof value}`);
	}
}

function copyObject(value: object, depth: number): unknown {
	if (Array.isArray(value)) return Array.from(value as unknown[], (item) => copy(item, depth + 1));
	const prototype: unknown = Object.getPrototypeOf(value);
	if (prototype !== null && !isObjectPrototype(prototype)) throw new Refusal("an instance of a class");
	const entries: [string, unknown][] = [];
	for (const [key, item] of Object.entries(value)) {
		if (key === "__proto__") throw new Refusal("a key that sets the prototype");
		if (item !== undefined) entries.push([key, copy(item, depth + 1)]);
	}
	return Object.fromEntries(entries);
}

/** `Object.prototype`, be it that of another realm. */
function isObjectPrototype(prototype: unknown): boolean {
	return (
		prototype === Object.prototype ||
		(Object.getPrototypeOf(prototype) === null && Object.hasOwn(prototype as object, "hasOwnProperty"))
	);
}

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

/** A part of a message as a summary's prompt shows it. */
export interface MessagePart {
	readonly kind: "text" | "call" | "result";
	/** What stands before the text: the tool's name, and whether it failed; empty for a text. */
	readonly label: string;
	/** Well-formed, without control characters or special tokens. */
	readonly text: string;
}

const order: Readonly<Record<MessagePart["kind"], number>> = { text: 0, call: 1, result: 2 };

/**
 * The parts of a message: what it says, then its calls, then its results, since formats count them in orders of their
 * own. Reasoning is left out. `paired` are the results that it holds.
 */
export function messageParts(message: Message, paired: readonly PairedResult[]): MessagePart[] {
	const parts: MessagePart[] = [];
	const add = (kind: MessagePart["kind"], label: string, text: string) => {
		const shown = neutraliseSpecialTokens(cleanText(text)).trim();
		if (shown !== "" || kind !== "text") parts.push({ kind, label, text: shown });
	};
	const { counted, calls } = message;
	const thoughts = message.thinking.map((block) => block.text);
	const places = locateCallArguments(message);
	const callAt = new Map(places.map((place, call) => [place, call]));
	let nextCall = 0;
	const addCallsBefore = (end: number) => {
		// One that the format counts otherwise is shown by its name.
		for (const skipped of calls.slice(nextCall, end)) add("call", nameOf(skipped.name), "");
		nextCall = end;
	};
	for (let index = 0; index < counted.length; index += 1) {
		const call = callAt.get(index + 1);
		if (call !== undefined) {
			addCallsBefore(call);
			index += 1;
			add("call", nameOf(calls[call]?.name), counted[index] ?? "");
			nextCall = call + 1;
			continue;
		}
		const text = counted[index] ?? "";
		const thought = thoughts.indexOf(text);
		if (thought === -1) add("text", "", text);
		else thoughts.splice(thought, 1);
	}
	addCallsBefore(calls.length);
	const mediaInResults = message.results.flatMap((result) => result.media);
	if (message.mediaTokens > mediaInResults.reduce((sum, media) => sum + media.tokens, 0)) add("text", "", "[media]");
	for (const { result, call } of paired) {
		const failed = result.isError === true ? " (error)" : "";
		const text = [resultText(result), ...result.media.map(describeMedia)].filter((one) => one !== "").join("\n");
		add("result", `${nameOf(call?.name)}${failed}`, text);
	}
	return parts.toSorted((a, b) => order[a.kind] - order[b.kind]);
}

function nameOf(name: string | undefined): string {
	return neutraliseSpecialTokens(cleanValue(name ?? "")) || "?";
}

function describeMedia(media: MediaNode): string {
	const wording = { mediaPlaceholder: "[media: {media}]", unknownTool: "?" };
	return writeMediaPlaceholder(wording, { media, toolCallId: "", toolName: undefined });
}

/** Texts in order, none of which is to be split. */
export type Pieces = readonly string[];

/** Splits pieces in two of about the same number of characters; `undefined` where there are fewer than two. */
export function splitInTwo(pieces: Pieces): readonly [Pieces, Pieces] | undefined {
	if (pieces.length < 2) return undefined;
	const half = pieces.reduce((sum, piece) => sum + piece.length, 0) / 2;
	let end = 0;
	let chars = 0;
	// A piece belongs to the first half where more than half of it lies there.
	while (end < pieces.length - 1 && chars + (pieces[end]?.length ?? 0) / 2 <= half) {
		chars += pieces[end]?.length ?? 0;
		end += 1;
	}
	end = Math.max(1, end);
	return [pieces.slice(0, end), pieces.slice(end)];
}

/**
 * Packs pieces, in order, into as few parts as go by filling one after the other: each within `budget`, by what `weigh`
 * gives. A piece that is over it by itself is a part of its own.
 */
export function packPieces(pieces: Pieces, weigh: (piece: string) => number, budget: number): readonly Pieces[] {
	const parts: string[][] = [];
	let weight = 0;
	for (const piece of pieces) {
		const own = weigh(piece);
		const part = parts.at(-1);
		if (part && weight + own <= budget) {
			part.push(piece);
			weight += own;
		} else {
			parts.push([piece]);
			weight = own;
		}
	}
	return parts;
}
