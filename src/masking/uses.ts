import { resultText, type Transcript } from "../conversation/transcript.ts";
import { pairResults } from "../conversation/turns.ts";
import { argumentsReader } from "./call-targets.ts";

/** A string that an assistant message took from tool results. */
export interface Taken {
	readonly text: string;
	/** The results that held it then, oldest first: their places in `pairResults`. */
	readonly holders: readonly number[];
}

/** How much an assistant message made of a result: 1 for each string that stood in no other. */
export interface Touch {
	/** Place of the result in `pairResults`. */
	readonly result: number;
	readonly weight: number;
}

/** Who uses what of which result. Places are those of `pairResults`; lists are by message. */
export interface Uses {
	/** Identifiers that an assistant message uses and that stood only in tool results until then. */
	readonly identifiers: readonly (readonly Taken[])[];
	/** Whole lines of which the same is true. */
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
 * Finds what each assistant message uses. It *uses* an identifier (as `findIdentifiers` has them) or a whole line (as
 * `wholeLines` has them) that its text or the arguments of its calls contain; one that stood in a system, user or
 * assistant text before is no longer taken from a result, so each counts once in a conversation. It *comes back to* a
 * result by what it contains of it, the more the fewer results hold that, and by naming a path that the result's call
 * named. All is found going forward, in time in proportion to the conversation.
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
				const results = callsNaming.get(named);
				if (results) results.push(place);
				else callsNaming.set(named, [place]);
			}
		}
	});
	return { ...uses, touches };
}

/** Where the strings of one kind stand, while a history is walked through. Each is asked for by its number. */
interface Standing {
	/** The results that hold a string, oldest first. */
	readonly holdersOf: (string: number) => readonly number[];
	/** Whether a string stood in a message itself. */
	readonly isSaid: (string: number) => boolean;
	/** Takes up that strings stand in a message itself. */
	readonly say: (strings: readonly number[]) => void;
	/** Takes up that strings stand in a result; answers how many of them stood nowhere before. */
	readonly hold: (strings: readonly number[], result: number) => number;
}

