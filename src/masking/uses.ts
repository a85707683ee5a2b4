import { type Message, resultText, type ToolResult, type Transcript } from "../conversation/transcript.ts";
import { pairResults } from "../conversation/turns.ts";
import { argumentsOfCall } from "./call-targets.ts";

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

type Kind = keyof Strings;

const kinds: readonly Kind[] = ["identifiers", "lines"];

/**
 * Finds what each assistant message uses. It *uses* an identifier (as `findIdentifiers` has them) or a whole line (as
 * `wholeLines` has them) that its text or the arguments of its calls contain; one that stood in a system, user or
 * assistant text before is no longer taken from a result, so each counts once in a conversation. It *comes back to* a
 * result by what it contains of it, the more the fewer results hold that, and by naming a path that the result's call
 * named. All is found going forward, in time in proportion to the conversation.
 */
export function findUses(transcript: Transcript): Uses {
	let found = known.get(transcript);
	if (!found) {
		found = find(transcript);
		known.set(transcript, found);
	}
	return found;
}

const known = new WeakMap<Transcript, Uses>();

function find(transcript: Transcript): Uses {
	const paired = pairResults(transcript);
	const standing = { identifiers: startStanding(), lines: startStanding() };
	/** For each identifier that is a path, the results whose calls named it. */
	const callsNaming = new Map<number, number[]>();
	const uses = { identifiers: [] as (readonly Taken[])[], lines: [] as (readonly Taken[])[], fresh: [] as number[] };
	const touches: (readonly Touch[])[] = [];
	let place = 0;
	transcript.messages.forEach((message, index) => {
		const strings = stringsOfMessage(message);
		const own = {
			identifiers: standing.identifiers.numbersOf(strings.identifiers),
			lines: standing.lines.numbersOf(strings.lines),
		};
		const isAnswer = message.role === "assistant";
		for (const kind of kinds) {
			uses[kind].push(isAnswer ? takenFrom(standing[kind], own[kind], strings[kind]) : none);
		}
		touches.push(isAnswer ? touchesOf(own, { standing, callsNaming }) : none);
		for (const kind of kinds) standing[kind].say(own[kind]);
		for (; paired[place]?.message === index; place += 1) {
			const { result, call, caller } = paired[place] as (typeof paired)[number];
			const held = stringsOfResult(result);
			uses.fresh.push(standing.identifiers.hold(standing.identifiers.numbersOf(held.identifiers), place));
			standing.lines.hold(standing.lines.numbersOf(held.lines), place);
			const maker = caller === undefined ? undefined : transcript.messages[caller];
			const given = maker && call ? argumentsOfCall(maker, call) : undefined;
			for (const path of standing.identifiers.numbersOf(pathsIn(given ?? ""))) {
				const results = callsNaming.get(path);
				if (results) results.push(place);
				else callsNaming.set(path, [place]);
			}
		}
	});
	return { ...uses, touches };
}

function pathsIn(text: string): string[] {
	return Array.from(new Set(findIdentifiers(text).flatMap((one) => (one.kind === "path" ? [one.text] : []))));
}

/** Which of the strings of a message stand only in results so far. */
function takenFrom(standing: Standing, numbers: readonly number[], texts: readonly string[]): Taken[] {
	const taken: Taken[] = [];
	numbers.forEach((number, index) => {
		if (standing.isSaid(number)) return;
		const holders = standing.holdersOf(number);
		// The list grows with the history.
		if (holders.length > 0) taken.push({ text: texts[index] as string, holders: holders.slice() });
	});
	return taken;
}

function touchesOf(
	own: Readonly<Record<Kind, readonly number[]>>,
	known: { readonly standing: Readonly<Record<Kind, Standing>>; readonly callsNaming: ReadonlyMap<number, number[]> },
): Touch[] {
	const weights = new Map<number, number>();
	const add = (results: readonly number[], weight: number) => {
		for (let index = Math.max(0, results.length - mostHolders); index < results.length; index += 1) {
			const result = results[index] as number;
			weights.set(result, (weights.get(result) ?? 0) + weight);
		}
	};
	for (const kind of kinds) {
		for (const number of own[kind]) {
			const holders = known.standing[kind].holdersOf(number);
			add(holders, 1 / holders.length);
		}
	}
	for (const number of own.identifiers) add(known.callsNaming.get(number) ?? none, 1);
	return Array.from(weights, ([result, weight]) => ({ result, weight }));
}

/** Where the strings of one kind stand, while a history is walked through. Each has a number, by which it is asked for. */
export interface Standing {
	/** The numbers of some strings; those that have none yet get one. */
	readonly numbersOf: (strings: readonly string[]) => readonly number[];
	/** The results that hold a string, oldest first. */
	readonly holdersOf: (string: number) => readonly number[];
	/** Whether a string stood in a message itself. */
	readonly isSaid: (string: number) => boolean;
	/** Takes up that strings stand in a message itself. */
	readonly say: (strings: readonly number[]) => void;
	/** Takes up that strings stand in a result; answers how many of them stood nowhere before. */
	readonly hold: (strings: readonly number[], result: number) => number;
}

