/** Fills the variables of a template once: a `{variable}` in a value is not filled. A variable without a value stays. */
export function fillTemplate(template: string, values: Readonly<Record<string, string | number>>): string {
	let filled = "";
	let from = 0;
	for (let open = template.indexOf("{"); open !== -1; open = template.indexOf("{", open + 1)) {
		const close = template.indexOf("}", open);
		const name = template.slice(open + 1, close);
		if (close === -1 || !Object.hasOwn(values, name)) continue;
		filled += template.slice(from, open) + values[name];
		from = close + 1;
	}
	return filled + template.slice(from);
}

interface TemplatePattern {
	test(text: string): boolean;
	exec(text: string): { readonly groups?: Readonly<Record<string, string | undefined>> | undefined } | null;
}

/** With more ways to divide a text, no regular expression is used: a caller may choose template and text. */
const mostWays = 1_000;

/** The same for finding, which starts at each character of a text. */
const mostWaysWithin = 100;

/** For exactly the texts that a template can give; fast for any template and text. A repeated variable may differ. */
export function templatePattern(template: string, grammar: TemplateGrammar): TemplatePattern {
	const parts = templateParts(template, grammar);
	if (waysToDivide(parts) <= mostWays) return new RegExp(`^${sourceOf(parts)}$`, "u");
	const exec = (text: string) => {
		const groups = matchTemplate(parts, text);
		return groups ? { groups } : null;
	};
	return { exec, test: (text) => exec(text) !== null };
}

/** A pattern that finds such texts inside others; none of a template whose variables run into each other. */
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

/** Earlier values as long as possible, as in a regular expression, but in time proportional to text and parts. */
function matchTemplate(parts: readonly TemplatePart[], text: string): Record<string, string> | undefined {
	// For each part the places from which it and all later parts give the rest of the text.
	let behind: Uint8Array = new Uint8Array(text.length + 1).fill(1, text.length);
	const steps = parts.toReversed().map((part) => {
		const members = part.kind === "value" ? membersIn(text, part.characters) : behind;
		const step = { part, members, behind };
		behind = part.kind === "literal" ? beforeText(text, part.text, behind) : beforeValue(part, members, behind);
		return step;
	});
	if (behind[0] !== 1) return undefined;
	const values: Record<string, string> = {};
	let at = 0;
	for (const { part, ...step } of steps.reverse()) {
		const end = part.kind === "literal" ? at + part.text.length : longestEnd(part, { at, ...step });
		if (part.kind === "value" && !part.isAgain) values[part.variable] = text.slice(at, end);
		at = end;
	}
	return values;
}

/** For each place, the UTF-16 code units of the character there if it is in the class; otherwise 0. */
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

/** A class of characters and their number for each variable, such as `[a-z]{0,64}` or `\d+`. */
type TemplateGrammar = Readonly<Record<string, string>>;

type TemplatePart =
	| { readonly kind: "literal"; readonly text: string }
	| {
			readonly kind: "value";
			readonly variable: string;
			readonly isAgain: boolean;
			readonly characters: string;
			readonly least: number;
			readonly most: number;
	  };

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

/** The most ways to divide a text among the variables. A value followed by text that cannot be part of it has one way. */
export function waysToDivide(parts: readonly TemplatePart[]): number {
	return parts.reduce((ways, part, index) => {
		const next = parts[index + 1];
		// A value at the end goes as far as it can; a repeated one is known.
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

/** The least distance between two overlapping places of the same text. */
function periodOf(text: string): number {
	for (let period = 1; period < text.length; period += 1) if (text.startsWith(text.slice(period))) return period;
	return text.length;
}
