import { groupBy } from "../conversation/lists.js";
import { resultText } from "../conversation/transcript.js";
import { groupMessages, locateCallArguments, mayLeave, pairLinks, pairResults } from "../conversation/turns.js";
import { cleanValue, writeMediaPlaceholder } from "../masking/placeholder.js";
import { truncateHeadTail } from "../truncation/head-tail.js";
import { cleanText, neutraliseSpecialTokens } from "./clean-text.js";
/**
 * Picks the messages to summarise: all whole groups between the task and the last messages, except system messages, those
 * that are no longer sent, and all from the first call in flight on. If user and assistant must alternate and the range is
 * between two user messages, an assistant message of it stays. `undefined` if nothing can be summarised.
 */
export function pickRange(given) {
	const { transcript, keepLastMessages, pinTask, isSummary = () => false } = given;
	const { messages } = transcript;
	const movable = messages.flatMap((message, index) => (mayLeave(message) ? [index] : []));
	const stays = new Set(keepLastMessages <= 0 ? [] : movable.slice(-keepLastMessages));
	const task = messages.findIndex((message) => message.role === "user" && message.sent !== false);
	const isPinned = task !== -1 && (pinTask || transcript.opensWithUser);
	const isMovable = new Set(movable);
	const inFlight = startOfCallsInFlight(transcript);
	const between = groupMessages(transcript, pairResults(transcript)).filter((group) =>
		group.messages.every(
			(index) => isMovable.has(index) && !stays.has(index) && index < inFlight && !(isPinned && index <= task),
		),
	);
	const groups = inTheirTurn(between, transcript);
	const picked = groups.flatMap((group) => group.messages).toSorted((a, b) => a - b);
	const [first] = picked;
	if (first === undefined || picked.every(isSummary)) return undefined;
	return { messages: picked, groups, first };
}
/**
 * The first message of the last answer with a call that has no result yet; `Infinity` if there is none. Its program is about
 * to send the result, so all messages from there on stay, also those of a person. Calls of the provider's own tools, in a
 * turn that was paused, count.
 */
function startOfCallsInFlight(transcript) {
	const { messages } = transcript;
	const last = messages.findLastIndex(({ role, sent }) => role === "assistant" && sent !== false);
	const beforeAnswer = messages.findLastIndex(
		({ role, sent }, index) => index < last && role !== "assistant" && sent !== false,
	);
	const answered = new Set(pairResults(transcript).map(({ call }) => call));
	// Results without ids answer calls without ids in their order.
	const results = messages.slice(beforeAnswer + 1).flatMap((message) => message.results);
	let unnamed = results.filter(({ callId }) => callId === undefined).length;
	const isOpen = (call) => {
		if (call.id !== undefined) return !answered.has(call);
		unnamed -= 1;
		return unnamed < 0;
	};
	const referred = new Set(pairLinks(messages).map(({ link, opener }) => `${opener} ${link.id}`));
	const first = messages.findIndex(({ calls, links = [], sent }, index) => {
		if (index <= beforeAnswer || sent === false) return false;
		return calls.some(isOpen) || links.some(({ kind, id }) => kind === "opens" && !referred.has(`${index} ${id}`));
	});
	return first === -1 ? Number.POSITIVE_INFINITY : first;
}
/** Leaves an answer out if the user would otherwise speak twice in a row: before the range, or in its summary, and after it. */
export function inTheirTurn(groups, { messages, inTurn, plainInTurn }) {
	if (inTurn) return untilTheirTurn(groups, messages);
	return plainInTurn ? withoutOneAnswer(groups, messages) : groups;
}
/** Calls and their results do not count, so that the answer may be far from the end. */
function withoutOneAnswer(groups, messages) {
	const first = groups[0]?.messages[0];
	if (first === undefined) return groups;
	const gone = new Set(groups.flatMap((group) => group.messages));
	const behind = messages.find((message, index) => index > first && !gone.has(index) && isPlain(message));
	const before = messages.findLast((message, index) => index < first && isPlain(message));
	if (behind?.role !== "user" || (before !== undefined && before.role !== "user")) return groups;
	const last = groups.findLastIndex(({ messages: [index = -1] }) => {
		const message = messages[index];
		return message?.role === "assistant" && isPlain(message);
	});
	return groups.filter((_, place) => place !== last);
}
/** Whether a message has its turn for models that do not count calls and results. */
function isPlain({ role, calls, results, sent }) {
	return (role === "user" || role === "assistant") && sent !== false && calls.length === 0 && results.length === 0;
}
/** Leaves the last groups out if the user would otherwise speak twice in a row: before the range and after it. */
function untilTheirTurn(groups, messages) {
	const first = groups[0]?.messages[0];
	if (first === undefined) return groups;
	const gone = new Set(groups.flatMap((group) => group.messages));
	const behind = messages.find(({ sent }, index) => index > first && !gone.has(index) && sent !== false);
	if (messages[first - 1]?.role !== "user" || behind?.role !== "user") return groups;
	const last = groups.findLastIndex((group) => messages[group.messages[0] ?? -1]?.role === "assistant");
	// Without an assistant message, the user spoke twice in a row before, and may do so again.
	return last === -1 ? groups : groups.slice(0, last);
}
export const pieceSeparator = "\n\n";
/** How often limits are halved before messages are left out. */
const halvings = 5;
/** Multiples of `resultChars`: texts of people and models say more than results of tools, arguments less. */
const shares = { text: 8, result: 1, call: 0.5 };
/** Characters that are always shown, so that paths and command lines keep their ends. */
const least = { text: 400, result: 120, call: 200 };
/**
 * Renders messages for the prompt, without reasoning. Over the budget, parts are shortened more and more, and at last
 * messages are left out from the middle. The text is never over the budget, but may be empty.
 */
