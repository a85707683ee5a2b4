import { addToList } from "../conversation/lists.ts";
import { resultText, type Transcript } from "../conversation/transcript.ts";
import { pairResults } from "../conversation/turns.ts";
import { argumentsReader } from "./call-targets.ts";
import { numberIdentifiers } from "./identifiers.ts";

/** A string that an assistant message took from tool results. */
export interface Taken {
	readonly text: string;
	/** The results that held it then, oldest first: their places in `pairResults`. */
	readonly holders: readonly number[];
}

/** How much an assistant message used of a result: 1 for each string that stood in no other. */
interface Touch {
	/** Place of the result in `pairResults`. */
	readonly result: number;
	readonly weight: number;
}

/** Which message uses what of which result. Places are those of `pairResults`; lists are by message. */
export interface Uses {
	/** Identifiers that an assistant message uses and that stood only in tool results before it. */
	readonly identifiers: readonly (readonly Taken[])[];
	/** Whole lines, likewise. */
	readonly lines: readonly (readonly Taken[])[];
	/** The results that an assistant message came back to. */
	readonly touches: readonly (readonly Touch[])[];
	/** For each result, how many identifiers stood nowhere before it. */
	readonly fresh: readonly number[];
}

/** Results that hold the same string and count as used with it: the last ones. */
const mostHolders = 8;

const none: readonly never[] = [];

/**
 * Finds what each assistant message uses. It *uses* an identifier (`findIdentifiers`) or a whole line (`wholeLines`) that
 * stands in its text or in the arguments of its calls; each counts once in a conversation, since a string that stood in a
 * system, user or assistant text before is not taken from a result. It *comes back to* a result by the strings it shares
 * with it, which weigh more the fewer results hold them, and by naming a path that the result's call named. Looks only
 * backwards, in time in proportion to the conversation.
 */
export function findUses(transcript: Transcript): Uses {
	const { messages } = transcript;
	const paired = pairResults(transcript);
	const argumentsOf = argumentsReader();
	const identifiers = numberIdentifiers();
	const lines = numberLines();
	// Only the lines of assistant messages can be used, so that no other line needs a number.
	const linesOf = messages.map(({ role, counted }) => (role === "assistant" ? lines.numbersOf(counted) : none));
	const standing = { identifiers: startStanding(), lines: startStanding() };
	/** For each identifier that is a path, the results whose calls named it. */
	const callsNaming = new Map<number, number[]>();
	const uses = { identifiers: [] as (readonly Taken[])[], lines: [] as (readonly Taken[])[], fresh: [] as number[] };
	const touches: (readonly Touch[])[] = [];
	let place = 0;
	messages.forEach(({ role, counted }, index) => {
		const isAnswer = role === "assistant";
		const own = {
			identifiers: identifiers.numbersIn(counted),
			lines: isAnswer ? (linesOf[index] ?? none) : lines.findIn(counted),
		};
		uses.identifiers.push(
			isAnswer ? takenFrom(standing.identifiers, own.identifiers, (one) => identifiers.identifierOf(one).text) : none,
		);
		uses.lines.push(isAnswer ? takenFrom(standing.lines, own.lines, lines.lineOf) : none);
		touches.push(isAnswer ? touchesOf(own, { standing, callsNaming }) : none);
		standing.identifiers.say(own.identifiers);
		standing.lines.say(own.lines);
		for (; paired[place]?.message === index; place += 1) {
			const { result, call, caller } = paired[place] as (typeof paired)[number];
			const texts = [resultText(result)];
			uses.fresh.push(standing.identifiers.hold(identifiers.numbersIn(texts), place));
			standing.lines.hold(lines.findIn(texts), place);
			const maker = caller === undefined ? undefined : messages[caller];
			const given = maker && call ? argumentsOf(maker, call) : undefined;
			for (const named of given === undefined ? none : identifiers.numbersIn([given])) {
				if (identifiers.identifierOf(named).kind !== "path") continue;
				addToList(callsNaming, named, place);
			}
		}
	});
	return { ...uses, touches };
}

