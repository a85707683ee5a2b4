/** What changes between two texts, as lines with `-` and `+` before them and up to three lines around. */
export function lineDifference(before: string, after: string): string {
	if (before === after) return "";
	const [old, changed] = [linesOf(before), linesOf(after)];
	let start = 0;
	while (start < Math.min(old.length, changed.length) && old[start] === changed[start]) start += 1;
	let same = 0;
	while (
		same < Math.min(old.length, changed.length) - start &&
		old[old.length - 1 - same] === changed[changed.length - 1 - same]
	)
		same += 1;
	const marked = (mark: string, lines: readonly string[]) => lines.map((line) => `${mark}${line}\n`).join("");
	return [
		marked("  ", old.slice(Math.max(0, start - 3), start)),
		marked("- ", old.slice(start, old.length - same)),
		marked("+ ", changed.slice(start, changed.length - same)),
		marked("  ", old.slice(old.length - same, old.length - same + 3)),
	].join("");
}

function linesOf(text: string): string[] {
	return text === "" ? [] : text.replace(/\r?\n$/, "").split(/\r?\n/);
}
