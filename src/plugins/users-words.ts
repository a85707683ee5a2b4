/** Some 4 000 tokens. */
const mostChars = 16_000;

/**
 * What people wrote, for a summary that is to keep it. The first text and the newest ones have the room; `undefined` if
 * there is none. Texts are in the order in which they were written.
 */
export function usersWords(texts: readonly string[]): string | undefined {
	const written = texts.map((text) => text.trim()).filter((text) => text !== "");
	const [first, ...others] = written;
	if (first === undefined) return undefined;
	const kept = [cut(first, mostChars / 2)];
	let left = mostChars - kept.join().length;
	const newest: string[] = [];
	for (const text of others.reverse()) {
		if (left <= 0) break;
		newest.unshift(cut(text, left));
		left -= text.length;
	}
	const leftOut = written.length - 1 - newest.length;
	const between = leftOut > 0 ? [`(${leftOut} more in between)`] : [];
	const shown = [...kept, ...between, ...newest].map((text) => `- ${text.replaceAll("\n", "\n  ")}`);
	return `${heading}\n${shown.join("\n")}`;
}

const heading = "What the user wrote, word for word, oldest first:";

/** The texts at the end of an earlier summary. */
export function wordsIn(summary: string): string[] {
	const at = summary.lastIndexOf(`${heading}\n- `);
	if (at === -1) return [];
	const items = summary.slice(at + heading.length + 3).split("\n- ");
	return items.map((item) => item.replaceAll("\n  ", "\n"));
}

function cut(text: string, most: number): string {
	return text.length <= most ? text : `${text.slice(0, most).replace(/[\uD800-\uDBFF]$/, "")} […]`;
}
