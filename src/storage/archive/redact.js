import { PalimpsestError } from "../../errors.js";

const redactionMark = "[redacted before archiving]";
/** Finders also get the text with the escapes of JSON undone, to find a secret in the JSON around a text. */
export function createRedact(finders) {
	if (finders.length === 0) return (text) => ({ text, redactions: 0 });
	return rememberRecent((text) => {
		const ranges = [...unescapedViews(text)].flatMap((view) =>
			finders.flatMap((find) => find(view.text).map(([start, end]) => [view.before(start), view.before(end)])),
		);
		return replace(text, merged(ranges));
	});
}
function merged(ranges) {
	const apart = [];
	for (const [start, end] of ranges.toSorted((a, b) => a[0] - b[0] || a[1] - b[1])) {
		const last = apart.at(-1);
		if (end <= start) continue;
		if (last && start < last[1]) apart[apart.length - 1] = [last[0], Math.max(last[1], end)];
		else apart.push([start, end]);
	}
	return apart;
}
function replace(text, ranges) {
	const kept = [...ranges, [text.length, 0]].map(([start], at) => text.slice(ranges[at - 1]?.[1] ?? 0, start));
	return { text: kept.join(redactionMark), redactions: ranges.length };
}
const mostRemembered = 1 << 24;
/** A text is redacted when it is named, when it is stored, and in each call that masks it again. */
function rememberRecent(redact) {
	const recent = new Map();
	let chars = 0;
	return (text) => {
		const redacted = recent.get(text) ?? redact(text);
		if (recent.delete(text)) chars -= text.length;
		if (text.length > mostRemembered) return redacted;
		recent.set(text, redacted);
		chars += text.length;
		for (const oldest of recent.keys()) {
			if (chars <= mostRemembered) break;
			recent.delete(oldest);
			chars -= oldest.length;
		}
		return redacted;
	};
}
// A JSON result is escaped in the JSON of its message, which is escaped in the JSON of its places.
const mostLevels = 4;
const escapes = /\\(?:u[0-9a-fA-F]{4}|["\\/bfnrt])/g;
/** The unchanged text, then the text with the escapes of JSON strings (RFC 8259, 7) undone once, and again while it holds some. */
function* unescapedViews(text) {
	let view = { text, before: (index) => index };
	for (let level = 0; view && level <= mostLevels; level += 1) {
		yield view;
		view = unescaped(view);
	}
}
function unescaped({ text, before }) {
	const parts = [];
	// From these indexes of the new text on, the old text is ahead by this much in all.
	const [from, ahead] = [[], []];
	let [end, shift] = [0, 0];
	for (const { 0: found, index } of text.matchAll(escapes)) {
		parts.push(text.slice(end, index), JSON.parse(`"${found}"`));
		end = index + found.length;
		shift += found.length - 1;
		from.push(end - shift);
		ahead.push(shift);
	}
	if (parts.length === 0) return undefined;
	parts.push(text.slice(end));
	return { text: parts.join(""), before: (index) => before(index + (ahead[countUpTo(from, index) - 1] ?? 0)) };
}
function countUpTo(rising, most) {
	let [low, high] = [0, rising.length];
	while (low < high) {
		const middle = (low + high) >>> 1;
		if (rising[middle] <= most) low = middle + 1;
		else high = middle;
	}
	return low;
}
/** Finds matches of patterns in RE2's syntax. Throws PalimpsestError `invalid_argument` for an invalid pattern. */
export async function findPatterns(patterns) {
	// Loaded here, since most archives redact nothing.
	const [{ RE2JS }, { compilePattern }] = await Promise.all([import("re2js"), import("./part.js")]);
	const compiled = patterns.map((pattern) => compilePattern(pattern, RE2JS.MULTILINE));
	return (text) => compiled.flatMap((pattern) => matchesOf(pattern, text));
}
function matchesOf(pattern, text) {
	const ranges = [];
	// `test` is faster than a matcher, and most patterns match nothing.
	const matcher = pattern.test(text) ? pattern.matcher(text) : undefined;
	while (matcher?.find()) ranges.push([matcher.start(), matcher.end()]);
	return ranges;
}
// Windows bound the time of rules that take the square of some repetitions: 1.4 ms for a window in the mean of 43 000 of
// random pieces of the rules' own patterns, under a second in the worst case.
const windowChars = 32_768;
// The longest credential that a rule takes is a private key: 10 000 characters between its marks.
const overlapChars = 12_288;
/**
 * Finds credentials by secretlint's recommended rules. The rules are not called by `@secretlint/core`: it answers by
 * promises, but planning needs the reference at once; and its profiler keeps every performance mark.
 * @throws PalimpsestError `archive_unavailable` if the rules are not installed; while finding, if a rule fails.
 */
export async function findCredentials(load = () => import("@secretlint/secretlint-rule-preset-recommend")) {
	const { creator } = await load().catch((cause) => {
		const message =
			"The policy asks for `archive.redact_credentials`, which needs the package @secretlint/secretlint-rule-preset-recommend. Install it, or turn it off.";
		throw new PalimpsestError("archive_unavailable", message, { cause });
	});
	let found = [];
	const context = {
		sharedOptions: {},
		createTranslator: () => (messageId, data) => ({ message: "", messageId, data }),
		report: ({ range: [start, end] }) => found.push([start, end]),
		ignore: () => {},
	};
	// With the rule `filter-comments`, a comment in a text could turn the search off.
	const rules = creator.rules.filter(({ meta }) => !meta.id.endsWith("filter-comments"));
	const searches = rules.map((rule) => rule.create(context, {}).file);
	const inWindow = (content) => {
		found = [];
		const source = { content, filePath: "text.txt", ext: ".txt", contentType: "text", hasBOM: false };
		for (const search of searches) {
			const answer = search?.(source);
			if (!(answer instanceof Promise)) continue;
			answer.catch(() => {});
			throw new TypeError("Expected every rule to answer at once; one answered with a promise.");
		}
		return found;
	};
	return (text) => {
		try {
			return [...windowsOf(text)].flatMap((start) =>
				inWindow(text.slice(start, start + windowChars)).map(([from, to]) => [start + from, start + to]),
			);
		} catch (cause) {
			const message = "Looking for credentials in a text failed, so it was not archived.";
			throw new PalimpsestError("archive_unavailable", message, { cause });
		}
	};
}
/** Each window overlaps the next one, so that one of them holds every credential whole. */
function* windowsOf(text) {
	for (let start = 0; start === 0 || start + overlapChars < text.length; start += windowChars - overlapChars) {
		yield start;
	}
}
