import { refGrammar } from "../placeholder.ts";
import { templateFinder } from "../template-pattern.ts";

const count = "\\d+";
const grammar = { omitted_lines: count, total_lines: count, omitted_chars: count, total_chars: count, ref: refGrammar };

/** A notice found in a shortened text. */
export interface FoundNotice {
	/** Where the whole text is archived. */
	readonly ref: string;
	/** Characters of the whole, escape sequences of terminals aside. */
	readonly totalChars: number;
}

/** Finds the notices of any of the templates, which name a reference, in a text. */
export function noticeFinder(templates: readonly string[]): (text: string) => FoundNotice[] {
	const finders = templates.map((template) => {
		const opening = template.split(/\{\w+\}/, 1)[0] ?? "";
		return { finder: templateFinder(template, grammar), opening };
	});
	return (text) =>
		finders
			// Most texts hold no notice, which its opening tells at once.
			.filter(({ opening }) => text.includes(opening))
			.flatMap(({ finder }) =>
				Array.from(text.matchAll(finder), ({ groups }) => ({
					ref: groups?.ref ?? "",
					totalChars: Number(groups?.total_chars),
				})),
			);
}
