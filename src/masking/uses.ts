import { addToList } from "../conversation/lists.ts";
import { type Message, resultContent, type Transcript } from "../conversation/transcript.ts";
import { type PairedResult, pairResults } from "../conversation/turns.ts";
import { resultArguments } from "./call-targets.ts";
import { forgetIfFull, numberIdentifiers } from "./identifiers.ts";

export interface Taken {
	readonly text: string;
	/** The results that held it then, oldest first: their places in `pairResults`. */
	readonly holders: readonly number[];
}

interface Touch {
	readonly result: number;
	/** 1 for each string that no other result holds. */
	readonly weight: number;
}

/** The strings of results that each message uses. Places are those of `pairResults`; lists are by message. */
export interface Uses {
	/** Identifiers that an assistant message uses and that only tool results held before it. */
	readonly identifiers: readonly (readonly Taken[])[];
	readonly lines: readonly (readonly Taken[])[];
	readonly touches: readonly (readonly Touch[])[];
	/** For each result, how many of its identifiers are nowhere before it. */
	readonly fresh: readonly number[];
}

/** Results that hold the same string and count as used with it: the last ones. */
const mostHolders = 8;

const none: readonly never[] = [];

/**
 * Finds the strings of results that each assistant message uses: identifiers and whole lines, each once in a conversation, since a string
 * of an earlier message is not taken from a result. It *comes back to* a result by shared strings, which weigh more the
 * fewer results hold them, or by a path that the result's call named. Looks only backwards, in linear time.
 */
export function findUses(transcript: Transcript): Uses {
	const { messages } = transcript;
	const paired = pairResults(transcript);
	const argumentsOf = resultArguments(transcript);
	const identifiers = numberIdentifiers();
	const lines = numberLines(transcript);
	const known = {
		identifiers: startStrings((one) => identifiers.identifierOf(one).text),
		lines: startStrings(lines.lineOf),
	};
	/** For each identifier that is a path, the results whose calls named it. */
	const callsNaming = new Map<number, number[]>();
	const uses = { identifiers: [] as Taken[][], lines: [] as Taken[][], fresh: [] as number[] };
	const touches: Touch[][] = [];
	let place = 0;
	messages.forEach(({ role, counted }, index) => {
		const weights = role === "assistant" ? new Map<number, number>() : undefined;
		const named =
			counted.length === 1
				? identifiers.numbersIn(counted[0] as string)
				: [...new Set(counted.flatMap((text) => [...identifiers.numbersIn(text)]))];
		uses.identifiers.push(known.identifiers.say(named, weights));
		uses.lines.push(known.lines.say(lines.numbersOf(index), weights));
		if (weights) for (const one of named) addWeight(weights, callsNaming.get(one) ?? none, 1);
		touches.push(Array.from(weights ?? none, ([result, weight]) => ({ result, weight })));
		for (; paired[place]?.message === index; place += 1) {
			const text = resultContent((paired[place] as PairedResult).result);
			uses.fresh.push(known.identifiers.hold(identifiers.numbersIn(text), place));
			known.lines.hold(lines.numbersIn([text]), place);
			for (const one of identifiers.numbersIn(argumentsOf[place] ?? "")) {
				if (identifiers.identifierOf(one).kind === "path") addToList(callsNaming, one, place);
			}
		}
	});
	forgetIfFull();
	return { ...uses, touches };
}

function addWeight(weights: Map<number, number>, results: readonly number[], weight: number): void {
	for (let index = Math.max(0, results.length - mostHolders); index < results.length; index += 1) {
		const result = results[index] as number;
		weights.set(result, (weights.get(result) ?? 0) + weight);
	}
}

/** Where the strings of one kind are, each by its number, while a history is walked through. */
function startStrings(textOf: (string: number) => string) {
	let said = new Uint8Array(1024);
	/** The only result that holds a string, counted from 1; most strings are in one result. */
	let holder = new Int32Array(1024);
	/** All holders of the others. */
	const holders = new Map<number, number[]>();
	const makeRoom = (number: number) => {
		if (number < said.length) return;
		const [oldSaid, oldHolder] = [said, holder];
		said = new Uint8Array(2 * number);
		said.set(oldSaid);
		holder = new Int32Array(2 * number);
		holder.set(oldHolder);
	};
	const holdersOf = (number: number): readonly number[] =>
		holders.get(number) ?? (holder[number] === 0 ? none : [(holder[number] as number) - 1]);
	return {
		/** Records the strings of a message. With `weights` it is an answer: adds to them, and returns the strings that it took. */
		say(numbers: Iterable<number>, weights: Map<number, number> | undefined): Taken[] {
			const taken: Taken[] = [];
			for (const number of numbers) {
				makeRoom(number);
				if (weights && holder[number] !== 0) {
					const held = [...holdersOf(number)];
					addWeight(weights, held, 1 / held.length);
					if (said[number] === 0) taken.push({ text: textOf(number), holders: held });
				}
				said[number] = 1;
			}
			return taken;
		},
		hold(numbers: Iterable<number>, result: number): number {
			let fresh = 0;
			for (const number of numbers) {
				makeRoom(number);
				if (holder[number] === 0) {
					holder[number] = result + 1;
					if (said[number] === 0) fresh += 1;
				} else if (holders.has(number)) addToList(holders, number, result);
				else holders.set(number, [(holder[number] as number) - 1, result]);
			}
			return fresh;
		},
	};
}

