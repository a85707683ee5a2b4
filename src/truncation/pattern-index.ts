/** A regular expression without the flag `g`, and the value to answer for it. */
interface IndexedPattern<Value> {
	readonly pattern: RegExp;
	readonly value: Value;
}

/**
 * Answers, for a text, the patterns that may match it: each pattern is taken apart into its top-level alternatives, and an
 * alternative is left out where the text holds none of the literals that every match of it holds. One pass over the text
 * finds the literals, so that most of some hundred patterns need not be tested.
 */
export function indexPatterns<Value>(
	patterns: readonly IndexedPattern<Value>[],
): (text: string) => readonly IndexedPattern<Value>[] {
	const alternatives = patterns.flatMap(({ pattern, value }) =>
		alternativesOf(pattern.source).map((one) => ({ ...one, flags: pattern.flags, value })),
	);
	const always: number[] = [];
	const byLiteral = new Map<string, number[]>();
	for (const [index, { literals }] of alternatives.entries()) {
		if (literals.length === 0) always.push(index);
		for (const literal of literals) {
			const held = byLiteral.get(literal);
			if (held === undefined) byLiteral.set(literal, [index]);
			else held.push(index);
		}
	}
	const eachLiteral = literalFinder([...byLiteral.keys()]);
	const indices = [...byLiteral.values()];
	/** Most patterns are never needed, and making all of them takes as long as reading hundreds of lines. */
	const made: IndexedPattern<Value>[] = [];
	const patternAt = (index: number) => {
		const { source, flags, value } = alternatives[index] as (typeof alternatives)[number];
		made[index] ??= { pattern: new RegExp(source, flags), value };
		return made[index];
	};
	const lastText = new Uint32Array(alternatives.length);
	let texts = 0;
	return (text) => {
		texts = (texts + 1) >>> 0;
		const found = always.map(patternAt);
		eachLiteral(text, (literal) => {
			for (const index of indices[literal] as number[]) {
				if (lastText[index] === texts) continue;
				lastText[index] = texts;
				found.push(patternAt(index));
			}
		});
		return found;
	};
}

/** Tells of each word of a list that stands in a text, in capitals or not, by its place in the list. The words are ASCII. */
function literalFinder(words: readonly string[]): (text: string, found: (word: number) => void) => void {
	const letters = 128;
	const longest = words.reduce((sum, one) => sum + one.length, 1);
	/** For each state and letter the next state, 0 for none; `ends` holds the place of the word that ends there, from 1. */
	const next = new Uint16Array(longest * letters);
	const ends = new Uint16Array(longest);
	let states = 1;
	for (const [index, one] of words.entries()) {
		let state = 0;
		for (let at = 0; at < one.length; at += 1) {
			const place = state * letters + one.charCodeAt(at);
			if (next[place] === 0) {
				next[place] = states;
				states += 1;
			}
			state = next[place] as number;
		}
		ends[state] = index + 1;
	}
	const folded = Uint8Array.from({ length: letters }, (_, unit) => (unit >= 65 && unit <= 90 ? unit + 32 : unit));
	return (text, found) => {
		for (let start = 0; start < text.length; start += 1) {
			let state = 0;
			for (let at = start; at < text.length; at += 1) {
				const unit = text.charCodeAt(at);
				if (unit >= letters) break;
				state = next[state * letters + (folded[unit] as number)] as number;
				if (state === 0) break;
				if (ends[state] !== 0) found((ends[state] as number) - 1);
			}
		}
	};
}

interface Alternative {
	readonly source: string;
	/** Every match holds one of these, in lower case; none where that cannot be told. */
	readonly literals: readonly string[];
}

/** Classes, openings of groups, escapes, quantifiers, runs of plain characters without a quantifier, and other signs. */
const tokens =
	/\[(?:\\.|[^\]\\])*\]|\((?:\?(?::|<?[=!]))?|\\p\{[^}]*\}|\\.|[?*+]\??|\{\d+(?:,\d*)?\}\??|[^\\[(){|.^$?*+\u0080-\uffff]+(?![?*+{])|./gis;

/**
 * The top-level alternatives of a regular expression, with the literals that their matches hold. Reads the syntax of
 * ECMAScript without named groups, back references and escapes by number; each class counts as any character.
 */
function alternativesOf(source: string): Alternative[] {
	const read = source.match(tokens) ?? [];
	let at = 0;
	const readAlternatives = (): Alternative[] => {
		const found: Alternative[] = [];
		for (;;) {
			const start = at;
			const literals = readSequence();
			found.push({ source: read.slice(start, at).join(""), literals });
			if (read[at] !== "|") return found;
			at += 1;
		}
	};
	const readGroup = (opening: string): readonly string[] => {
		const inner = readAlternatives().map(({ literals }) => literals);
		at += 1;
		const isAround = opening !== "(" && opening !== "(?:";
		return isAround || inner.some((literals) => literals.length === 0) ? [] : inner.flat();
	};
	const readSequence = (): readonly string[] => {
		let best: readonly string[] = [];
		let run = "";
		const offer = (literals: readonly string[]) => {
			if (worthOf(literals) > worthOf(best)) best = literals;
		};
		for (let token = read[at]; token !== undefined && token !== "|" && token !== ")"; token = read[at]) {
			at += 1;
			const group = token.startsWith("(") ? readGroup(token) : [];
			const quantifier = /^(?:[?*+]|\{\d)/.test(read[at] ?? "") ? (read[at] as string) : "";
			if (quantifier !== "") at += 1;
			const isOptional = /^(?:[?*]|\{0)/.test(quantifier);
			const plain = token.startsWith("\\") ? token.slice(1) : token;
			const isPlain = token.startsWith("\\") ? /^\W$/.test(plain) : /^[^[(.^$\u0080-\uffff]/.test(plain);
			if (isPlain && !isOptional) run += plain.toLowerCase();
			if (isPlain && quantifier === "") continue;
			if (run !== "") offer([run]);
			run = "";
			if (!isOptional) offer(group);
		}
		if (run !== "") offer([run]);
		return best;
	};
	return readAlternatives();
}

/** Long literals are rare in texts, and few of them are rarer than many. */
function worthOf(literals: readonly string[]): number {
	return literals.length === 0 ? 0 : Math.min(...literals.map(({ length }) => length)) - literals.length / 1_000;
}
