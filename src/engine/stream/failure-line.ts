import { failureSign } from "../truncate/failure-lines.ts";

const words =
	/\b(?:errors?|err!|fail(?:ed|ure|ures|s|ing)?|fatal|panic(?:ked)?|exceptions?|traceback|critical|abort(?:ed|ing)?|unhandled|uncaught|timed out)\b|\w(?:Error|Exception)\b/i;
// Colours stand between the words and what tells that they are words.
// biome-ignore lint/suspicious/noControlCharactersInRegex: an escape character begins a colour
const colours = /\u001b\[[0-9;]*m/g;

/**
 * Whether a line may tell that something failed: by its form, as in a text that is held, or by its words. Of a stream that
 * has passed nothing can be fetched again, so that a line too many is better than one too few.
 */
export function tellsOfFailure(line: string): boolean {
	const plain = line.replace(colours, "");
	const sign = failureSign(plain);
	return sign === "sure" || (sign === "likely" && words.test(plain));
}
