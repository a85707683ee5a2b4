import { distance } from "fastest-levenshtein";
import { PalimpsestError, withoutCredentials } from "../../errors.js";

// The hooks load this file, so it imports no zod at run time.
const longestQuote = 40;
export function invalidPolicy(source, problems) {
	const more = problems.length > 50 ? [`and ${problems.length - 50} more`] : [];
	const lines = [`Invalid policy in ${source}:`, ...problems.slice(0, 50), ...more];
	return new PalimpsestError("invalid_policy", lines.join("\n- "));
}
/** `expected` follows "to be". */
export function wrongArgument(name, expected, value) {
	const got = describeValue(value, { text: "kind" });
	return new PalimpsestError("invalid_argument", `Expected ${name} to be ${expected}; got ${got}.`);
}
/** Refuses an argument that is given and is not a whole number within its bounds, with `invalid_argument`. */
export function requireWholeNumber(name, value, bounds) {
	const { least, most = Number.MAX_SAFE_INTEGER, unit } = bounds;
	if (value === undefined || (Number.isSafeInteger(value) && value >= least && value <= most)) return;
	const range = most === Number.MAX_SAFE_INTEGER ? `${least} or more` : `${least} to ${most}`;
	const kind = unit === undefined ? "a whole number" : `a whole number of ${unit}`;
	const got = String(value).slice(0, longestQuote);
	throw new PalimpsestError("invalid_argument", `Expected \`${name}\` to be ${kind}, ${range}; got ${got}.`);
}
/** Words to follow "got". Only `text: "quoted"` shows part of a text, since other texts may come from a conversation. */
export function describeValue(value, { text, object = "an object" }) {
	if (value === undefined) return "nothing";
	if (typeof value === "string") {
		if (text === "kind") return "a string";
		return text === "quoted" ? `the text ${quote(value)}` : `a text of ${value.length} characters`;
	}
	if (value === null || typeof value === "number" || typeof value === "boolean") return String(value);
	if (Array.isArray(value)) return "a list";
	if (value instanceof Date) return "a date";
	if (value instanceof Promise) return "a promise, which has to be awaited first";
	return typeof value === "object" ? object : `a ${typeof value}`;
}
export function quote(given) {
	const text = withoutCredentials(given);
	return JSON.stringify(text.length > longestQuote ? `${text.slice(0, longestQuote)}…` : text);
}
export function alternatives(words) {
	const last = words.at(-1) ?? "nothing";
	return words.length < 2 ? last : `${words.slice(0, -1).join(", ")} or ${last}`;
}
/** The path of a value and a colon, to begin a line about it. Unusual keys are quoted. Empty for the root. */
export function pathLabel(path) {
	if (path.length === 0) return "";
	return `${path.map((key) => (isPlainName(String(key)) ? String(key) : quote(String(key)))).join(".")}: `;
}
/** Whether an error may show a name unchanged. Any other name could be text of a conversation. */
export function isPlainName(name) {
	return /^[\w$-]{1,64}$/.test(name);
}
/**
 * The most similar known name. Ignores case, `-` and `_`. A correct last part under a wrong parent counts as similar, and
 * so does the beginning of a name.
 */
export function nearestName(name, known) {
	if (name.length > 100) return null;
	const wanted = spelling(name);
	const lastWanted = lastPart(wanted);
	const distances = known.map((candidate) => {
		const whole = distance(wanted, spelling(candidate));
		const last = distance(lastWanted, lastPart(spelling(candidate))) + 0.5;
		const lastOnly = lastWanted.length > 3 && last < lastWanted.length / 3 + 0.5;
		const isBeginning = wanted.length > 3 && spelling(candidate).startsWith(wanted);
		const lastIsBeginning = lastWanted.length > 3 && lastPart(spelling(candidate)).startsWith(lastWanted);
		return Math.min(whole, lastOnly ? last : whole, isBeginning ? 1 : whole, lastIsBeginning ? 1.5 : whole);
	});
	const least = Math.min(...distances);
	return least <= Math.max(2, wanted.length / 3) ? (known[distances.indexOf(least)] ?? null) : null;
}
export function suggestion(name, known, otherwise = "") {
	const near = nearestName(name, known);
	return near === null ? otherwise : ` Did you mean ${near}?`;
}
const spelling = (name) => name.toLowerCase().replaceAll(/[_-]/g, "");
const lastPart = (name) => name.slice(name.lastIndexOf(".") + 1);
/** One line for each issue. None quotes the value: it may be text of a conversation. `known` are the allowed names. */
export function describeIssues(issues, of) {
	const { root, known = [], what = "member" } = of;
	return issues.flatMap((issue) => {
		const where = pathLabel(issue.path);
		if (issue.code === "unrecognized_keys") {
			const others = known.length > 0 ? ` Known: ${known.join(", ")}.` : "";
			return issue.keys.map((key) => `${where}${quote(key)}: unknown ${what}.${suggestion(key, known, others)}`);
		}
		const expected = expectedOf(issue);
		const value = valueAt(root, issue.path);
		const got = describeValue(value, { text: "length" });
		return [`${where}expected ${expected}, got ${got}${hintFor(value, issue, expected)}`];
	});
}
const kinds = {
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
function expectedOf(issue) {
	switch (issue.code) {
		case "invalid_type":
			return kinds[issue.expected] ?? "another kind of value";
		case "invalid_value":
			return alternatives(issue.values.map((value) => JSON.stringify(value)));
		case "too_small":
			return bounded(issue.origin, `${issue.inclusive === false ? "more than" : "at least"} ${issue.minimum}`);
		case "too_big":
			return bounded(issue.origin, `${issue.inclusive === false ? "less than" : "at most"} ${issue.maximum}`);
		case "invalid_union": {
			const options = issue.errors.flatMap((errors) => errors.slice(0, 1).map(expectedOf));
			return options.length === 0 ? "another kind of value" : alternatives([...new Set(options)]);
		}
		// The schemas of the tools write messages that can follow "expected".
		case "custom":
			return issue.message;
		default:
			return issue.code === "invalid_format" ? "a text of another form" : "another value";
	}
}
function bounded(origin, range) {
	if (origin === "string") return `a text of ${range} characters`;
	if (origin === "array" || origin === "set") return `a list of ${range} items`;
	return `${origin === "int" ? "a whole number" : "a number"} of ${range}`;
}
/** Callers that should pass an object or a list often pass its JSON as a text. */
function hintFor(value, issue, expected) {
	if (typeof value !== "string") return "";
	if (issue.code === "invalid_value") {
		const hint = suggestion(value, issue.values.map(String));
		return hint && `.${hint}`;
	}
	const isJsonText = /\b(?:an object|a list)\b/.test(expected) && /^\s*[[{"]/.test(value);
	return isJsonText ? ". Pass the JSON itself, not a text that holds it." : "";
}
/** Follows own properties only. */
export function valueAt(root, path) {
	return path.reduce((value, key) => {
		const isThere = typeof value === "object" && value !== null && Object.hasOwn(value, key);
		return isThere ? value[key] : undefined;
	}, root);
}
