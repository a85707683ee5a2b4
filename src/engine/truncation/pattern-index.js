import { addToList } from "../conversation/lists.js";
/**
 * Returns a function that lists the top-level alternatives of patterns that may match a text, by the literals that all
 * their matches contain. One pass over the text finds the literals, so most of the patterns need not be tested.
 */
export function indexPatterns(patterns) {
	const alternatives = patterns.flatMap(([kind, { source, flags }]) =>
		alternativesOf(source).map((one) => ({ ...one, flags, kind })),
	);
	const always = [];
	const byLiteral = new Map();
	for (const [index, { literals }] of alternatives.entries()) {
		// Most texts contain a literal of one character.
		if (literals.length === 0 || literals.some(({ length }) => length < 2)) always.push(index);
		else for (const literal of literals) addToList(byLiteral, literal, index);
	}
	const eachLiteral = literalFinder([...byLiteral.keys()]);
	const indices = [...byLiteral.values()];
	// Compiling all patterns takes as long as reading hundreds of lines, and most are never needed.
	const compiled = [];
	const compile = (index) => {
		const { source, flags, kind } = alternatives[index];
		compiled[index] ??= { pattern: new RegExp(source, flags), kind, isAnchored: source.includes("^") };
		return compiled[index];
	};
	const lastText = new Uint32Array(alternatives.length);
	let texts = 0;
	return (text) => {
		texts = (texts + 1) >>> 0;
		const found = always.map(compile);
		eachLiteral(text, (literal) => {
			for (const index of indices[literal]) {
				if (lastText[index] === texts) continue;
				lastText[index] = texts;
				found.push(compile(index));
			}
		});
		return found;
	};
}
/** Returns a function that finds ASCII words of two letters or more in a text, ignoring case, by a trie. */
function literalFinder(words) {
	/** For each UTF-16 code unit a number; 0 if no word contains it. */
	const letterOf = new Uint8Array(65_536);
	let letters = 1;
	for (const letter of new Set(words.join(""))) {
		letterOf[letter.charCodeAt(0)] = letters;
		letterOf[letter.toUpperCase().charCodeAt(0)] = letters;
		letters += 1;
	}
	const mostStates = words.reduce((sum, { length }) => sum + length, 1);
	/** For each state and letter the next state; 0 if there is none. */
	const next = new Uint16Array(mostStates * letters);
	/** For each state the word that ends there, from 1. */
	const ends = new Uint16Array(mostStates);
	let states = 1;
	for (const [index, word] of words.entries()) {
		let state = 0;
		for (let at = 0; at < word.length; at += 1) {
			const place = state * letters + letterOf[word.charCodeAt(at)];
			if (next[place] === 0) {
				next[place] = states;
				states += 1;
			}
			state = next[place];
		}
		ends[state] = index + 1;
	}
	// Most places in a text are not the start of a word, as two letters show.
	const afterPair = new Uint16Array(letters * letters);
	for (let first = 1; first < letters; first += 1) {
		const state = next[first];
		if (state !== 0) afterPair.set(next.subarray(state * letters, (state + 1) * letters), first * letters);
	}
	return (text, found) => {
		let before = 0;
		for (let at = 0; at < text.length; at += 1) {
			const letter = letterOf[text.charCodeAt(at)];
			let state = afterPair[before * letters + letter];
			before = letter;
			for (let ahead = at + 1; state !== 0; ahead += 1) {
				if (ends[state] !== 0) found(ends[state] - 1);
				if (ahead === text.length) break;
				state = next[state * letters + letterOf[text.charCodeAt(ahead)]];
			}
		}
	};
}
/** Classes, openings of groups, escapes, quantifiers, runs of plain characters without a quantifier, and other signs. */
const tokens =
	/\[(?:\\.|[^\]\\])*\]|\((?:\?(?::|<?[=!]))?|\\p\{[^}]*\}|\\.|[?*+]\??|\{\d+(?:,\d*)?\}\??|[^\\[(){|.^$?*+\u0080-\uffff]+(?![?*+{])|./gis;
/**
 * The top-level alternatives of a regular expression. Each match of one contains one of its `literals`, which are in lower
 * case; none if that is unknown. Reads the syntax of ECMAScript without named groups, back references and escapes by number.
 */
function alternativesOf(source) {
	const read = source.match(tokens) ?? [];
	let at = 0;
	const readAlternatives = () => {
		const found = [];
		for (;;) {
			const start = at;
			const literals = readSequence();
			found.push({ start, end: at, literals });
			if (read[at] !== "|") return found;
			at += 1;
		}
	};
	const readGroup = (opening) => {
		const inner = readAlternatives().map(({ literals }) => literals);
		at += 1;
		const isLookaround = opening !== "(" && opening !== "(?:";
		return isLookaround || inner.some((literals) => literals.length === 0) ? [] : inner.flat();
	};
	const readSequence = () => {
		let best = [];
		let [bestRarity, run] = [0, ""];
		const offer = (literals) => {
			const rarity = rarityOf(literals);
			if (rarity > bestRarity) [best, bestRarity] = [literals, rarity];
		};
		for (let token = read[at]; token !== undefined && token !== "|" && token !== ")"; token = read[at]) {
			at += 1;
			const group = token.startsWith("(") ? readGroup(token) : [];
			const following = read[at] ?? "";
			const quantifier = "?*+".includes(following[0] ?? " ") || /^\{\d/.test(following) ? following : "";
			if (quantifier !== "") at += 1;
			const isOptional = /^(?:[?*]|\{0)/.test(quantifier);
			const isEscape = token.startsWith("\\");
			const plain = isEscape ? token.slice(1) : token;
			const isPlain = isEscape ? /^\W$/.test(plain) : !("[(.^$".includes(token[0]) || token > "\u007f");
			if (isPlain && !isOptional) run += plain.toLowerCase();
			if (isPlain && quantifier === "") continue;
			offer([run]);
			run = "";
			if (!isOptional) offer(group);
		}
		offer([run]);
		return best;
	};
	return readAlternatives().map(({ start, end, literals }) => ({ source: read.slice(start, end).join(""), literals }));
}
/** Long literals are rare in texts, and few literals are rarer than many. */
function rarityOf(literals) {
	if (literals.length === 0) return 0;
	return literals.reduce((least, { length }) => Math.min(least, length), Infinity) - literals.length / 1_000;
}
