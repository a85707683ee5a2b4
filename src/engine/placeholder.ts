/** Longest tool name or call id shown in a placeholder, in characters. */
const longestValue = 64;

/**
 * Makes a value from a conversation safe to stand in a template: a tool name is untrusted text. Control characters,
 * line breaks and brackets go, and the length is bounded.
 */
export function cleanValue(value: string): string {
	const cleaned = value
		.toWellFormed()
		.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\s]+/gu, " ")
		.replace(/[[\](){}<>]/g, "")
		.trim();
	const characters = Array.from(cleaned);
	return characters.length <= longestValue ? cleaned : `${characters.slice(0, longestValue - 1).join("")}…`;
}

/** What a placeholder tells of the result that it stands for. */
export interface PlaceholderValues {
	readonly toolCallId: string;
	/** The tool's name; `undefined` becomes the locale's word for an unknown tool. */
	readonly toolName: string | undefined;
	/** Characters (UTF-16 code units) of the text taken out. */
	readonly originalChars: number;
}

/** Writes the placeholder for one masked result. */
export function writePlaceholder(
	wording: { readonly placeholder: string; readonly unknownTool: string },
	values: PlaceholderValues,
): string {
	const name = values.toolName === undefined ? "" : cleanValue(values.toolName);
	const filled: Readonly<Record<string, string>> = {
		tool_call_id: cleanValue(values.toolCallId),
		tool_name: name === "" ? wording.unknownTool : name,
		original_chars: String(values.originalChars),
	};
	return wording.placeholder.replace(/\{(\w+)\}/g, (whole, variable: string) => filled[variable] ?? whole);
}

/**
 * Recognises placeholders written from any of the templates, by their exact grammar. What is recognised is never
 * masked again, so masking twice equals masking once and no placeholder passes for an original.
 */
export function placeholderRecogniser(templates: readonly string[]): (text: string) => boolean {
	const alternatives = templates.map((template) =>
		template
			.split(/(\{\w+\})/)
			.map((part) => {
				if (part === "{original_chars}") return "\\d+";
				if (/^\{\w+\}$/.test(part)) return `[^\\[\\](){}<>\\r\\n]{0,${longestValue}}`;
				return part.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
			})
			.join(""),
	);
	const pattern = new RegExp(`^(?:${alternatives.join("|")})$`, "u");
	const longest = Math.max(0, ...templates.map((template) => template.length)) + 4 * longestValue;
	// A text longer than any placeholder need not be matched at all.
	return (text) => text.length <= longest && pattern.test(text);
}
