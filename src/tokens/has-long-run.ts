const letter = 1;
const other = 2;
const space = 4;
const lineEnd = 8;

// Past ASCII any code unit may continue a run of letters, of symbols or of white space: that flags a text too often, at
// the price of the slower way of counting it, but never too seldom.
const unknown = letter | other | space;

const classes = new Uint8Array(128);
for (let code = 0; code < 128; code++) classes[code] = classesOf(String.fromCharCode(code));

function classesOf(character: string): number {
	if (/[0-9]/.test(character)) return 0;
	if (/[a-z]/i.test(character)) return letter;
	const runs = /\s/.test(character) ? space : other;
	return /[\r\n/]/.test(character) ? runs | lineEnd : runs;
}

/**
 * Whether the text may hold a run of at least `length` code units that its encoding could take as one piece: letters,
 * symbols, white space, or the mix of slashes and line ends that may close a run of symbols. Linear, and without a
 * regular expression: at text of ordinary words those try every start again.
 */
export function hasLongRun(text: string, length: number): boolean {
	let letters = 0;
	let others = 0;
	let spaces = 0;
	let lineEnds = 0;
	for (let index = 0; index < text.length; index++) {
		const kind = classes[text.charCodeAt(index)] ?? unknown;
		letters = (kind & letter) === 0 ? 0 : letters + 1;
		others = (kind & other) === 0 ? 0 : others + 1;
		spaces = (kind & space) === 0 ? 0 : spaces + 1;
		lineEnds = (kind & lineEnd) === 0 ? 0 : lineEnds + 1;
		if (letters >= length || others >= length || spaces >= length || lineEnds >= length) return true;
	}
	return false;
}
