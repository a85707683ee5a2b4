import type { z } from "zod";
import { describeValue, quote } from "./describe-value.ts";
import { nearestName } from "./nearest-name.ts";

/** What zod found, in words of ours: where, what was expected, and what came. */
export interface IssueContext {
	/** The value that was checked. */
	readonly root: unknown;
	/** Names that may stand where an unknown one does. */
	readonly known?: readonly string[];
	/** What a name is called: `argument`. */
	readonly what?: string;
}

/**
 * One line for each issue of a value that comes from outside. The values themselves are not quoted: they may be the text of
 * a conversation.
 */
export function describeIssues(issues: readonly z.core.$ZodIssue[], context: IssueContext): string[] {
	return issues.flatMap((issue) => describeIssue(issue, context));
}

function describeIssue(issue: z.core.$ZodIssue, { root, known = [], what = "member" }: IssueContext): string[] {
	const where = issue.path.length === 0 ? "" : `${issue.path.map(pathKey).join(".")}: `;
	if (issue.code === "unrecognized_keys") {
		return issue.keys.map((key) => {
			const near = nearestName(key, known);
			const hint = near !== null ? ` Did you mean ${near}?` : known.length > 0 ? ` Known: ${known.join(", ")}.` : "";
			return `${where}${quote(key)}: unknown ${what}.${hint}`;
		});
	}
	const expected = expectedOf(issue);
	const value = valueAt(root, issue.path);
	return [`${where}expected ${expected}, got ${shown(value)}${hintFor(value, issue, expected)}`];
}

const kinds: Readonly<Record<string, string>> = {
	string: "a text",
	number: "a number",
	int: "a whole number",
	boolean: "true or false",
	array: "a list",
	object: "an object",
	record: "an object",
	null: "null",
	undefined: "nothing",
};

/** In words that follow "expected". */
function expectedOf(issue: z.core.$ZodIssue): string {
	switch (issue.code) {
		case "invalid_type":
			return kinds[issue.expected] ?? "another kind of value";
		case "invalid_value":
			return alternatives(
				issue.values.map((value) => (typeof value === "bigint" ? `${value}` : JSON.stringify(value))),
			);
		case "too_small":
			return bounded(issue.origin, `${issue.inclusive === false ? "more than" : "at least"} ${issue.minimum}`);
		case "too_big":
			return bounded(issue.origin, `${issue.inclusive === false ? "less than" : "at most"} ${issue.maximum}`);
		case "invalid_union": {
			const options = issue.errors.flatMap((errors) => errors.slice(0, 1).map(expectedOf));
			return options.length === 0 ? "another kind of value" : alternatives([...new Set(options)]);
		}
		case "custom":
			// A message of ours, in words that follow "expected", as every schema of the tools has it.
			return issue.message;
		case "invalid_format":
			return "a text of another form";
		default:
			return "another value";
	}
}

function bounded(origin: string, range: string): string {
	switch (origin) {
		case "string":
			return `a text of ${range} characters`;
		case "array":
		case "set":
			return `a list of ${range} items`;
		case "int":
			return `a whole number of ${range}`;
		default:
			return `a number of ${range}`;
	}
}

/** Where an object or a list is expected, its JSON as a text is what a caller has most likely sent. */
function hintFor(value: unknown, issue: z.core.$ZodIssue, expected: string): string {
	if (typeof value !== "string") return "";
	if (issue.code === "invalid_value") {
		const near = nearestName(value, issue.values.map(String));
		return near === null ? "" : `. Did you mean ${near}?`;
	}
	return /\b(?:an object|a list)\b/.test(expected) && /^\s*[[{"]/.test(value) ? passJsonItself : "";
}

/** Ends the error for a text that holds the JSON which was expected. */
const passJsonItself = ". Pass the JSON itself, not a text that holds it.";

function shown(value: unknown): string {
	if (value === undefined) return "nothing";
	return isTable(value) ? "an object" : describeValue(value, { quoteText: false });
}

function isTable(value: unknown): boolean {
	return typeof value === "object" && value !== null && !Array.isArray(value);
}

function valueAt(root: unknown, path: readonly PropertyKey[]): unknown {
	let value = root;
	for (const key of path) {
		if (typeof value !== "object" || value === null || !Object.hasOwn(value, key)) return undefined;
		value = (value as Record<PropertyKey, unknown>)[key];
	}
	return value;
}

function pathKey(key: PropertyKey): string {
	return /^[\w$-]{1,64}$/.test(String(key)) ? String(key) : quote(String(key));
}

function alternatives(words: readonly string[]): string {
	const last = words.at(-1) ?? "nothing";
	return words.length < 2 ? last : `${words.slice(0, -1).join(", ")} or ${last}`;
}
