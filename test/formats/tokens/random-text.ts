/** A source of numbers that is the same on every run. */
export type Draw = (below: number) => number;

export function createDraw(seed: number): Draw {
	let state = seed;
	return (below) => {
		state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
		return Math.floor((state / 2 ** 32) * below);
	};
}

/** Characters that pieces of each kind are made of. */
export const alphabets = [
	"abcdefghijklmnopqrstuvwxyz",
	"ABCDEFGHIJKLMNOPQRSTUVWXYZ",
	"abcXYZ'sStTreVEllmDſ",
	"'sStTrReEvVlLmMdDſ",
	"0123456789",
	"٠१२३४五²½Ⅷ",
	" ",
	"\n",
	"\t \u00a0\u3000\u1680\u2003\u2028\u0085",
	"\r\n",
	" \t\r\n",
	"/\r\n ",
	"!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~",
	"=",
	"_",
	"-",
	"\0\u0001\u001f\u007f\u0085",
	"漢字仮名交じり文的一是不了人我在有他",
	"，。！？「」、",
	"한국어조선말",
	"абвгдЖЗИЙ",
	"αβγδΩΨ",
	"אבגדה",
	"ابتثج",
	"ภาษาไทยั้",
	"हिन्दीभाषा",
	"ǅʰªº",
	"\u0301\u0300\u20dd\u0903",
	"eé\u0301E",
	"😀😃🎉👩‍💻🇩🇪🏽",
	"𝐀𝐛𠀀𠀁",
	"\ufffd\ufeff\u200b\u200d",
	"\ud800\udc00\udbff\udfff",
	"AB漢ab\u0301Aʰ",
].map((alphabet) => alphabet.split(/(?:)/u));

const phrases = [
	"<|endoftext|>",
	"<|im_start|>",
	"<|fim_prefix|>",
	"'ll",
	"'VE",
	"'ſ",
	" don't",
	" the",
	"The quick brown fox",
	"    ",
	"\n\n",
	"\r\n\r\n",
	"function(",
	"</div>\n",
	"https://example.com/a/b?c=d",
];

/** A text of up to twelve parts: runs of one kind, single code points from all of Unicode, and phrases. */
export function randomText(draw: Draw): string {
	return Array.from({ length: 1 + draw(12) }, () => randomPart(draw)).join("");
}

function randomPart(draw: Draw): string {
	const kind = draw(10);
	if (kind === 0) return pick(phrases, draw);
	if (kind === 1) return Array.from({ length: 1 + draw(6) }, () => randomCodePoint(draw)).join("");
	const alphabet = pick(alphabets, draw);
	const length = 1 + draw(kind === 2 ? 200 : kind < 5 ? 20 : 4);
	if (draw(4) === 0) return pick(alphabet, draw).repeat(length);
	return Array.from({ length }, () => pick(alphabet, draw)).join("");
}

function randomCodePoint(draw: Draw): string {
	return String.fromCodePoint(draw(pick([0x3000, 0x10000, 0x20000, 0x110000], draw)));
}

export function pick<Value>(values: readonly Value[], draw: Draw): Value {
	return values[draw(values.length)] as Value;
}
