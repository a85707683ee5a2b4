/** Shortest line that counts, in characters: shorter ones (`return null;`) stand anywhere by chance. */
const shortest = 20;
/** Longest line that counts; what is longer is data. */
const longest = 1_000;
/** What tools put before each line of a file that they show: `12:`, `12→`, `12|`, a tab behind the number. */
const lineNumber = /^\s{0,12}\d{1,7}(?:[:→\t]| {0,3}\|)/;

/**
 * The whole lines of a text, each once: trimmed, without the line number that a tool put before it, of 20 to 1 000
 * characters. Line breaks, quotes and tabs that stand escaped, as in the JSON of a call's arguments, count as what they
 * stand for. Takes time in proportion to the text.
 */
export function wholeLines(text: string): ReadonlySet<string> {
	const lines = new Set<string>();
	for (const raw of text.split(/\r?\n|\\r\\n|\\n/)) {
		if (raw.length < shortest || raw.length > longest) continue;
		const unescaped = raw.includes("\\") ? raw.replaceAll('\\"', '"').replaceAll("\\t", "\t") : raw;
		const line = unescaped.replace(lineNumber, "").trim();
		if (line.length >= shortest) lines.add(line);
	}
	return lines;
}