/**
 * Starts with no strings. Each of them is looked up once for each message and result that it stands in, since hashing
 * and finding strings is most of what a replay does, and most stand in one result: no list is made for those.
 */
export function startStanding(): Standing {
	const numbers = new Map<string, number>();
	const said: boolean[] = [];
	const holders: (number | number[] | undefined)[] = [];
	return {
		numbersOf: (strings) =>
			strings.map((text) => {
				let number = numbers.get(text);
				if (number === undefined) {
					number = numbers.size;
					numbers.set(text, number);
					said.push(false);
					holders.push(undefined);
				}
				return number;
			}),
		holdersOf(string) {
			const held = holders[string];
			return held === undefined ? [] : typeof held === "number" ? [held] : held;
		},
		isSaid: (string) => said[string] === true,
		say(strings) {
			for (const string of strings) said[string] = true;
		},
		hold(strings, result) {
			let fresh = 0;
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

/** The identifiers and whole lines of a message or a result, each once. */
export interface Strings {
	readonly identifiers: readonly string[];
	readonly lines: readonly string[];
}

// The same messages come again with each call of a conversation that goes on.
const ofMessages = new WeakMap<Message, Strings>();

const ofResults = new WeakMap<ToolResult, Strings>();

/** What a message says itself: its texts and the arguments of its calls, not its results. */
export function stringsOfMessage(message: Message): Strings {
	let strings = ofMessages.get(message);
	if (!strings) {
		strings = stringsIn(message.counted);
		ofMessages.set(message, strings);
	}
	return strings;
}

/** What a tool result holds. */
export function stringsOfResult(result: ToolResult): Strings {
	let strings = ofResults.get(result);
	if (!strings) {
		strings = stringsIn([resultText(result)]);
		ofResults.set(result, strings);
	}
	return strings;
}

function stringsIn(texts: readonly string[]): Strings {
	const identifiers = new Set<string>();
	const lines = new Set<string>();
	for (const text of texts) {
		for (const one of findIdentifiers(text)) identifiers.add(one.text);
		for (const line of wholeLines(text)) lines.add(line);
	}
	return { identifiers: Array.from(identifiers), lines: Array.from(lines) };
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

/** What a character may be part of, by its code below 128; 0 for one that ends a run. */
const [letter, capital, digit, sign, slash] = [1, 2, 4, 8, 16];

const classes = new Uint8Array(128);

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
	for (let index = 0; index < text.length; index += 1) {
		const first = classes[text.charCodeAt(index)] ?? 0;
		if (first === 0) continue;
		const start = index;
		let seen = first;
		let last = first;
		let isCamel = false;
		for (index += 1; index < text.length; index += 1) {
			const next = classes[text.charCodeAt(index)] ?? 0;
			if (next === 0) break;
			isCamel ||= next === capital && last <= digit && last !== capital;
			// A sign at the end belongs to the sentence.
			seen |= last;
			last = next;
		}
		if (last !== sign) seen |= last;
		const length = index - start;
		if (length < 3 || length > longest) continue;
		// Plain words and short numbers, which most runs are.
		if ((seen & ~(letter | capital)) === 0 && !isCamel && text[start] !== "E") continue;
		if (seen === digit && length < 5) continue;
		if (text[start - 1] === '"' && behindKey.test(text.slice(index, index + 6))) continue;
		const run = text.slice(start, index);
		const trimmed = (seen & (sign | slash)) === 0 && last !== sign ? run : trim(run);
		const kind = kindOf(trimmed, (seen & slash) !== 0);
		if (kind) found.push({ text: trimmed, kind });
	}
	return found;
}

/** Takes off punctuation of the sentence, and line and column behind a path. */
function trim(run: string): string {
	return run
		.replace(/^[.,:;?=&%+-]{1,200}(?=[^./\\])/, "")
		.replace(/[.,:;?=&%+\\-]{1,200}$/, "")
		.replace(/(?::\d{1,9}){1,2}$/, "");
}

function kindOf(text: string, hasSlash: boolean): IdentifierKind | undefined {
	if (text.length < 3) return undefined;
	if (hasSlash && /^[a-z][a-z0-9+.-]{1,20}:\/\/[^/]/i.test(text)) return "url";
	if (hasSlash && /[/\\]/.test(text)) return isPath(text) ? "path" : undefined;
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
		if (raw.length < shortest || raw.length > longestLine) continue;
		const unescaped = raw.includes("\\") ? raw.replaceAll('\\"', '"').replaceAll("\\t", "\t") : raw;
		const line = unescaped.replace(lineNumber, "").trim();
		if (line.length >= shortest) lines.add(line);
	}
	return lines;
}
