/** What a variable may be, by its name: a class of characters and how many of them, such as `[a-z]{0,64}` or `\d+`. */
export type TemplateGrammar = Readonly<Record<string, string>>;

/** A part of a template: text as it stands, or a value of one variable. */
export type TemplatePart =
	| { readonly kind: "literal"; readonly text: string }
	| {
			readonly kind: "value";
			readonly variable: string;
			/** Whether the variable stands before, and so has its value already. */
			readonly isAgain: boolean;
			/** The class of characters, as the source of a regular expression. */
			readonly characters: string;
			/** How many characters; 0 or 1 at least. */
			readonly least: number;
			readonly most: number;
	  };

/** Takes a template apart. What names no variable of the grammar is text. */
export function templateParts(template: string, grammar: TemplateGrammar): readonly TemplatePart[] {
	const seen = new Set<string>();
	const pieces = template.split(/(\{\w+\})/).filter((piece) => piece !== "");
	return pieces.map((piece): TemplatePart => {
		const variable = piece.slice(1, -1);
		const isVariable = /^\{\w+\}$/.test(piece) && Object.hasOwn(grammar, variable);
		if (!isVariable) return { kind: "literal", text: piece };
		const isAgain = seen.has(variable);
		seen.add(variable);
		return { kind: "value", variable, isAgain, ...extentOf(grammar[variable] ?? "") };
	});
}

/**
 * In how many ways a text may have to be divided among the variables, at most: a value whose end shows, since what stands
 * behind it cannot be within it, is one way.
 */
export function waysToDivide(parts: readonly TemplatePart[]): number {
	return parts.reduce((ways, part, index) => {
		const next = parts[index + 1];
		// A value at the end goes as far as it can; one that stands again is known.
		if (part.kind === "literal" || part.isAgain || !next) return ways;
		if (next.kind === "value") return ways * part.most;
		const isWithin = new RegExp(`^${part.characters}*$`, "u").test(next.text);
		return isWithin ? ways * Math.ceil(part.most / periodOf(next.text)) : ways;
	}, 1);
}

function extentOf(source: string) {
	const {
		characters = source,
		least = "1",
		most,
	} = /^(?<characters>.+?)(?:\{(?<least>\d+),(?<most>\d+)\}|\+)$/u.exec(source)?.groups ?? {};
	return { characters, least: Number(least), most: most === undefined ? Number.POSITIVE_INFINITY : Number(most) };
}

/** How far apart two places of the same text are at least, where they overlap. */
function periodOf(text: string): number {
	for (let period = 1; period < text.length; period += 1) if (text.startsWith(text.slice(period))) return period;
	return text.length;
}
