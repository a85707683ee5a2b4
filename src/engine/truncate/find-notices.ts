import { refGrammar, refIn } from "../../masking/placeholder.ts";
import { templateFinder } from "../../masking/template.ts";

const count = "\\d+";
const grammar = { omitted_lines: count, total_lines: count, omitted_chars: count, total_chars: count, ref: refGrammar };

/** A notice found in a shortened text. */
export interface FoundNotice {
	/** Where the whole text is archived; `undefined` where the notice does not say. */
	readonly ref: string | undefined;
	/** Characters of the whole, escape sequences of terminals aside; `undefined` where the notice does not say. */
	readonly totalChars: number | undefined;
	/** Whether it stands where a strategy writes it: at the top of the text, or first in its JSON. */
	readonly isAtTop: boolean;
}

const longestBeforeTop = 100;
/** What stands before a notice at the top of a text: nothing, or the opening of JSON. */
const beforeTop = /^(?:\[?\s*\{\s*"_+truncated"\s*:\s*")?$/;

/** Finds the notices of any of the templates in a text. */
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
				Array.from(text.matchAll(finder), ({ groups, index }) => ({
					ref: refIn(groups?.ref),
					totalChars: groups?.total_chars === undefined ? undefined : Number(groups.total_chars),
					isAtTop: index < longestBeforeTop && beforeTop.test(text.slice(0, index)),
				})),
			);
}
