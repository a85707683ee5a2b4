/** The rule that made a result look like an error, in the order in which the rules are tried. */
export type ErrorRule =
	| "traceback"
	| "exception"
	| "error_line"
	| "error_key_text"
	| "timeout"
	| "connect_error"
	| "connection_refused"
	| "json_error_key"
	| "json_error_status";

interface WordRule {
	readonly rule: ErrorRule;
	readonly word: string;
	/** Where the word alone does not tell. Tried behind it, since most texts do not hold the word. */
	readonly pattern?: RegExp;
}

const wordRules: readonly WordRule[] = [
	{ rule: "traceback", word: "Traceback" },
	{ rule: "exception", word: "Exception" },
	{ rule: "error_line", word: "Error", pattern: /^Error/m },
	{ rule: "error_key_text", word: '"error"' },
];
/** Tried after those. */
const anyCaseRules: readonly { readonly rule: ErrorRule; readonly pattern: RegExp }[] = [
	{ rule: "timeout", pattern: /timeout/i },
	{ rule: "connect_error", pattern: /connect_error/i },
	{ rule: "connection_refused", pattern: /connection refused/i },
];

// Every old result is looked at, and most are none: one search takes half as long as three.
const anyCaseWords = /timeout|connect_error|connection refused/i;

/**
 * Whether a result looks like an error: seed 1's heuristic (section 6), in its order. Words first; then, where the text
 * looks like JSON, an object with the key `error` or with `status` equal to `"error"`. Text that is no valid JSON is
 * judged by the words alone.
 */
export function detectError(text: string): ErrorRule | undefined {
	for (const { rule, word, pattern } of wordRules) {
		if (text.includes(word) && (!pattern || pattern.test(text))) return rule;
	}
	if (anyCaseWords.test(text)) {
		for (const { rule, pattern } of anyCaseRules) if (pattern.test(text)) return rule;
	}
	// Only a `{` can open what the JSON rules look for; a list has no keys. The word itself was found above but where
	// letters of it are escaped.
	if (!text.includes("\\u") || !text.trimStart().startsWith("{")) return undefined;
	let value: unknown;
	try {
		value = JSON.parse(text);
	} catch {
		return undefined;
	}
	if (typeof value !== "object" || value === null) return undefined;
	if (Object.hasOwn(value, "error")) return "json_error_key";
	if ((value as { status?: unknown }).status === "error") return "json_error_status";
	return undefined;
}