export function renderRange(parameters) {
	const { budget, countTokens, resultChars = 2_000 } = parameters;
	const messages = readMessages(parameters);
	let last = { pieces: [], shortened: 0 };
	for (let halving = 0; halving <= halvings; halving += 1) {
		last = renderAll(messages, resultChars / 2 ** halving, parameters.marker);
		const text = last.pieces.join(pieceSeparator);
		const tokens = countTokens(text);
		if (tokens <= budget) return { ...last, text, tokens, leftOut: 0 };
	}
	return leaveOut(last, parameters);
}
function readMessages({ transcript, messages, summaryOf }) {
	const pairs = groupBy(pairResults(transcript), (pair) => pair.message);
	return messages.flatMap((index) => {
		const message = transcript.messages[index];
		if (!message) return [];
		const summary = summaryOf?.(index);
		const isSummary = summary !== undefined;
		const parts = isSummary
			? messageParts({ ...message, counted: [summary], calls: [], thinking: [] }, [])
			: messageParts(message, pairs.get(index) ?? []);
		const heading = isSummary ? "summary of what came before" : message.role;
		return parts.length === 0 ? [] : [{ message: index, heading, parts }];
	});
}
function renderAll(messages, resultChars, marker) {
	let shortened = 0;
	const pieces = messages.map(({ message, heading, parts }) => {
		const lines = parts.map(({ kind, label, text }) => {
			const maxChars = Math.max(least[kind], Math.floor(resultChars * shares[kind]));
			const half = Math.floor(maxChars / 2);
			const cut = truncateHeadTail(text, { maxChars, headChars: half, tailChars: half, marker });
			if (cut.truncated) shortened += 1;
			if (kind === "text") return cut.text;
			return kind === "call" ? `-> ${label} ${cut.text}`.trimEnd() : `<- ${label}\n${cut.text}`.trimEnd();
		});
		return `[${message}] ${heading}:\n${lines.join("\n")}`;
	});
	return { pieces, shortened };
}
/** Keeps the newest pieces, and a quarter of the budget for the oldest. */
function leaveOut({ pieces, shortened }, parameters) {
	const { budget, countTokens } = parameters;
	const weights = pieces.map((piece) => countTokens(piece + pieceSeparator));
	const fitting = (order, room) => {
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
	// Counted together, since the sum of the pieces can differ by some tokens.
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
function gapOf(messages) {
	return `[... ${messages} messages ...]`;
}
/** The parts of a message without reasoning: texts, then calls, then results, because formats order them differently. */
function messageParts(message, paired) {
	const parts = [];
	const add = (kind, label, text) => {
		const shown = neutraliseSpecialTokens(cleanText(text)).trim();
		if (shown !== "" || kind !== "text") parts.push({ kind, label, text: shown });
	};
	const { counted, calls, results } = message;
	const places = locateCallArguments(message);
	const ofCalls = new Set(places.flatMap((place) => (place === undefined ? [] : [place - 1, place])));
	const thoughts = message.thinking.map((block) => block.text);
	counted.forEach((text, index) => {
		if (ofCalls.has(index)) return;
		const thought = thoughts.indexOf(text);
		if (thought === -1) add("text", "", text);
		else thoughts.splice(thought, 1);
	});
	const mediaInResults = results.flatMap((result) => result.media).reduce((sum, { tokens }) => sum + tokens, 0);
	if (message.mediaTokens > mediaInResults) add("text", "", "[media]");
	// Calls whose arguments cannot be located are shown by name only.
	calls.forEach(({ name }, index) => {
		add("call", nameOf(name), counted[places[index] ?? -1] ?? "");
	});
	for (const { result, call } of paired) {
		const failed = result.isError === true ? " (error)" : "";
		const text = [resultText(result), ...result.media.map(describeMedia)].join("\n");
		add("result", `${nameOf(call?.name)}${failed}`, text);
	}
	return parts;
}
function nameOf(name) {
	return cleanValue(name ?? "") || "?";
}
function describeMedia(media) {
	const wording = { mediaPlaceholder: "[media: {media}]", unknownTool: "?" };
	return writeMediaPlaceholder(wording, { media, toolCallId: "", toolName: undefined });
}
/** Splits pieces into two parts of about the same number of characters; `undefined` for fewer than two pieces. */
export function splitInTwo(pieces) {
	if (pieces.length < 2) return undefined;
	const half = pieces.reduce((sum, piece) => sum + piece.length, 0) / 2;
	let chars = 0;
	const cut = pieces.findIndex((piece) => {
		chars += piece.length;
		return chars - piece.length / 2 > half;
	});
	const end = cut === -1 ? pieces.length - 1 : cut;
	return [pieces.slice(0, end), pieces.slice(end)];
}
/** Fills parts of at most `budget`, by `weigh`, with pieces in order. A piece that is larger alone is its own part. */
export function packPieces(pieces, weigh, budget) {
	const parts = [];
	let room = 0;
	for (const piece of pieces) {
		const weight = weigh(piece);
		const part = weight <= room ? parts.at(-1) : undefined;
		if (part) part.push(piece);
		else parts.push([piece]);
		room = (part ? room : budget) - weight;
	}
	return parts;
}
