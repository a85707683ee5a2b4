import { locateCallArguments } from "../../../src/engine/call-arguments.ts";
import { findIdentifiers } from "../../../src/engine/compaction/identifiers.ts";
import { type PairedResult, pairResults } from "../../../src/engine/pairing.ts";
import type { Message, Transcript } from "../../../src/engine/transcript.ts";

/** A large result of a conversation, with what the agent used of it later. */
export interface RecallCase {
	readonly text: string;
	/** The arguments of the call and the assistant's last words before it. */
	readonly focus: string;
	readonly identifiers: ReadonlySet<string>;
	/** Whole lines, as `comparedLine` spells them. */
	readonly lines: ReadonlySet<string>;
}

/** Shortest line that is compared, in characters: a bracket by itself tells of no use. */
const shortestLine = 10;

/** A line as lines are compared: without the number that a tool put before it, and without white space around it. */
export function comparedLine(line: string): string | undefined {
	const plain = line.replace(/^\s*\d+(?:→|\t|:|\|| \|)/, "").trim();
	return plain.length >= shortestLine && /\p{L}{2}/u.test(plain) ? plain : undefined;
}

export function comparedLines(text: string): string[] {
	return text.split("\n").flatMap((line) => comparedLine(line) ?? []);
}

/** What stands in a text, by the same measure for what is used and for what is kept. */
export const measures = {
	identifiers: (text: string): string[] => findIdentifiers(text).map((one) => one.text),
	lines: comparedLines,
} as const;

/**
 * The results over a size with their later use: an identifier or a line of a result is used where the first message
 * outside that result that holds it is an assistant's, in its words or in the arguments of a call. Each counts once.
 */
export function recallCases(transcript: Transcript, isLarge: (text: string) => boolean): RecallCase[] {
	const paired = pairResults(transcript);
	const byMessage = new Map<number, PairedResult[]>();
	for (const one of paired) byMessage.set(one.message, [...(byMessage.get(one.message) ?? []), one]);
	const nodes: { text: string; focus: string; identifiers: Set<string>; lines: Set<string> }[] = [];
	const sources = { identifiers: new Map<string, number>(), lines: new Map<string, number>() };
	const several = -1;
	let lastWords = "";
	transcript.messages.forEach((message, index) => {
		const { words, callArguments } = partsOf(message);
		const isAssistant = message.role === "assistant";
		const said = isAssistant ? [...words, ...callArguments.flatMap(stringsIn)] : words;
		for (const kind of ["identifiers", "lines"] as const) {
			for (const one of new Set(said.flatMap(measures[kind]))) {
				const source = sources[kind].get(one);
				if (isAssistant && source !== undefined && source !== several) nodes[source]?.[kind].add(one);
				sources[kind].set(one, several);
			}
		}
		if (isAssistant && words.some((text) => text.trim() !== "")) lastWords = words.join("\n");
		for (const { result, caller, call } of byMessage.get(index) ?? []) {
			const calling = caller === undefined ? undefined : transcript.messages[caller];
			const place = calling && call ? calling.calls.indexOf(call) : -1;
			const asked = calling ? (partsOf(calling).callArguments[place] ?? "") : "";
			for (const { text } of result.texts) {
				const node = nodes.length;
				nodes.push({ text, focus: `${asked}\n${lastWords}`, identifiers: new Set(), lines: new Set() });
				for (const kind of ["identifiers", "lines"] as const) {
					for (const one of new Set(measures[kind](text))) {
						sources[kind].set(one, sources[kind].has(one) ? several : node);
					}
				}
			}
		}
	});
	return nodes.filter(({ text }) => isLarge(text));
}

/** Whether a message says what it holds in words of its own, and the arguments of its calls, place by place. */
function partsOf(message: Message): { words: string[]; callArguments: (string | undefined)[] } {
	const thoughts = new Set(message.thinking.map((block) => block.text));
	const places = locateCallArguments(message);
	const ofCalls = new Set(places.flatMap((place) => (place === undefined ? [] : [place, place - 1])));
	return {
		words: message.counted.filter((text, index) => !ofCalls.has(index) && !thoughts.has(text)),
		callArguments: places.map((place) => (place === undefined ? undefined : message.counted[place])),
	};
}

/** The texts of a call's arguments: the strings of its JSON, or what it holds where it is none. */
function stringsIn(text: string | undefined): string[] {
	if (text === undefined) return [];
	try {
		const strings: string[] = [];
		JSON.parse(text, (_, value) => {
			if (typeof value === "string") strings.push(value);
			return value;
		});
		return strings;
	} catch {
		return [text];
	}
}

/** Longest piece that the bound takes at once; longer lines can be taken in part. */
const longestPiece = 300;

/**
 * What a choice of lines that knows the later use can keep at most within a budget of characters, whatever else the text
 * says: the share of `wanted` kept, by greedy choice of what keeps most for a character.
 */
export function clairvoyantBound(
	text: string,
	wanted: ReadonlySet<string>,
	measure: (text: string) => string[],
	budget: number,
): number {
	const pieces = text.split("\n").flatMap((line) => {
		if (line.length <= longestPiece || measure === measures.lines) return [line];
		return line.match(/.{1,300}(?=[\s,;"'(){}[\]]|$)/g) ?? [line];
	});
	let open = pieces
		.map((piece) => ({ cost: piece.length + 1, holds: [...new Set(measure(piece))].filter((one) => wanted.has(one)) }))
		.filter(({ holds }) => holds.length > 0);
	const kept = new Set<string>();
	let left = budget;
	while (open.length > 0) {
		open = open
			.map((piece) => ({ ...piece, holds: piece.holds.filter((one) => !kept.has(one)) }))
			.filter((piece) => piece.holds.length > 0 && piece.cost <= left)
			.sort((a, b) => b.holds.length / b.cost - a.holds.length / a.cost);
		const best = open.shift();
		if (!best) break;
		left -= best.cost;
		for (const one of best.holds) kept.add(one);
	}
	return kept.size;
}
