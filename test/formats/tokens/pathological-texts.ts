import { createDraw, pick } from "./random-text.ts";

const lowercase = "abcdefghijklmnopqrstuvwxyz";
const uppercase = lowercase.toUpperCase();

/** Kinds of text that make one piece of any length, or that a pattern steps back on; of `length` UTF-16 code units. */
export const pathologicalTexts: readonly (readonly [string, (length: number) => string])[] = [
	["one small letter", repeated("a")],
	["one capital", repeated("A")],
	["spaces", repeated(" ")],
	["line feeds", repeated("\n")],
	["tabs", repeated("\t")],
	["carriage returns and line feeds", repeated("\r\n")],
	["equals signs", repeated("=")],
	["apostrophes", repeated("'")],
	["contractions", repeated("'s")],
	["slashes and line feeds", repeated("/\n")],
	["emoji", repeated("😀")],
	["one ideograph", repeated("漢")],
	["one syllable of Hangul", repeated("한")],
	["NUL", repeated("\0")],
	["combining marks", repeated("\u0301")],
	["lone surrogates", repeated("\ud800")],
	["small letters and capitals in turn", repeated("aA")],
	["ideographs and capitals in turn", repeated("漢A")],
	["special tokens", repeated("<|endoftext|>")],
	["random small letters", drawn(lowercase)],
	["random capitals", drawn(uppercase)],
	["random letters of both cases", drawn(lowercase + uppercase)],
	["random letters, marks and ideographs", drawn("漢ABʰ\u0301")],
	["random digits", drawn("0123456789")],
	["base64", drawn(`${lowercase}${uppercase}0123456789+/`)],
	["random punctuation", drawn("!#$%&()*,-./:;<=>?@[]^_{|}~")],
	["random white space", drawn(" \t\n\r\u00a0\u3000")],
	["random spaces and tabs", drawn(" \t")],
	["random ideographs", drawn("漢字仮名交の一是不了人我在有他")],
	["random Hangul", drawn("한국어조선말가나다라")],
	["random Thai", drawn("ภาษาไทยั้")],
];

function repeated(unit: string): (length: number) => string {
	return (length) => unit.repeat(Math.ceil(length / unit.length));
}

function drawn(alphabet: string): (length: number) => string {
	const characters = [...alphabet];
	return (length) => {
		const draw = createDraw(length);
		return Array.from({ length }, () => pick(characters, draw)).join("");
	};
}
