const opening = "<think>";
const closing = "</think>";

/**
 * A text without the reasoning that it opens with, as DeepSeek and Qwen write it where the endpoint does not split it
 * off. Reasoning that was cut takes the rest of the text.
 */
export function withoutThinkTag(text: string): string {
	if (!text.trimStart().startsWith(opening)) return text;
	const end = text.indexOf(closing);
	return end === -1 ? "" : text.slice(end + closing.length).trimStart();
}
