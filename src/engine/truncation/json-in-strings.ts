import type { CharRange } from "./draft.ts";
import { endOfEscape, type JsonSpans, jsonSpans, valueKinds } from "./json-spans.ts";

/** A string from this length on is read as JSON if it looks like it. */
const shortestRead = 400;
/** A failure is shown with the values around it up to this length. */
const longestRecord = 400;
/** As many failures of one string are placed. */
const mostPlaced = 40;

interface FoundFailures {
	/** Values with a failure, the most important first. */
	readonly leaves: readonly number[];
	readonly linesOf: (value: number) => readonly CharRange[];
}

/**
 * Finds the failures of JSON inside a JSON string, such as a report in the text of an MCP result: their places in the text, the most
 * important first. `inside` is the string as it is spelled, `offset` where it begins.
 */
export function failuresInString(
	inside: string,
	offset: number,
	failuresOf: (spans: JsonSpans) => FoundFailures,
): CharRange[] {
	if (inside.length < shortestRead || !/^(?:\\[nrt]|\s)*(?:[[{]|\\")/.test(inside)) return [];
	const text = jsonWithin(inside);
	const spans = text === undefined ? undefined : jsonSpans(text, { isLines: false });
	if (!spans) return [];
	const failures = failuresOf(spans);
	const ranges = failures.leaves.slice(0, mostPlaced).flatMap((leaf): readonly CharRange[] => {
		const lines = failures.linesOf(leaf);
		const isLong = spans.kind[leaf] === valueKinds.string && (spans.size[leaf] as number) > longestRecord;
		return isLong && lines.length > 0 ? lines.slice(0, mostPlaced) : [recordAround(spans, leaf)];
	});
	const places = placesOfSpelling(
		inside,
		ranges.flatMap(({ start, end }) => [start, end]),
	);
	const seen = new Set<number>();
	return ranges.flatMap(({ start, end }) => {
		if (seen.has(start)) return [];
		seen.add(start);
		return [{ start: offset + (places.get(start) ?? 0), end: offset + (places.get(end) ?? inside.length) }];
	});
}

function jsonWithin(inside: string): string | undefined {
	try {
		const text: unknown = JSON.parse(`"${inside}"`);
		if (typeof text !== "string") return undefined;
		const value: unknown = JSON.parse(text);
		return typeof value === "object" || typeof value === "string" ? text : undefined;
	} catch {
		return undefined;
	}
}

/** The largest value around a leaf that is short enough to be shown; the leaf with its key if there is none. */
function recordAround({ start, end, next, keyStart }: JsonSpans, leaf: number): CharRange {
	for (let value = 0; value < leaf; ) {
		if ((next[value] as number) <= leaf) value = next[value] as number;
		else if ((end[value] as number) - (start[value] as number) <= longestRecord)
			return { start: start[value] as number, end: end[value] as number };
		else value += 1;
	}
	return { start: keyStart[leaf] || (start[leaf] as number), end: end[leaf] as number };
}

/** Where characters of the text that a string holds are in its spelling. */
function placesOfSpelling(inside: string, characters: readonly number[]): ReadonlyMap<number, number> {
	const places = new Map<number, number>();
	const sorted = [...new Set(characters)].sort((a, b) => a - b);
	let [at, character] = [0, 0];
	for (const wanted of sorted) {
		while (character < wanted && at < inside.length) {
			const slash = inside.indexOf("\\", at);
			const plain = Math.min(wanted - character, (slash === -1 ? inside.length : slash) - at);
			at += plain;
			character += plain;
			if (character === wanted || at >= inside.length) break;
			at = endOfEscape(inside, at);
			character += 1;
		}
		places.set(wanted, at);
	}
	return places;
}
