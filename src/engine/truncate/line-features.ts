import { findIdentifiers } from "../compaction/identifiers.ts";
import { type FocusWords, wordsOfLine } from "./focus-words.ts";
import { type TextUnits, unitText } from "./text-units.ts";

/** What tells of each unit of a text how much it is wanted, one number for each. */
export interface LineFeatures {
	/** Weights of the focus words in it, rare ones weighing more. */
	readonly focus: Float32Array;
	/** The units that hold a name of the focus which few others hold. */
	readonly named: readonly number[];
	/** Identifiers that stand nowhere before it. */
	readonly fresh: Float32Array;
	/** Identifiers in it. */
	readonly names: Float32Array;
	/** 1 where it declares something: a function, a class, a test, a heading. */
	readonly declares: Float32Array;
	/** 1 where it says nothing by itself: blank, or closing brackets. */
	readonly bare: Float32Array;
	/** 1 where it is a comment. */
	readonly comment: Float32Array;
	/** Characters of white space before it. */
	readonly indent: Float32Array;
	readonly quotes: Float32Array;
	readonly imports: Float32Array;
	/** 1 where it assigns, calls or returns: a statement rather than words. */
	readonly acts: Float32Array;
	readonly fails: Float32Array;
	/** Names in it that stand on several other lines too. */
	readonly central: Float32Array;
}

/** Weight of a whole name among the words of a focus, and the most lines that can hold it for it to single them out. */
const [wholeName, mostNamed] = [2, 3];
/** The number that a tool puts before a line of a file. */
const lineNumber = /^\s{0,8}\d{1,7}(?:→|\t|:|\|)/;
const declaration =
	/^\s*(?:export\s+|default\s+|public\s+|private\s+|protected\s+|static\s+|async\s+|abstract\s+|final\s+|pub(?:\(\w+\))?\s+|declare\s+|unsafe\s+)*(?:function\b|class\b|interface\b|type\s+\w+|enum\b|struct\b|trait\b|impl\b|namespace\b|module\b|def\b|func\b|fn\b|const\s+\w+\s*[:=].*(?:=>|\bfunction\b)|(?:describe|it|test|t\.Run)(?:\.\w+)?\(|#{1,6}\s|@@|diff --git)/;
const comment = /^\s*(?:\/\/|\/\*|\*|#(?!#|!|include|define)|--\s|<!--|;;)/;
const statement = /[\w)\]]\(|[^=!<>]=[^=]|^\s*return\b/;
const importLine =
	/^\s*(?:import\b|from\s+\S+\s+import\b|use\s+[\w:]+|#include|require\(|const\s.{1,200}=\s*require\(|package\s|using\s)/;
const failLine = /\b(?:error|fail(?:ed|ure|s)?|exception|panic|fatal|traceback)\b/i;
const bareLine = /^[\s)\]}>,;'"`]*$/;

/** Reads the features of each unit, in time in proportion to the text. */
export function lineFeatures(units: TextUnits, focus: FocusWords): LineFeatures {
	const make = () => new Float32Array(units.count);
	const features = {
		focus: make(),
		fresh: make(),
		names: make(),
		declares: make(),
		bare: make(),
		comment: make(),
		indent: make(),
		quotes: make(),
		imports: make(),
		acts: make(),
		fails: make(),
		central: make(),
	};
	const found = new Map<string, number>();
	const matches: string[][] = [];
	const seen = new Map<string, number>();
	const namesOf: string[][] = [];
	for (let unit = 0; unit < units.count; unit += 1) {
		const whole = unitText(units, unit);
		const line = whole.replace(lineNumber, "");
		if (bareLine.test(line)) {
			features.bare[unit] = 1;
			continue;
		}
		features.indent[unit] = indentOf(line);
		if (declaration.test(line)) features.declares[unit] = 1;
		if (comment.test(line)) features.comment[unit] = 1;
		if (/["'`]/.test(line)) features.quotes[unit] = 1;
		if (statement.test(line)) features.acts[unit] = 1;
		const names = new Set(findIdentifiers(line).map(({ text }) => text));
		features.names[unit] = names.size;
		if (names.size > 0) namesOf[unit] = [...names];
		if (importLine.test(line)) features.imports[unit] = 1;
		if (failLine.test(line)) features.fails[unit] = 1;
		for (const name of names) {
			const times = seen.get(name) ?? 0;
			seen.set(name, times + 1);
			if (times === 0) features.fresh[unit] = (features.fresh[unit] as number) + 1;
		}
		if (focus.size === 0) continue;
		const here = [...wordsOfLine(line)].filter((one) => focus.has(one));
		if (here.length === 0) continue;
		matches[unit] = here;
		for (const one of here) found.set(one, (found.get(one) ?? 0) + 1);
	}
	namesOf.forEach((names, unit) => {
		features.central[unit] = names.reduce((sum, name) => sum + Math.log(seen.get(name) ?? 1), 0);
	});
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
	return Math.min(indent, 40);
}