/** Starts with no strings. Most of them stand in one result: no list is made for those. */
function startStanding(): Standing {
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
		holdersOf(string) {
			const held = holders[string];
			return held === undefined ? none : typeof held === "number" ? [held] : held;
		},
		isSaid: (string) => said[string] === true,
		say(strings) {
			makeRoom(strings);
			for (const string of strings) said[string] = true;
		},
		hold(strings, result) {
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

/** What an identifier names. */
export type IdentifierKind = "url" | "path" | "hash" | "error_code" | "name" | "number";

/** An identifier as it stands in a text. */
export interface Identifier {
	readonly text: string;
	readonly kind: IdentifierKind;
}

/** Longest identifier; what is longer is data. */
const longest = 200;

/** Longest name, hash or number. */
const longestName = 80;

/** Endings of files that are commonly named without their folder; `theme.fg` is none of them. */
const fileEnding =
	/\.(?:[cm]?[jt]sx?|json[5lc]?|md|mdx|txt|py|ipynb|rs|go|java|kt|rb|php|c|h|cc|cpp|hpp|cs|swift|sh|ps1|sql|ya?ml|toml|ini|cfg|conf|lock|xml|html?|s?css|vue|svelte|svg|png|jpe?g|gif|pdf|csv|tsv|log|zip|gz|exe|dll|so|proto|gradle|tf)$/i;

const systemErrors =
	/^E(?:NOENT|ACCES|PERM|EXIST|ISDIR|NOTDIR|NOTEMPTY|NOSPC|ROFS|MFILE|PIPE|INVAL|CONNREFUSED|CONNRESET|TIMEDOUT|ADDRINUSE|HOSTUNREACH|NOTFOUND|RESOLVE|AI_AGAIN)$/;

/** Behind the key of a JSON object: it names a field of the tool, not something in the world. */
const behindKey = /^\\?"\s{0,3}:/;

/** The classes of a character by its code; 0 for one that ends a run. */
const [letter, capital, digit, sign, slash] = [1, 2, 4, 8, 16];

// As long as there are codes: reading beyond the end of a typed array is slow.
const classes = new Uint8Array(65_536);

for (let code = 0; code < 128; code += 1) {
	const character = String.fromCharCode(code);
	if (/[a-z]/.test(character)) classes[code] = letter;
	else if (/[A-Z]/.test(character)) classes[code] = capital;
	else if (/[0-9]/.test(character)) classes[code] = digit;
	else if (/[/\\]/.test(character)) classes[code] = slash;
	else if (/[_$@#:.~%?=&+-]/.test(character)) classes[code] = sign;
}

/**
 * Finds the identifiers of a text, in order, as often as they stand there; keys of JSON aside. Takes time in proportion
 * to the text.
 */
export function findIdentifiers(text: string): Identifier[] {
	const found: Identifier[] = [];
	eachRun(text, (_, start, end) => {
		const identifier = identifierIn(text.slice(start, end));
		if (identifier) found.push(identifier);
	});
	return found;
}

/** Gives each identifier of a conversation a number, from 0, in the order in which they are met. */
export interface IdentifierNumbers {
	/** The numbers of the identifiers of some texts, each once, in order. */
	readonly numbersIn: (texts: readonly string[]) => number[];
	/** The identifier of a number. */
	readonly identifierOf: (number: number) => Identifier;
}

/** Starts without any. A run of characters is judged once, however often it stands in the texts. */
export function numberIdentifiers(): IdentifierNumbers {
	const isNone = -1;
	const numberOfRun = rememberRuns(numberOf);
	const numbers = new Map<string, number>();
	const identifiers: Identifier[] = [];
	/** For each identifier the last question in which it was met. */
	const met: number[] = [];
	let question = 0;
	function numberOf(run: string): number {
		const identifier = identifierIn(run);
		if (!identifier) return isNone;
		const known = numbers.get(identifier.text);
		if (known !== undefined) return known;
		numbers.set(identifier.text, identifiers.length);
		met.push(0);
		return identifiers.push(identifier) - 1;
	}
	return {
		numbersIn(texts) {
			const found: number[] = [];
			question += 1;
			const take = (text: string, start: number, end: number) => {
				const number = numberOfRun(text, start, end);
				if (number === isNone || met[number] === question) return;
				met[number] = question;
				found.push(number);
			};
			for (const text of texts) eachRun(text, take);
			return found;
		},
		identifierOf: (number) => identifiers[number] as Identifier,
	};
}

/** Runs that are looked at to find one. Texts made so that many runs fall together are found in a map instead. */
const mostLooks = 32;

/**
 * Remembers a number for each run of characters, asked for once. A hash of our own finds what was met before: making a
 * string of each run and finding that takes twice as long.
 */
function rememberRuns(numberOf: (run: string) => number): (text: string, start: number, end: number) => number {
	/** By hash a place in the lists below, from 1; 0 where there is none. */
	let slots = new Int32Array(4_096);
	const [texts, starts, ends, hashes, numbers]: [string[], number[], number[], number[], number[]] = [
		[],
		[],
		[],
		[],
		[],
	];
	const crowded = new Map<string, number>();

	function grow(): void {
		slots = new Int32Array(slots.length * 4);
		hashes.forEach((hash, place) => {
			let slot = hash & (slots.length - 1);
			for (let look = 0; look < mostLooks && slots[slot] !== 0; look += 1) slot = (slot + 1) & (slots.length - 1);
			if (slots[slot] === 0) slots[slot] = place + 1;
		});
	}
	function isAt(place: number, text: string, start: number, end: number): boolean {
		const own = starts[place] as number;
		if ((ends[place] as number) - own !== end - start) return false;
		const known = texts[place] as string;
		for (let index = start; index < end; index += 1) {
			if (known.charCodeAt(own + index - start) !== text.charCodeAt(index)) return false;
		}
		return true;
	}
	return (text, start, end) => {
		let hash = end - start;
		for (let index = start; index < end; index += 1) hash = Math.imul(hash ^ text.charCodeAt(index), 0x5bd1e995);
		hash ^= hash >>> 15;
		let slot = hash & (slots.length - 1);
		for (let look = 0; look < mostLooks; look += 1) {
			const place = (slots[slot] as number) - 1;
			if (place === -1) {
				const number = numberOf(text.slice(start, end));
				slots[slot] = texts.push(text);
				starts.push(start);
				ends.push(end);
				hashes.push(hash);
				numbers.push(number);
				if (texts.length * 2 > slots.length) grow();
				return number;
			}
			if (hashes[place] === hash && isAt(place, text, start, end)) return numbers[place] as number;
			slot = (slot + 1) & (slots.length - 1);
		}
		const run = text.slice(start, end);
		let number = crowded.get(run);
		if (number === undefined) {
			number = numberOf(run);
			crowded.set(run, number);
		}
		return number;
	};
}

/** Hands over each run of characters that may be an identifier: no plain word, no short number, no key of JSON. */
function eachRun(text: string, take: (text: string, start: number, end: number) => void): void {
	const { length } = text;
	for (let index = 0; index < length; index += 1) {
		const first = classes[text.charCodeAt(index)] as number;
		if (first === 0) continue;
		const start = index;
		index += 1;
		// Most runs are words in small letters: nothing else is asked of them.
		if (first === letter) {
			while (index < length && classes[text.charCodeAt(index)] === letter) index += 1;
			if (index === length || classes[text.charCodeAt(index)] === 0) continue;
		}
		let seen = first;
		let last = first;
		let isCamel = false;
		for (; index < length; index += 1) {
			const next = classes[text.charCodeAt(index)] as number;
			if (next === 0) break;
			isCamel ||= next === capital && last <= digit && last !== capital;
			// A sign at the end belongs to the sentence.
			seen |= last;
			last = next;
		}
		if (last !== sign) seen |= last;
		const characters = index - start;
		if (characters < 3 || characters > longest) continue;
		// Plain words and short numbers.
		if ((seen & ~(letter | capital)) === 0 && !isCamel && text.charCodeAt(start) !== capitalE) continue;
		if (seen === digit && characters < 5) continue;
		if (text.charCodeAt(start - 1) === quote && behindKey.test(text.slice(index, index + 6))) continue;
		take(text, start, index);
	}
}

const [capitalE, quote] = ["E".charCodeAt(0), '"'.charCodeAt(0)];

function identifierIn(run: string): Identifier | undefined {
	const text = trim(run);
	const kind = kindOf(text);
	return kind && { text, kind };
}

/** Takes off punctuation of the sentence, and line and column behind a path. */
function trim(run: string): string {
	let text = run;
	if (punctuation.includes(text.charAt(0))) text = text.replace(/^[.,:;?=&%+-]{1,200}(?=[^./\\])/, "");
	if (punctuation.includes(text.charAt(text.length - 1))) text = text.replace(/[.,:;?=&%+\\-]{1,200}$/, "");
	return text.includes(":") ? text.replace(/(?::\d{1,9}){1,2}$/, "") : text;
}

const punctuation = ".,:;?=&%+-\\";

function kindOf(text: string): IdentifierKind | undefined {
	if (text.length < 3) return undefined;
	if (text.includes("/") || text.includes("\\")) {
		if (/^[a-z][a-z0-9+.-]{1,20}:\/\/[^/]/i.test(text)) return "url";
		return isPath(text) ? "path" : undefined;
	}
	if (text.length > longestName) return undefined;
	if (/^#\d{2,}$|^\d{5,}$/.test(text)) return "number";
	if (/^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(text)) return "hash";
	if (/^[0-9a-f]{7,64}$/i.test(text)) return /\d/.test(text) && /[a-f]/i.test(text) ? "hash" : undefined;
	if (systemErrors.test(text) || /^ERR_[A-Z0-9_]{2,}$|^[A-Z]{1,6}-?\d{3,6}$/.test(text)) return "error_code";
	if (/^[\w.-]*[\w-]\.\w+$/.test(text) && fileEnding.test(text)) return "path";
	if (
		/^[A-Za-z_$][\w$]*(?:(?:\.|::)[A-Za-z_$][\w$]*)*$/.test(text) &&
		/[a-z0-9][A-Z]|[A-Za-z0-9]_[A-Za-z0-9]/.test(text)
	) {
		return "name";
	}
	return undefined;
}

/** A path has a root, a file's extension or three parts: "and/or" is none, nor is a date. */
function isPath(text: string): boolean {
	const parts = text.split(/[/\\]/).filter((part) => part !== "" && part !== "." && part !== "..");
	if (!parts.some((part) => /[A-Za-z_]{2}/.test(part))) return false;
	return (
		(parts.length >= 2 && /^(?:~|\.{0,2}[/\\]|[A-Za-z]:)/.test(text)) ||
		parts.length >= 3 ||
		/\.[a-z]/i.test(parts.at(-1) ?? "")
	);
}

/** Shortest line that counts, in characters: shorter ones (`return null;`) stand anywhere by chance. */
const shortest = 20;

/** Longest line that counts; what is longer is data. */
const longestLine = 1_000;

/** What tools put before each line of a file that they show: `12:`, `12→`, `12|`, a tab behind the number. */
const lineNumber = /^\s{0,12}\d{1,7}(?:[:→\t]| {0,3}\|)/;

/**
 * The whole lines of a text, each once: trimmed, without the line number that a tool put before it, of 20 to 1 000
 * characters. Line breaks, quotes and tabs that stand escaped, as in the JSON of a call's arguments, count as what they
 * stand for. Takes time in proportion to the text.
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

/** Gives the whole lines of some texts a number each, from 0, and finds them in other texts. */
export interface LineNumbers {
	/** The numbers of the lines of some texts, each once, in order. All of them get a number. */
	readonly numbersOf: (texts: readonly string[]) => number[];
	/** The numbers of those lines of some texts that have one, each once, in order. */
	readonly findIn: (texts: readonly string[]) => number[];
	/** The line of a number. */
	readonly lineOf: (number: number) => string;
}

/**
 * Starts without any. Few lines of a conversation stand in two of its texts: some characters of a line's end tell most
 * that have no number, so that nothing is made of them.
 */
export function numberLines(): LineNumbers {
	const numbers = new Map<string, number>();
	const lines: string[] = [];
	/** For each line the last question in which it was met. */
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
		numbersOf(texts) {
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
		findIn(texts) {
			question += 1;
			const found: number[] = [];
			for (const text of texts) findInText(text, found);
			return found;
		},
		lineOf: (number) => lines[number] as string,
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

/** As `trim` has it. */
function isBlank(code: number): boolean {
	return code === 32 || (code >= 9 && code <= 13) || (code >= 160 && /\s/.test(String.fromCharCode(code)));
}
