/** Longest stretch given to the library at once, in characters: some of its patterns take quadratic time. */
const longestStretch = 4_096;
/** How far before the end of a stretch an escape sequence is looked for that it would split. */
const longestSequence = 64;

// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for.
const escapeCharacter = /[\u001b\u009b]/;

/**
 * Takes the escape sequences of terminals (ECMA-48: colours, movements, titles) out of a text, line by line, so that
 * its lines keep their numbers. `strip` is the library's function. Takes time in proportion to the text.
 */
export function stripEscapes(text: string, strip: (text: string) => string): string {
	if (!escapeCharacter.test(text)) return text;
	const parts: string[] = [];
	for (let from = 0; from < text.length; ) {
		const newline = text.indexOf("\n", from);
		const lineEnd = newline === -1 ? text.length : newline + 1;
		let to = Math.min(lineEnd, from + longestStretch);
		if (to < lineEnd) {
			const sequence = text.lastIndexOf("\u001b", to - 1);
			if (sequence > from && to - sequence < longestSequence) to = sequence;
		}
		const stretch = text.slice(from, to);
		parts.push(escapeCharacter.test(stretch) ? strip(stretch) : stretch);
		from = to;
	}
	return parts.join("");
}
