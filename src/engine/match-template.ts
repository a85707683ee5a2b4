import type { TemplatePart } from "./template-parts.ts";

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
