import { findIdentifiers } from "../compaction/identifiers.ts";
import { pairResults } from "../pairing.ts";
import type { Transcript } from "../transcript.ts";
import { argumentsOfCall } from "../use/result-targets.ts";
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
	const identifiers = startKind();
	const lines = startKind();
	const callsNaming = new Map<string, number[]>();
	const uses = { identifiers: [] as Taken[][], lines: [] as Taken[][], touches: [] as Touch[][] };
	const fresh: number[] = [];
	let place = 0;
	transcript.messages.forEach((message, index) => {
		const own = stringsOfMessage(message);
		const isAnswer = message.role === "assistant";
		uses.identifiers.push(isAnswer ? identifiers.takenBy(own.identifiers) : (none as never));
		uses.lines.push(isAnswer ? lines.takenBy(own.lines) : (none as never));
		uses.touches.push(isAnswer ? touchesOf(own, { identifiers, lines, callsNaming }) : (none as never));
		identifiers.say(own.identifiers);
		lines.say(own.lines);
		for (; paired[place]?.message === index; place += 1) {
			const { result, call, caller } = paired[place] as (typeof paired)[number];
			const held = stringsOfResult(result);
			fresh.push(identifiers.hold(held.identifiers, place));
			lines.hold(held.lines, place);
			const maker = caller === undefined ? undefined : transcript.messages[caller];
			const given = maker && call ? argumentsOfCall(maker, call) : undefined;
			for (const path of pathsIn(given ?? "")) push(callsNaming, path, place);
		}
	});
	return { ...uses, fresh };
}

function pathsIn(text: string): ReadonlySet<string> {
	return new Set(findIdentifiers(text).flatMap((one) => (one.kind === "path" ? [one.text] : [])));
}

function touchesOf(
	own: Strings,
	known: { readonly identifiers: Kind; readonly lines: Kind; readonly callsNaming: ReadonlyMap<string, number[]> },
): Touch[] {
	const weights = new Map<number, number>();
	const add = (holders: readonly number[] | undefined, weight: number) => {
		for (const result of holders?.slice(-mostHolders) ?? none) {
			weights.set(result, (weights.get(result) ?? 0) + weight);
		}
	};
	for (const kind of ["identifiers", "lines"] as const) {
		for (const text of own[kind]) {
			const holders = known[kind].holders.get(text);
			if (holders) add(holders, 1 / holders.length);
		}
	}
	for (const text of own.identifiers) add(known.callsNaming.get(text), 1);
	return Array.from(weights, ([result, weight]) => ({ result, weight }));
}

/** What is known of one kind of string. */
interface Kind {
	/** Results that hold a string. */
	readonly holders: ReadonlyMap<string, number[]>;
	/** Which of the strings stand only in results so far: those results. */
	readonly takenBy: (strings: ReadonlySet<string>) => Taken[];
	/** Strings that now stand in a message itself. */
	readonly say: (strings: ReadonlySet<string>) => void;
	/** Strings that now stand in a result; answers how many of them stood nowhere before. */
	readonly hold: (strings: ReadonlySet<string>, result: number) => number;
}

function startKind(): Kind {
	const holders = new Map<string, number[]>();
	const said = new Set<string>();
	return {
		holders,
		takenBy(strings) {
			const taken: Taken[] = [];
			for (const text of strings) {
				const held = said.has(text) ? undefined : holders.get(text);
				if (held) taken.push({ text, holders: held.slice() });
			}
			return taken;
		},
		say(strings) {
			for (const text of strings) said.add(text);
		},
		hold(strings, result) {
			let fresh = 0;
			for (const text of strings) {
				if (!holders.has(text) && !said.has(text)) fresh += 1;
				push(holders, text, result);
			}
			return fresh;
		},
	};
}

function push(map: Map<string, number[]>, key: string, value: number): void {
	const list = map.get(key);
	if (list) list.push(value);
	else map.set(key, [value]);
}
