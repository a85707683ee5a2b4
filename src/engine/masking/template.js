/** Fills the variables of a template once: a `{variable}` in a value is not filled. A variable without a value stays. */
export function fillTemplate(template, values) {
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
/** With more ways to divide a text, no regular expression is used: a caller may choose template and text. */
const mostWays = 1_000;
/** The same for finding, which starts at each character of a text. */
const mostWaysWithin = 100;
/** For exactly the texts that a template can give; fast for any template and text. A repeated variable may differ. */
export function templatePattern(template, grammar) {
	const parts = templateParts(template, grammar);
	if (waysToDivide(parts) <= mostWays) return new RegExp(`^${sourceOf(parts)}$`, "u");
	const exec = (text) => {
		const groups = matchTemplate(parts, text);
		return groups ? { groups } : null;
	};
	return { exec, test: (text) => exec(text) !== null };
}
/** A pattern that finds such texts inside others; none of a template whose variables run into each other. */
export function templateFinder(template, grammar) {
	const parts = templateParts(template, grammar);
	return waysToDivide(parts) <= mostWaysWithin ? new RegExp(sourceOf(parts), "gu") : /(?!)/gu;
}
function sourceOf(parts) {
	const source = parts.map((part) => {
		if (part.kind === "literal") return part.text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
		if (part.isAgain) return `\\k<${part.variable}>`;
		const count = part.most === Number.POSITIVE_INFINITY ? "+" : `{${part.least},${part.most}}`;
		return `(?<${part.variable}>${part.characters}${count})`;
	});
	return source.join("");
}
/** Earlier values as long as possible, as in a regular expression, but in time proportional to text and parts. */
function matchTemplate(parts, text) {
	// For each part the places from which it and all later parts give the rest of the text.
	let behind = new Uint8Array(text.length + 1).fill(1, text.length);
	const steps = parts.toReversed().map((part) => {
		const members = part.kind === "value" ? membersIn(text, part.characters) : behind;
		const step = { part, members, behind };
		behind = part.kind === "literal" ? beforeText(text, part.text, behind) : beforeValue(part, members, behind);
		return step;
	});
	if (behind[0] !== 1) return undefined;
	const values = {};
	let at = 0;
	for (const { part, ...step } of steps.reverse()) {
		const end = part.kind === "literal" ? at + part.text.length : longestEnd(part, { at, ...step });
		if (part.kind === "value" && !part.isAgain) values[part.variable] = text.slice(at, end);
		at = end;
	}
	return values;
}
/** For each place, the UTF-16 code units of the character there if it is in the class; otherwise 0. */
function membersIn(text, characters) {
	const found = new Uint8Array(text.length + 1);
	for (const { index, 0: character } of text.matchAll(new RegExp(characters, "gu"))) found[index] = character.length;
	return found;
}
function beforeText(text, literal, behind) {
	const places = new Uint8Array(text.length + 1);
	for (let at = text.indexOf(literal); at !== -1; at = text.indexOf(literal, at + 1)) {
		places[at] = behind[at + literal.length] ?? 0;
	}
	return places;
}
function beforeValue({ least, most }, members, behind) {
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
function longestEnd({ least, most }, { at, members, behind }) {
	let end = at;
	let place = at;
	for (let count = 0; ; count += 1) {
		if (count >= least && behind[place] === 1) end = place;
		const units = members[place] ?? 0;
		if (units === 0 || count >= most) return end;
		place += units;
	}
}
export function templateParts(template, grammar) {
	const seen = new Set();
	const pieces = template.split(/(\{\w+\})/).filter((piece) => piece !== "");
	return pieces.map((piece) => {
		const variable = piece.slice(1, -1);
		const isVariable = /^\{\w+\}$/.test(piece) && Object.hasOwn(grammar, variable);
		if (!isVariable) return { kind: "literal", text: piece };
		const isAgain = seen.has(variable);
		seen.add(variable);
		return { kind: "value", variable, isAgain, ...extentOf(grammar[variable] ?? "") };
	});
}
/** The most ways to divide a text among the variables. A value followed by text that cannot be part of it has one way. */
export function waysToDivide(parts) {
	return parts.reduce((ways, part, index) => {
		const next = parts[index + 1];
		// A value at the end goes as far as it can; a repeated one is known.
		if (part.kind === "literal" || part.isAgain || !next) return ways;
		if (next.kind === "value") return ways * part.most;
		const isWithin = new RegExp(`^${part.characters}*$`, "u").test(next.text);
		return isWithin ? ways * Math.ceil(part.most / periodOf(next.text)) : ways;
	}, 1);
}
function extentOf(source) {
	const {
		characters = source,
		least = "1",
		most,
	} = /^(?<characters>.+?)(?:\{(?<least>\d+),(?<most>\d+)\}|\+)$/u.exec(source)?.groups ?? {};
	return { characters, least: Number(least), most: most === undefined ? Number.POSITIVE_INFINITY : Number(most) };
}
/** The least distance between two overlapping places of the same text. */
function periodOf(text) {
	for (let period = 1; period < text.length; period += 1) if (text.startsWith(text.slice(period))) return period;
	return text.length;
}
