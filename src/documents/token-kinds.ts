/** The scanner's token kinds; the package declares them as a `const enum`, which modules compiled one by one cannot use. */
export const tokenKinds = {
	openBrace: 1,
	closeBrace: 2,
	openBracket: 3,
	closeBracket: 4,
	comma: 5,
	colon: 6,
	nullWord: 7,
	trueWord: 8,
	falseWord: 9,
	string: 10,
	number: 11,
	lineBreak: 14,
	blank: 15,
	unknown: 16,
	end: 17,
} as const;
