import { matchTemplate } from "./match-template.ts";
import { type TemplateGrammar, type TemplatePart, templateParts, waysToDivide } from "./template-parts.ts";

/** Tells the texts that a template can give; a regular expression is one. */
export interface TemplatePattern {
	test(text: string): boolean;
	exec(text: string): { readonly groups?: Readonly<Record<string, string | undefined>> | undefined } | null;
}

/** From so many ways on to divide a text, a regular expression is not trusted with one: a caller may choose both. */
const mostWays = 1_000;
/** The same where it begins anew at each character of a text of any length. */
const mostWaysWithin = 100;

/**
 * A pattern for exactly the texts that filling a template can give. `grammar` tells what each variable may be; a
 * variable that stands again must have the same value again. Matching is fast for any template and any text: where
 * variables run into each other, so that a text can be divided among them in many ways, that is asked of no regular
 * expression, and what stands again may differ.
 */
export function templatePattern(template: string, grammar: TemplateGrammar): TemplatePattern {
	const parts = templateParts(template, grammar);
	if (waysToDivide(parts) <= mostWays) return new RegExp(`^${sourceOf(parts)}$`, "u");
	const exec = (text: string) => {
		const groups = matchTemplate(parts, text);
		return groups ? { groups } : null;
	};
	return { exec, test: (text) => exec(text) !== null };
}

/**
 * A pattern that finds such texts inside others, one after the other. It finds none of a template whose variables run
 * into each other: nobody could tell them apart.
 */
export function templateFinder(template: string, grammar: TemplateGrammar): RegExp {
	const parts = templateParts(template, grammar);
	return waysToDivide(parts) <= mostWaysWithin ? new RegExp(sourceOf(parts), "gu") : /(?!)/gu;
}

function sourceOf(parts: readonly TemplatePart[]): string {
	const source = parts.map((part) => {
		if (part.kind === "literal") return part.text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
		if (part.isAgain) return `\\k<${part.variable}>`;
		const count = part.most === Number.POSITIVE_INFINITY ? "+" : `{${part.least},${part.most}}`;
		return `(?<${part.variable}>${part.characters}${count})`;
	});
	return source.join("");
}
