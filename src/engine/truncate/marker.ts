import { countGrammar, refGrammar, refIn } from "../../masking/placeholder.ts";
import { templateFinder } from "../../masking/template.ts";

/** What the variables of a marker may be. */
export const markerGrammar = { omitted_chars: countGrammar, original_chars: countGrammar, ref: refGrammar };

/** A marker found in a text: what stands before and behind it is head and tail of the text that was cut. */
export interface FoundMarker {
	readonly head: string;
	readonly tail: string;
	/** Where the whole text is archived; `undefined` where the marker does not say. */
	readonly ref: string | undefined;
}

/** Finds the markers of any of the templates in a text, in order. */
export function markerFinder(templates: readonly string[]): (text: string) => FoundMarker[] {
	const finders = templates.map((template) => {
		return { finder: templateFinder(template, markerGrammar), literal: longestLiteral(template) };
	});
	return (text) =>
		finders
			// Most texts hold no marker, which its longest literal part tells at once.
			.filter(({ literal }) => text.includes(literal))
			.flatMap(({ finder }) =>
				Array.from(text.matchAll(finder), (found) => ({
					head: text.slice(0, found.index),
					tail: text.slice(found.index + found[0].length),
					ref: refIn(found.groups?.ref),
				})),
			);
}

/** The longest part of a template that stands in every text made of it. */
export function longestLiteral(template: string): string {
	return template.split(/\{\w+\}/).reduce((longest, part) => (part.length > longest.length ? part : longest));
}
