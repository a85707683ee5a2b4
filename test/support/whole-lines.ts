/** The prefix that tools put before each line of a file: `12:`, `12→`, `12|`, a tab after the number. */
const lineNumber = /^\s{0,12}\d{1,7}(?:[:→\t]| {0,3}\|)/;

/** The lines of a text that count as used: trimmed, without line numbers, of 20 to 1 000 characters, unescaped as in JSON. */
export function wholeLines(text: string): string[] {
	return text.split(/\r?\n|\\r\\n|\\n/).flatMap((raw) => {
		if (raw.length > 1_000) return [];
		const line = raw.replaceAll('\\"', '"').replaceAll("\\t", "\t").replace(lineNumber, "").trim();
		return line.length >= 20 ? [line] : [];
	});
}
