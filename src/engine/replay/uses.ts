import { findIdentifiers } from "../compaction/identifiers.ts";
import { pairResults } from "../pairing.ts";
import type { Transcript } from "../transcript.ts";
import { argumentsOfCall } from "../use/result-targets.ts";
import { type Standing, startStanding } from "./standing.ts";
import { type Strings, stringsOfMessage, stringsOfResult } from "./strings-of.ts";

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