/**
 * Where the strings of one kind stand, each by its number, while a history is walked through. Most strings stand in one
 * result: no list is made for those.
 */
function startStanding() {
	const said: boolean[] = [];
	const holders: (number | number[] | undefined)[] = [];
	const makeRoom = (strings: readonly number[]) => {
		// Numbers are given in order, so that a gap is always at the end: lists with gaps are slow.
		for (const string of strings) {
			while (said.length <= string) {
				said.push(false);
				holders.push(undefined);
			}
		}
	};
	return {
		/** The results that hold a string, oldest first. */
		holdersOf(string: number): readonly number[] {
			const held = holders[string];
			return held === undefined ? none : typeof held === "number" ? [held] : held;
		},
		/** Whether a string stood in a message itself. */
		isSaid: (string: number) => said[string] === true,
		say(strings: readonly number[]): void {
			makeRoom(strings);
			for (const string of strings) said[string] = true;
		},
		/** Records that strings stand in a result; answers how many of them stood nowhere before. */
		hold(strings: readonly number[], result: number): number {
			let fresh = 0;
			makeRoom(strings);
			for (const string of strings) {
				const held = holders[string];
				if (held === undefined) {
					holders[string] = result;
					if (!said[string]) fresh += 1;
				} else if (typeof held === "number") holders[string] = [held, result];
				else held.push(result);
			}
			return fresh;
		},
	};
}

type Standing = ReturnType<typeof startStanding>;

/** Which of the strings of a message stand only in results so far. */
function takenFrom(standing: Standing, numbers: readonly number[], textOf: (number: number) => string): Taken[] {
	const taken: Taken[] = [];
	for (const number of numbers) {
		if (standing.isSaid(number)) continue;
		const holders = standing.holdersOf(number);
		// The list grows with the history.
		if (holders.length > 0) taken.push({ text: textOf(number), holders: holders.slice() });
	}
	return taken;
}

interface Numbers {
	readonly identifiers: readonly number[];
	readonly lines: readonly number[];
}

function touchesOf(
	own: Numbers,
	known: {
		readonly standing: Readonly<Record<keyof Numbers, Standing>>;
		readonly callsNaming: ReadonlyMap<number, number[]>;
	},
): Touch[] {
	const weights = new Map<number, number>();
	const add = (results: readonly number[], weight: number) => {
		for (let index = Math.max(0, results.length - mostHolders); index < results.length; index += 1) {
			const result = results[index] as number;
			weights.set(result, (weights.get(result) ?? 0) + weight);
		}
	};
	for (const kind of ["identifiers", "lines"] as const) {
		for (const number of own[kind]) {
			const holders = known.standing[kind].holdersOf(number);
			add(holders, 1 / holders.length);
		}
	}
	for (const number of own.identifiers) add(known.callsNaming.get(number) ?? none, 1);
	return Array.from(weights, ([result, weight]) => ({ result, weight }));
}

/** Shortest line that counts, in characters: shorter ones (`return null;`) stand anywhere by chance. */
const shortest = 20;

/** Longest line that counts; longer lines are data. */
const longestLine = 1_000;

/** What tools put before each line of a file that they show: `12:`, `12→`, `12|`, a tab behind the number. */
const lineNumber = /^\s{0,12}\d{1,7}(?:[:→\t]| {0,3}\|)/;

/**
 * The whole lines of a text, each once: trimmed, without the line number that a tool put before it, of 20 to 1 000
 * characters. Escaped line breaks, quotes and tabs, as in the JSON of a call's arguments, count as unescaped ones.
 */
export function wholeLines(text: string): ReadonlySet<string> {
	const lines = new Set<string>();
	for (const raw of text.split(/\r?\n|\\r\\n|\\n/)) {
		const line = lineIn(raw);
		if (line !== undefined) lines.add(line);
	}
	return lines;
}

