import { withoutControls, withoutCredentials } from "../errors.ts";

/** How commander prints errors: in our form, and without what a terminal acts on, since it quotes options and values unchanged. */
export const errorOutput = {
	writeErr: (text: string) => void process.stderr.write(withoutCredentials(withoutControls(text))),
	outputError: (text: string, write: (text: string) => void) => write(plainUsageError(text)),
};

/** What was expected, and what came; the line below names the help. A text that is not known stays. */
function plainUsageError(text: string): string {
	for (const [pattern, plain] of forms) {
		const found = pattern.exec(text);
		if (found) return `error: ${plain(...found.slice(1).map((part = "") => part.trim()))}\n`;
	}
	return text;
}

/** As commander 14 writes them. */
const forms: readonly (readonly [RegExp, (...parts: string[]) => string])[] = [
	[/^error: missing required argument '(.*)'\n$/s, (name) => `expected ${name}; got none`],
	[/^error: option '(.*)' argument missing\n$/s, (option) => `expected a value for ${option}; got none`],
	[/^error: required option '(.*)' not specified\n$/s, (option) => `expected ${option}; got none`],
	[
		/^error: unknown option '(.*?)'(\n\(Did you mean .*\?\))?\n$/s,
		(option, hint) => `expected an option of this command; got ${option}${hint && `. ${hint.slice(1, -1)}`}`,
	],
	[
		/^error: too many arguments(?: for '.*')?\. Expected (\d+) arguments? but got (\d+).*\n$/s,
		(most, got) =>
			`expected ${most === "0" ? "no argument" : most === "1" ? "1 argument" : `${most} arguments`}; got ${got}`,
	],
	[
		/^error: option '(.*)' cannot be used with option '(.*)'\n$/s,
		(one, other) => `expected ${one} or ${other}; got both`,
	],
	[/^error: option '(.*?)' argument '(.*)' is invalid\. ?(.*)\n$/s, (option, got, why) => refused(option, got, why)],
	[
		/^error: command-argument value '(.*)' is invalid for argument '(.*?)'\. ?(.*)\n$/s,
		(got, name, why) => refused(name, got, why),
	],
];

function refused(name: string, got: string, why: string): string {
	const choices = /^Allowed choices are (.*)\.$/s.exec(why)?.[1];
	const expected = choices === undefined ? why.replace(/^Expected |\.$/g, "") : `one of ${choices}`;
	return `expected ${expected} for ${name}; got '${got}'`;
}
