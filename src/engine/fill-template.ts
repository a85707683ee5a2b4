/** Fills the variables of a template, once: what a value brings is not filled. A variable without a value stays. */
export function fillTemplate(template: string, values: Readonly<Record<string, string | number>>): string {
	const pieces = piecesOf(template);
	let filled = pieces[0] as string;
	for (let index = 1; index < pieces.length; index += 2) {
		const name = pieces[index] as string;
		filled += Object.hasOwn(values, name) ? values[name] : `{${name}}`;
		filled += pieces[index + 1];
	}
	return filled;
}

// A template is filled for each of many results, and taking it apart takes longer than filling it.
const taken = new Map<string, readonly string[]>();
const mostTaken = 64;

/** A template taken apart: text and names of variables in turns, text first and last. */
function piecesOf(template: string): readonly string[] {
	const known = taken.get(template);
	if (known) return known;
	const pieces = template.split(/\{(\w+)\}/);
	if (taken.size >= mostTaken) taken.clear();
	taken.set(template, pieces);
	return pieces;
}