/** Shortest line that counts, in characters: shorter ones (`return null;`) are anywhere by chance. */
const shortest = 20;

/** Longest line that counts; longer lines are data. */
const longestLine = 1_000;

/** The prefix that tools put before each line of a file: `12:`, `12→`, `12|`, a tab after the number. */
const lineNumber = /^\s{0,12}\d{1,7}(?:[:→\t]| {0,3}\|)/;

/** Trimmed, without line numbers of tools, of 20 to 1 000 characters. Escapes of a call's JSON count as unescaped. */
export function wholeLines(text: string): ReadonlySet<string> {
	return new Set(rawLines(text).flatMap((raw) => lineIn(raw) ?? none));
}

function rawLines(text: string): string[] {
	return needsPattern(text) ? text.split(/\r?\n|\\r\\n|\\n/) : text.split("\n");
}

/** To split at one character is much faster. */
function needsPattern(text: string): boolean {
	return text.includes("\\") || text.includes("\r");
}

function lineIn(raw: string): string | undefined {
	if (raw.length < shortest || raw.length > longestLine) return undefined;
	const unescaped = raw.includes("\\") ? raw.replaceAll('\\"', '"').replaceAll("\\t", "\t") : raw;
	const trimmed = unescaped.trim();
	const line = startsWithDigit(trimmed) ? unescaped.replace(lineNumber, "").trim() : trimmed;
	return line.length >= shortest ? line : undefined;
}

function startsWithDigit(text: string): boolean {
	const code = text.charCodeAt(0);
	return code >= 48 && code <= 57;
}

/** Gives the whole lines of the assistant messages a number each, from 0: no other line can be used. */
function numberLines({ messages }: Transcript) {
	const numbers = new Map<string, number>();
	const numberOf = (line: string) => {
		const number = numbers.get(line) ?? numbers.size;
		numbers.set(line, number);
		return number;
	};
	const ofAnswers = messages.map(({ role, counted }) => {
		if (role !== "assistant") return undefined;
		return [...new Set(counted.flatMap((text) => [...wholeLines(text)]))].map(numberOf);
	});
	const lines = [...numbers.keys()];
	// Few lines are in two texts: a mark of their ends, which no line number changes, rules out most of them.
	const marks = new Uint8Array(1 << 16);
	for (const line of lines) marks[markOf(line, line.length)] = 1;
	const numbersIn = (texts: readonly string[]): number[] => {
		const found = new Set<number>();
		for (const text of texts) {
			for (const raw of linesMarked(text, marks)) {
				const number = numbers.get(lineIn(raw) ?? "");
				if (number !== undefined) found.add(number);
			}
		}
		return [...found];
	};
	return {
		numbersIn,
		numbersOf: (message: number): readonly number[] =>
			ofAnswers[message] ?? numbersIn((messages[message] as Message).counted),
		lineOf: (number: number) => lines[number] as string,
	};
}

/** The lines whose ends are marked, or hold a backslash. Makes no string of the others where a line ends at one character. */
function linesMarked(text: string, marks: Uint8Array): string[] {
	const isMarked = (line: string, start: number, end: number): boolean => {
		let last = end;
		while (last > start && isSpace(line.charCodeAt(last - 1))) last -= 1;
		// Before a space that is not ASCII, other characters may come.
		return line.charCodeAt(last - 1) > 127 || marks[markOf(line, last)] === 1;
	};
	if (needsPattern(text)) return rawLines(text).filter((raw) => raw.includes("\\") || isMarked(raw, 0, raw.length));
	const marked: string[] = [];
	for (let start = 0; start + shortest <= text.length; ) {
		const found = text.indexOf("\n", start);
		const end = found === -1 ? text.length : found;
		if (end - start >= shortest && isMarked(text, start, end)) marked.push(text.slice(start, end));
		start = end + 1;
	}
	return marked;
}

function isSpace(code: number): boolean {
	return code === 32 || (code >= 9 && code <= 13);
}

/** By three characters near the `end` of a line; a whole line has them all. */
function markOf(text: string, end: number): number {
	const code = (fromEnd: number) => text.charCodeAt(end - fromEnd);
	return (code(1) ^ (code(9) << 5) ^ (code(17) << 10)) & 0xffff;
}
