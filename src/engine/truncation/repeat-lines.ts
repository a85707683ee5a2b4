/** Lines by which a run is found. */
export const windowLines = 3;

/** Lines of texts, by number. Places are those in their text. */
export interface Lines {
	count: number;
	start: Int32Array;
	/** Behind the number before the line, as tools that read files write it. */
	content: Int32Array;
	/** Before the line feed. */
	end: Int32Array;
	/** Of the content. */
	hash: Int32Array;
	number: Int32Array;
	isReference: Uint8Array;
}

export const noNumber = -1;

export function createLines(room = 256): Lines {
	return {
		count: 0,
		start: new Int32Array(room),
		content: new Int32Array(room),
		end: new Int32Array(room),
		hash: new Int32Array(room),
		number: new Int32Array(room),
		isReference: new Uint8Array(room),
	};
}

export function grown(numbers: Int32Array): Int32Array<ArrayBuffer> {
	const larger = new Int32Array(2 * numbers.length);
	larger.set(numbers);
	return larger;
}

function grow(lines: Lines): void {
	lines.start = grown(lines.start);
	lines.content = grown(lines.content);
	lines.end = grown(lines.end);
	lines.hash = grown(lines.hash);
	lines.number = grown(lines.number);
	const larger = new Uint8Array(lines.start.length);
	larger.set(lines.isReference);
	lines.isReference = larger;
}

/** Adds the lines of a text. An empty line after the last line feed does not count. */
export function readLines(text: string, lines: Lines, isReference: (line: string) => boolean): void {
	for (let at = 0; at < text.length; ) {
		if (lines.count === lines.start.length) grow(lines);
		const line = lines.count;
		const number = numberOf(text, at, text.length);
		const content = number?.behind ?? at;
		const lineFeed = text.indexOf("\n", content);
		const end = lineFeed === -1 ? text.length : lineFeed;
		let hash = 0;
		for (let one = content; one < end; one += 1) hash = (Math.imul(hash ^ text.charCodeAt(one), 0x01000193) + 1) | 0;
		lines.start[line] = at;
		lines.content[line] = content;
		lines.end[line] = end;
		lines.hash[line] = hash;
		lines.number[line] = number?.value ?? noNumber;
		const isMarked = text.charCodeAt(at) === openBracket && isReference(text.slice(at, Math.min(end, at + 1_000)));
		lines.isReference[line] = isMarked ? 1 : 0;
		lines.count += 1;
		at = end + 1;
	}
}

const openBracket = 91;

const [tab, space, zero, nine, colon, letterL, bar, arrow, thinBar] = [9, 32, 48, 57, 58, 76, 124, 0x2192, 0x2502];

/** The number before a line, in the forms of tools that read files: `12→`, `12⇥`, `12|`, `12: `, `L12: `. */
function numberOf(text: string, at: number, length: number) {
	let digit = at;
	let code = text.charCodeAt(digit);
	while ((code === space || code === tab) && digit < at + 8) {
		digit += 1;
		code = text.charCodeAt(digit);
	}
	if (code === letterL) {
		digit += 1;
		code = text.charCodeAt(digit);
	}
	if (!(code >= zero && code <= nine)) return undefined;
	let end = digit;
	let value = 0;
	for (; code >= zero && code <= nine && end < digit + 8; code = text.charCodeAt(end)) {
		value = 10 * value + code - zero;
		end += 1;
	}
	if (end >= length) return undefined;
	if (code === arrow || code === tab) return { value, end, behind: end + 1 };
	if (code !== colon && code !== bar && code !== thinBar) return undefined;
	return { value, end, behind: text.charCodeAt(end + 1) === space ? end + 2 : end + 1 };
}

export function windowHash({ hash }: Lines, line: number): number {
	const [one, two, three] = [hash[line] as number, hash[line + 1] as number, hash[line + 2] as number];
	return Math.imul(Math.imul(one, 31) + two, 31) + three;
}

/** Whether a window tells a place from others: its lines differ, and at least two of them have words. */
export function isTelling({ hash, start, end, isReference }: Lines, line: number): boolean {
	let blank = 0;
	for (let one = line; one < line + windowLines; one += 1) {
		if (isReference[one] === 1) return false;
		if ((end[one] as number) - (start[one] as number) < 2) blank += 1;
	}
	const [first, second, third] = [hash[line], hash[line + 1], hash[line + 2]];
	return blank < 2 && !(first === second && second === third);
}

/** A NUL, or many characters that no text has. */
export function isBinary(text: string): boolean {
	const probe = text.slice(0, 4_096);
	if (probe.includes("\0")) return true;
	// biome-ignore lint/suspicious/noControlCharactersInRegex: it searches for control characters.
	const odd = probe.match(/[\u0001-\u0007\u000e-\u001a\u001c-\u001f\u007f\ufffd]/g)?.length ?? 0;
	return odd > probe.length / 20;
}

/** A line of an earlier text as it is repeated: the number before it is higher by `shift`, in the same width if that has room. */
export function withNumberShifted(line: string, shift: number): string {
	const number = shift === 0 ? undefined : numberOf(line, 0, line.length);
	if (!number) return line;
	const before = line.slice(0, number.end);
	const written = String(number.value + shift);
	const digits = before.trimStart();
	const padding = before.slice(0, before.length - digits.length);
	const isPadded = /^[ \t]*$/.test(padding) && !padding.includes("\t") && padding.length > 0;
	const label = digits.startsWith("L") ? "L" : "";
	const isZeroed = label === "" && digits.startsWith("0");
	const width = isPadded ? before.length : isZeroed ? digits.length : 0;
	const filled = isZeroed ? padding + written.padStart(digits.length, "0") : (label + written).padStart(width, " ");
	return filled + line.slice(number.end);
}
