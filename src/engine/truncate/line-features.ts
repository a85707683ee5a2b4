import { findIdentifiers } from "../../masking/uses.ts";
import { type FocusWords, wordsOfLine } from "./focus-words.ts";
import { linePattern } from "./line-pattern.ts";
import { type TextUnits, unitText } from "./text-units.ts";

/** What tells of each unit of a text how much it is wanted, one number for each. */
export interface LineFeatures {
	/** Weights of the focus words in it, rare ones weighing more. */
	readonly focus: Float32Array;
	/** The units that hold a name of the focus which few others hold. */
	readonly named: readonly number[];
	/** Identifiers that stand nowhere before it. */
	readonly fresh: Float32Array;
	/** 1 where it says nothing by itself: blank, or closing brackets. */
	readonly bare: Float32Array;
	/** White space before it, in columns, tabs being four; 40 at most. */
	readonly indent: Float32Array;
	/** 1 where it assigns, calls or returns: a statement rather than words. */
	readonly acts: Float32Array;
	/** 1 where an earlier one differs from it in digits, bars and blanks at most. */
	readonly repeated: Float32Array;
	/** Characters without white space around them. */
	readonly length: Float32Array;
}

/** Weight of a whole name among the words of a focus, and the most lines that can hold it for it to single them out. */
const [wholeName, mostNamed] = [2, 3];
/** The number that a tool puts before a line of a file. */
const lineNumber = /^\s{0,8}\d{1,7}(?:→|\t|:|\|)/;
const statement = /[\w)\]]\(|[^=!<>]=[^=]|^\s*return\b/;
const bareLine = /^[\s)\]}>,;'"`]*$/;
const deepestIndent = 40;

/** Reads the features of each unit, or of those with a priority, in time in proportion to the text. */
export function lineFeatures(units: TextUnits, focus: FocusWords, priority?: Float32Array): LineFeatures {
	const make = () => new Float32Array(units.count);
	const features = {
		focus: make(),
		fresh: make(),
		bare: make(),
		indent: make(),
		acts: make(),
		repeated: make(),
		length: make(),
	};
	const found = new Map<string, number>();
	const matches: string[][] = [];
	const seen = new Set<string>();
	const patterns = new Set<number>();
	for (let unit = 0; unit < units.count; unit += 1) {
		if (priority !== undefined && priority[unit] === 0) {
			features.bare[unit] = 1;
			continue;
		}
		const line = unitText(units, unit).replace(lineNumber, "");
		if (bareLine.test(line)) {
			features.bare[unit] = 1;
			continue;
		}
		const pattern = linePattern(units.text, units.start[unit] as number, units.end[unit] as number);
		if (patterns.has(pattern)) features.repeated[unit] = 1;
		else patterns.add(pattern);
		features.indent[unit] = indentOf(line);
		features.length[unit] = line.trim().length;
		if (statement.test(line)) features.acts[unit] = 1;
		for (const { text: name } of findIdentifiers(line)) {
			if (seen.has(name)) continue;
			seen.add(name);
			features.fresh[unit] = (features.fresh[unit] as number) + 1;
		}
		if (focus.size === 0) continue;
		const here = [...wordsOfLine(line)].filter((one) => focus.has(one));
		if (here.length === 0) continue;
		matches[unit] = here;
		for (const one of here) found.set(one, (found.get(one) ?? 0) + 1);
	}
	matches.forEach((here, unit) => {
		const rarity = (one: string) => Math.log(1 + units.count / (found.get(one) ?? 1)) / Math.log(1 + units.count);
		features.focus[unit] = here.reduce((sum, one) => sum + (focus.get(one) ?? 0) * rarity(one), 0);
	});
	const isNamed = (one: string) => (focus.get(one) ?? 0) >= wholeName && (found.get(one) ?? 0) <= mostNamed;
	const named: number[] = [];
	matches.forEach((here, unit) => {
		if (here.some(isNamed)) named.push(unit);
	});
	return { ...features, named };
}

function indentOf(line: string): number {
	let indent = 0;
	for (const character of line) {
		if (character === "\t") indent += 4;
		else if (character === " ") indent += 1;
		else break;
	}
	return Math.min(indent, deepestIndent);
}
