export interface Identifier {
	readonly text: string;
	readonly kind: "url" | "path" | "hash" | "error_code" | "name" | "number";
}

/** Finds the identifiers of a text in order, repeated ones each time, without keys of JSON, in linear time. */
export function findIdentifiers(text: string): Identifier[] {
	const found: Identifier[] = [];
	eachRun(text, (run) => {
		const identifier = identifierIn(run);
		if (identifier) found.push(identifier);
	});
	return found;
}

/** Returns a function that counts the identifiers of a text which no text before it contains. */
export function newIdentifierCounter(): (text: string) => number {
	const known = new Set<string>();
	return (text) => {
		const before = known.size;
		eachRun(text, (run) => {
			const identifier = trim(run);
			if (kindOf(identifier) !== undefined) known.add(identifier);
		});
		return known.size - before;
	};
}

/** Longest identifier; longer runs are data. */
const longest = 200;

const longestName = 80;

/** Classes of characters; 0 for one that ends a run. */
const [letter, capital, digit, sign, slash] = [1, 2, 4, 8, 16];

// For all codes, since reading beyond the end of a typed array is slow.
const classes = new Uint8Array(65_536);

for (let code = 0; code < 128; code += 1) {
	const character = String.fromCharCode(code);
	if (/[a-z]/.test(character)) classes[code] = letter;
	else if (/[A-Z]/.test(character)) classes[code] = capital;
	else if (/[0-9]/.test(character)) classes[code] = digit;
	else if (/[/\\]/.test(character)) classes[code] = slash;
	else if (/[_$@#:.~%?=&+-]/.test(character)) classes[code] = sign;
}

const [capitalE, quote] = ["E".charCodeAt(0), '"'.charCodeAt(0)];

/** Follows the key of a JSON object, which names a field of the tool. */
const behindKey = /^\\?"\s{0,3}:/;

/** Passes on each run of characters that may be an identifier: no plain word, short number or key of JSON. */
function eachRun(text: string, take: (run: string) => void): void {
	const { length } = text;
	for (let index = 0; index < length; index += 1) {
		const first = classes[text.charCodeAt(index)] as number;
		if (first === 0) continue;
		const start = index;
		index += 1;
		// Most runs are words in small letters, and need no further check.
		if (first === letter) {
			while (index < length && classes[text.charCodeAt(index)] === letter) index += 1;
			if (index === length || classes[text.charCodeAt(index)] === 0) continue;
		}
		let seen = first;
		let last = first;
		let isCamel = false;
		for (; index < length; index += 1) {
			const next = classes[text.charCodeAt(index)] as number;
			if (next === 0) break;
			isCamel ||= next === capital && last !== capital;
			// A sign at the end belongs to the sentence.
			seen |= last;
			last = next;
		}
		if (last !== sign) seen |= last;
		const characters = index - start;
		if (characters < 3 || characters > longest) continue;
		if ((seen & ~(letter | capital)) === 0 && !isCamel && text.charCodeAt(start) !== capitalE) continue;
		if (seen === digit && characters < 5) continue;
		if (text.charCodeAt(start - 1) === quote && behindKey.test(text.slice(index, index + 6))) continue;
		take(text.slice(start, index));
	}
}

function identifierIn(run: string): Identifier | undefined {
	const text = trim(run);
	const kind = kindOf(text);
	return kind && { text, kind };
}

const punctuation = ".,:;?=&%+-\\";

/** Takes off punctuation of the sentence, and the line and column after a path. */
function trim(run: string): string {
	let text = run;
	if (punctuation.includes(text.charAt(0))) text = text.replace(/^[.,:;?=&%+-]{1,200}(?=[^./\\])/, "");
	if (punctuation.includes(text.charAt(text.length - 1))) text = text.replace(/[.,:;?=&%+\\-]{1,200}$/, "");
	return text.includes(":") ? text.replace(/(?::\d{1,9}){1,2}$/, "") : text;
}

function kindOf(text: string): Identifier["kind"] | undefined {
	if (text.length < 3) return undefined;
	if (text.includes("/") || text.includes("\\")) {
		if (/^[a-z][a-z0-9+.-]{1,20}:\/\/[^/]/i.test(text)) return "url";
		return isPath(text) ? "path" : undefined;
	}
	if (text.length > longestName) return undefined;
	if (/^#\d{2,}$|^\d{5,}$/.test(text)) return "number";
	if (/^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(text)) return "hash";
	if (/^[0-9a-f]{7,64}$/i.test(text)) return /\d/.test(text) ? "hash" : undefined;
	if (systemErrors.test(text) || /^ERR_[A-Z0-9_]{2,}$|^[A-Z]{1,6}-?\d{3,6}$/.test(text)) return "error_code";
	if (text.includes(".") && /^[\w.-]*[\w-]\.\w+$/.test(text) && fileEnding.test(text)) return "path";
	if (
		/^[A-Za-z_$][\w$]*(?:(?:\.|::)[A-Za-z_$][\w$]*)*$/.test(text) &&
		/[a-z0-9][A-Z]|[A-Za-z0-9]_[A-Za-z0-9]/.test(text)
	) {
		return "name";
	}
	return undefined;
}

/** Endings of files that are commonly named without their folder; `theme.fg` is not one of them. */
const fileEnding =
	/\.(?:[cm]?[jt]sx?|json[5lc]?|md|mdx|txt|py|ipynb|rs|go|java|kt|rb|php|c|h|cc|cpp|hpp|cs|swift|sh|ps1|sql|ya?ml|toml|ini|cfg|conf|lock|xml|html?|s?css|vue|svelte|svg|png|jpe?g|gif|pdf|csv|tsv|log|zip|gz|exe|dll|so|proto|gradle|tf)$/i;

const systemErrors =
	/^E(?:NOENT|ACCES|PERM|EXIST|ISDIR|NOTDIR|NOTEMPTY|NOSPC|ROFS|MFILE|PIPE|INVAL|CONNREFUSED|CONNRESET|TIMEDOUT|ADDRINUSE|HOSTUNREACH|NOTFOUND|RESOLVE|AI_AGAIN)$/;

/** A path has a root, a file's extension or three parts: `and/or` is none, nor is a date. */
function isPath(text: string): boolean {
	if (!/[A-Za-z_]{2}/.test(text)) return false;
	let [parts, last] = [0, ""];
	let start = 0;
	for (let at = 0; at <= text.length; at += 1) {
		if (at < text.length && classes[text.charCodeAt(at)] !== slash) continue;
		const part = text.slice(start, at);
		start = at + 1;
		if (part === "" || part === "." || part === "..") continue;
		parts += 1;
		last = part;
	}
	const hasRoot = /^(?:~|\.{0,2}[/\\]|[A-Za-z]:)/.test(text);
	return parts >= (hasRoot ? 2 : 3) || (parts > 0 && /\.[a-z]/i.test(last));
}
