import type { CharRange } from "./draft.ts";
import { failureReader } from "./failure-lines.ts";
import { orderFailures } from "./failures-first.ts";
import { type JsonSpans, valueKinds } from "./json-spans.ts";

/** Longest value that is read together with its key. */
const longestWithKey = 80;
/** Longest line of a string that is read. */
const longestLine = 1_200;

/** Where in a JSON text failures are told. */
export interface JsonFailures {
	/** How much a value is wanted for the failures that it holds: 0 most of all; `undefined` where it holds none. */
	readonly rankOf: (value: number) => number | undefined;
	/** The lines of a string that tell of failures, those wanted most first: places in the text, line ends included. */
	readonly linesOf: (value: number) => readonly CharRange[];
	/** The value without parts that holds the failure wanted most in a value that holds one. */
	readonly leafOf: (value: number) => number;
}

/**
 * Finds the failures that values of a JSON text tell of: lines of its strings, and keys with their values, such as a level,
 * a status or an exit code.
 */
export function jsonFailures({ text, kind, start, end, keyStart, keyEnd, next }: JsonSpans): JsonFailures {
	const signOf = failureReader();
	const isSure = (line: string) => signOf(line) === "sure";
	const lines = new Map<number, CharRange[]>();
	const leaves: number[] = [];
	for (let value = 0; value < kind.length; value += 1) {
		const isString = kind[value] === valueKinds.string;
		if (!isString && kind[value] !== valueKinds.other) continue;
		const [from, to] = [start[value] as number, end[value] as number];
		const found = isString ? linesOfString(text, from + 1, to - 1).filter((line) => isSure(line.said)) : [];
		const key = (keyEnd[value] as number) - (keyStart[value] as number);
		const withKey = () => `${text.slice(keyStart[value], keyEnd[value])}:${text.slice(from, to)}`;
		if (found.length > 0) {
			const told = orderFailures(found, { textOf: ({ said }) => said });
			lines.set(
				value,
				told.map(({ range }) => range),
			);
			leaves.push(value);
		} else if (key > 0 && key + to - from <= longestWithKey && isSure(withKey())) leaves.push(value);
	}
	const ranks = new Map<number, number>();
	const saidBy = (leaf: number) => {
		const [first] = lines.get(leaf) ?? [];
		return text.slice(first?.start ?? keyStart[leaf], first?.end ?? end[leaf]);
	};
	for (const [rank, leaf] of orderFailures(leaves, { textOf: saidBy }).entries()) ranks.set(leaf, rank);
	const bestIn = (value: number): number | undefined => {
		let best: number | undefined;
		for (let index = firstFrom(leaves, value); index < leaves.length; index += 1) {
			const leaf = leaves[index] as number;
			if (leaf >= (next[value] as number)) break;
			if (best === undefined || (ranks.get(leaf) as number) < (ranks.get(best) as number)) best = leaf;
		}
		return best;
	};
	return {
		rankOf(value) {
			const best = bestIn(value);
			return best === undefined ? undefined : ranks.get(best);
		},
		linesOf: (value) => lines.get(value) ?? [],
		leafOf: (value) => bestIn(value) ?? value,
	};
}

/** The place of the first of some numbers in order that is not below another. */
function firstFrom(numbers: readonly number[], least: number): number {
	let [low, high] = [0, numbers.length];
	while (low < high) {
		const middle = (low + high) >> 1;
		if ((numbers[middle] as number) < least) low = middle + 1;
		else high = middle;
	}
	return low;
}

/** The lines of a string as it is spelled: parted where it spells line ends. */
function linesOfString(text: string, from: number, to: number): { readonly said: string; readonly range: CharRange }[] {
	const lines: { said: string; range: CharRange }[] = [];
	let start = from;
	const add = (end: number, behind: number) => {
		if (end - start < 2) return;
		const spelled = text.slice(start, Math.min(end, start + longestLine));
		lines.push({ said: spelled.includes("\\") ? unescaped(spelled) : spelled, range: { start, end: behind } });
	};
	for (let at = text.indexOf("\\", from); at !== -1 && at < to; at = text.indexOf("\\", at)) {
		const sign = text[at + 1];
		at += 2;
		if (sign !== "n" && sign !== "r") continue;
		add(at - 2, at);
		start = at;
	}
	add(to, to);
	return lines;
}

function unescaped(spelled: string): string {
	try {
		return JSON.parse(`"${spelled}"`);
	} catch {
		// Cut inside an escape.
		return spelled.replace(/\\(.)/g, "$1");
	}
}
