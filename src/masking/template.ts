/** Fills the variables of a template, once: what a value brings is not filled. A variable without a value stays. */
export function fillTemplate(template: string, values: Readonly<Record<string, string | number>>): string {
	// Text and names of variables in turns, text first and last.
	const pieces = template.split(/\{(\w+)\}/);
	let filled = pieces[0] as string;
	for (let index = 1; index < pieces.length; index += 2) {
		const name = pieces[index] as string;
		filled += Object.hasOwn(values, name) ? values[name] : `{${name}}`;
		filled += pieces[index + 1];
	}
	return filled;
}

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

type Value = Extract<TemplatePart, { kind: "value" }>;

/**
 * The values with which a template gives exactly this text, those at the beginning as long as they can be; `undefined`
 * where there are none. As a regular expression would find them, but in time proportional to the text and to the number of
 * parts, however many ways there are to divide it; and a variable that stands again may have another value then.
 */
export function matchTemplate(
	parts: readonly TemplatePart[],
	text: string,
): Readonly<Record<string, string>> | undefined {
	const members = new Map<string, Uint8Array>();
	const membersOf = ({ characters }: Value): Uint8Array => {
		const known = members.get(characters) ?? membersIn(text, characters);
		members.set(characters, known);
		return known;
	};
	// For each part the places from which it and all parts behind it give the rest of the text.
	const places: Uint8Array[] = [new Uint8Array(text.length + 1).fill(1, text.length)];
	for (const part of parts.toReversed()) {
		const behind = places[0] ?? new Uint8Array();
		places.unshift(
			part.kind === "literal" ? beforeText(text, part.text, behind) : beforeValue(part, membersOf(part), behind),
		);
	}
	if (places[0]?.[0] !== 1) return undefined;

	const values: Record<string, string> = {};
	let at = 0;
	for (const [index, part] of parts.entries()) {
		if (part.kind === "literal") {
			at += part.text.length;
			continue;
		}
		const end = longestEnd(part, { at, members: membersOf(part), behind: places[index + 1] ?? new Uint8Array() });
		if (!part.isAgain) values[part.variable] = text.slice(at, end);
		at = end;
	}
	return values;
}

/** For each place the UTF-16 code units of the character that begins there, where it is in the class; else 0. */
function membersIn(text: string, characters: string): Uint8Array {
	const found = new Uint8Array(text.length + 1);
	for (const { index, 0: character } of text.matchAll(new RegExp(characters, "gu"))) found[index] = character.length;
	return found;
}

function beforeText(text: string, literal: string, behind: Uint8Array): Uint8Array {
	const places = new Uint8Array(text.length + 1);
	for (let at = text.indexOf(literal); at !== -1; at = text.indexOf(literal, at + 1)) {
		places[at] = behind[at + literal.length] ?? 0;
	}
	return places;
}

function beforeValue({ least, most }: Value, members: Uint8Array, behind: Uint8Array): Uint8Array {
	const places = new Uint8Array(behind.length);
	// For each place how many characters the nearest end is away: if any is near enough, that one is.
	const away = new Float64Array(behind.length + 1).fill(Number.POSITIVE_INFINITY);
	for (let at = behind.length - 1; at >= 0; at -= 1) {
		const units = members[at] ?? 0;
		const onward = units === 0 ? Number.POSITIVE_INFINITY : (away[at + units] ?? 0) + 1;
		const isEnd = behind[at] === 1;
		places[at] = Number((isEnd && least === 0) || (onward <= most && onward < Number.POSITIVE_INFINITY));
		away[at] = isEnd ? 0 : onward;
	}
	return places;
}

function longestEnd(
	{ least, most }: Value,
	{ at, members, behind }: { readonly at: number; readonly members: Uint8Array; readonly behind: Uint8Array },
): number {
	let end = at;
	let place = at;
	for (let count = 0; ; count += 1) {
		if (count >= least && behind[place] === 1) end = place;
		const units = members[place] ?? 0;
		if (units === 0 || count >= most) return end;
		place += units;
	}
}

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