function lineIn(raw: string): string | undefined {
	if (raw.length < shortest || raw.length > longestLine) return undefined;
	const unescaped = raw.includes("\\") ? raw.replaceAll('\\"', '"').replaceAll("\\t", "\t") : raw;
	const line = unescaped.replace(lineNumber, "").trim();
	return line.length >= shortest ? line : undefined;
}

/**
 * Gives the whole lines of some texts a number each, from 0, and finds them in other texts. Few lines stand in two texts:
 * a mark of the end of a line sorts out most lines without a number before anything is made of them.
 */
function numberLines() {
	const numbers = new Map<string, number>();
	const lines: string[] = [];
	/** For each line, the last question in which it was met. */
	const met: number[] = [];
	let question = 0;
	/** 1 for the mark of each line that has a number. */
	const marks = new Uint8Array(marksInAll);
	const take = (number: number, found: number[]) => {
		if (met[number] === question) return;
		met[number] = question;
		found.push(number);
	};
	const takeKnown = (raw: string, found: number[]) => {
		const line = lineIn(raw);
		const number = line === undefined ? undefined : numbers.get(line);
		if (number !== undefined) take(number, found);
	};
	const findInText = (text: string, found: number[]) => {
		let backslash = text.indexOf("\\");
		for (let start = 0; start < text.length; ) {
			const feed = text.indexOf("\n", start);
			const next = feed === -1 ? text.length : feed + 1;
			const end = feed === -1 ? next : feed - (text.charCodeAt(feed - 1) === carriageReturn ? 1 : 0);
			if (backslash !== -1 && backslash < start) backslash = text.indexOf("\\", start);
			if (end - start >= shortest) {
				if (backslash !== -1 && backslash < end) {
					for (const raw of text.slice(start, end).split(/\\r\\n|\\n/)) {
						if (raw.includes("\\") || marks[markOf(raw, 0, raw.length)] === 1) takeKnown(raw, found);
					}
				} else if (marks[markOf(text, start, end)] === 1) takeKnown(text.slice(start, end), found);
			}
			start = next;
		}
	};
	return {
		/** The numbers of the lines of some texts, each once, in order. All of them get a number. */
		numbersOf(texts: readonly string[]): number[] {
			question += 1;
			const found: number[] = [];
			for (const text of texts) {
				for (const line of wholeLines(text)) {
					let number = numbers.get(line);
					if (number === undefined) {
						number = lines.push(line) - 1;
						numbers.set(line, number);
						met.push(0);
						marks[markOf(line, 0, line.length)] = 1;
					}
					take(number, found);
				}
			}
			return found;
		},
		/** The numbers of those lines of some texts that have one, each once, in order. */
		findIn(texts: readonly string[]): number[] {
			question += 1;
			const found: number[] = [];
			for (const text of texts) findInText(text, found);
			return found;
		},
		lineOf: (number: number) => lines[number] as string,
	};
}

const marksInAll = 1 << 18;

const carriageReturn = "\r".charCodeAt(0);

/** A hash of some of the last 20 characters of a line, which no line number and no blanks before it change. */
function markOf(text: string, start: number, lineEnd: number): number {
	let end = lineEnd;
	while (end > start && isBlank(text.charCodeAt(end - 1))) end -= 1;
	if (end - start < shortest) return 0;
	let hash = text.charCodeAt(end - 1);
	for (let behind = 2; behind <= shortest; behind += 3) hash = Math.imul(hash, 31) + text.charCodeAt(end - behind);
	hash = Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d);
	return ((hash ^ (hash >>> 13)) & (marksInAll - 1)) | 1;
}

/** Whether `trim` takes a character off. */
function isBlank(code: number): boolean {
	return code === 32 || (code >= 9 && code <= 13) || (code >= 160 && /\s/.test(String.fromCharCode(code)));
}
