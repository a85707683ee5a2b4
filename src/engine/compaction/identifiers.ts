/** What an identifier names. */
export type IdentifierKind = "url" | "path" | "hash" | "error_code" | "name" | "number";

/** An identifier as it stands in a text. */
export interface Identifier {
	readonly text: string;
	readonly kind: IdentifierKind;
}

/** Longest identifier; what is longer is data. */
const longest = 200;
/** Longest name, hash or number. */
const longestName = 80;
/** Endings of files that are commonly named without their folder; `theme.fg` is none of them. */
const fileEnding =
	/\.(?:[cm]?[jt]sx?|json[5lc]?|md|mdx|txt|py|ipynb|rs|go|java|kt|rb|php|c|h|cc|cpp|hpp|cs|swift|sh|ps1|sql|ya?ml|toml|ini|cfg|conf|lock|xml|html?|s?css|vue|svelte|svg|png|jpe?g|gif|pdf|csv|tsv|log|zip|gz|exe|dll|so|proto|gradle|tf)$/i;
const systemErrors =
	/^E(?:NOENT|ACCES|PERM|EXIST|ISDIR|NOTDIR|NOTEMPTY|NOSPC|ROFS|MFILE|PIPE|INVAL|CONNREFUSED|CONNRESET|TIMEDOUT|ADDRINUSE|HOSTUNREACH|NOTFOUND|RESOLVE|AI_AGAIN)$/;

/** Behind the key of a JSON object: it names a field of the tool, not something in the world. */
const behindKey = /^\\?"\s{0,3}:/;

/** What a character may be part of, by its code below 128; 0 for one that ends a run. */
const [letter, capital, digit, sign, slash] = [1, 2, 4, 8, 16];
const classes = new Uint8Array(128);
for (let code = 0; code < 128; code += 1) {
	const character = String.fromCharCode(code);
	if (/[a-z]/.test(character)) classes[code] = letter;
	else if (/[A-Z]/.test(character)) classes[code] = capital;
	else if (/[0-9]/.test(character)) classes[code] = digit;
	else if (/[/\\]/.test(character)) classes[code] = slash;
	else if (/[_$@#:.~%?=&+-]/.test(character)) classes[code] = sign;
}

/**
 * Finds the identifiers of a text, in order, as often as they stand there; keys of JSON aside. Takes time in proportion
 * to the text.
 */
export function findIdentifiers(text: string): Identifier[] {
	const found: Identifier[] = [];
	for (let index = 0; index < text.length; index += 1) {
		const first = classes[text.charCodeAt(index)] ?? 0;
		if (first === 0) continue;
		const start = index;
		let seen = first;
		let last = first;
		let isCamel = false;
		for (index += 1; index < text.length; index += 1) {
			const next = classes[text.charCodeAt(index)] ?? 0;
			if (next === 0) break;
			isCamel ||= next === capital && last <= digit && last !== capital;
			// A sign at the end belongs to the sentence.
			seen |= last;
			last = next;
		}
		if (last !== sign) seen |= last;
		const length = index - start;
		if (length < 3 || length > longest) continue;
		// Plain words and short numbers, which most runs are.
		if ((seen & ~(letter | capital)) === 0 && !isCamel && text[start] !== "E") continue;
		if (seen === digit && length < 5) continue;
		if (text[start - 1] === '"' && behindKey.test(text.slice(index, index + 6))) continue;
		const run = text.slice(start, index);
		const trimmed = (seen & (sign | slash)) === 0 && last !== sign ? run : trim(run);
		const kind = kindOf(trimmed, (seen & slash) !== 0);
		if (kind) found.push({ text: trimmed, kind });
	}
	return found;
}

/** Takes off punctuation of the sentence, and line and column behind a path. */
function trim(run: string): string {
	return run
		.replace(/^[.,:;?=&%+-]{1,200}(?=[^./\\])/, "")
		.replace(/[.,:;?=&%+\\-]{1,200}$/, "")
		.replace(/(?::\d{1,9}){1,2}$/, "");
}

function kindOf(text: string, hasSlash: boolean): IdentifierKind | undefined {
	if (text.length < 3) return undefined;
	if (hasSlash && /^[a-z][a-z0-9+.-]{1,20}:\/\/[^/]/i.test(text)) return "url";
	if (hasSlash && /[/\\]/.test(text)) return isPath(text) ? "path" : undefined;
	if (text.length > longestName) return undefined;
	if (/^#\d{2,}$|^\d{5,}$/.test(text)) return "number";
	if (/^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(text)) return "hash";
	if (/^[0-9a-f]{7,64}$/i.test(text)) return /\d/.test(text) && /[a-f]/i.test(text) ? "hash" : undefined;
	if (systemErrors.test(text) || /^ERR_[A-Z0-9_]{2,}$|^[A-Z]{1,6}-?\d{3,6}$/.test(text)) return "error_code";
	if (/^[\w.-]*[\w-]\.\w+$/.test(text) && fileEnding.test(text)) return "path";
	if (
		/^[A-Za-z_$][\w$]*(?:(?:\.|::)[A-Za-z_$][\w$]*)*$/.test(text) &&
		/[a-z0-9][A-Z]|[A-Za-z0-9]_[A-Za-z0-9]/.test(text)
	) {
		return "name";
	}
	return undefined;
}

/** A path has a root, a file's extension or three parts: "and/or" is none, nor is a date. */
function isPath(text: string): boolean {
	const parts = text.split(/[/\\]/).filter((part) => part !== "" && part !== "." && part !== "..");
	if (!parts.some((part) => /[A-Za-z_]{2}/.test(part))) return false;
	return (
		(parts.length >= 2 && /^(?:~|\.{0,2}[/\\]|[A-Za-z]:)/.test(text)) ||
		parts.length >= 3 ||
		/\.[a-z]/i.test(parts.at(-1) ?? "")
	);
}
