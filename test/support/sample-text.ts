/** A tool output that is worth masking and holds none of the words that mark an error. */
export function outputOf(name: string, lines = 40): string {
	return Array.from({ length: lines }, (_, line) => `${name} line ${line}: the quick brown fox jumps`).join("\n");
}

/** A text of exactly so many characters, without a repeated part that could hide a wrong cut. */
export function textOfLength(length: number): string {
	let text = "";
	for (let number = 0; text.length < length; number += 1) text += `${number},`;
	return text.slice(0, length);
}
