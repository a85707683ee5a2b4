const longestQuote = 40;

/** What came instead, in words that follow "got". Texts are quoted only where `quoteText` is set, and cut when long. */
export function describeValue(value: unknown, { quoteText }: { readonly quoteText: boolean }): string {
	if (typeof value === "string") return quoteText ? `the text ${quote(value)}` : `a text of ${value.length} characters`;
	if (value === null || typeof value === "number" || typeof value === "boolean") return String(value);
	if (Array.isArray(value)) return "a list";
	if (value instanceof Date) return "a date";
	return typeof value === "object" ? "a table" : `a ${typeof value}`;
}

/** A text in quotation marks, on one line, cut when long. */
export function quote(text: string): string {
	return JSON.stringify(text.length > longestQuote ? `${text.slice(0, longestQuote)}…` : text);
}
