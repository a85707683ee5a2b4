/** Escape sequences of terminals (ECMA-48): colours, cursor movements, titles. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for.
const escapeSequence = /\u001b(?:\[[0-?]*[ -/]*[@-~]|\][^\u0007\u001b]{0,500}(?:\u0007|\u001b\\)|[@-Z\\-_])/g;
/** Control characters but for tab and line feed, and the invisible ones that turn the direction of text. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for.
const controlCharacter = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069\u{e0000}-\u{e007f}]/gu;

/**
 * Makes a text well-formed and free of control characters: lone surrogates become U+FFFD (an API refuses them), line
 * ends become line feeds; escape sequences, marks that turn the text's direction and invisible tags go.
 */
export function cleanText(text: string): string {
	return text.toWellFormed().replace(/\r\n?/g, "\n").replace(escapeSequence, "").replace(controlCharacter, "");
}
