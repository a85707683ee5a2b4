/** Characters (UTF-16 code units) by which it is told at a glance that a text does not hold another. */
const glance = 6;

/**
 * Tells which texts another one holds, for very many of them: most that it does not hold are told by a look at their
 * pieces, without a search of the text.
 */
export function createSubstringFinder(text: string): (part: string) => boolean {
	/** By length: all pieces of that length. */
	const pieces = new Map<number, ReadonlySet<string>>();
	const piecesOf = (length: number): ReadonlySet<string> => {
		const known = pieces.get(length);
		if (known) return known;
		const found = new Set<string>();
		for (let end = length; end <= text.length; end += 1) found.add(text.slice(end - length, end));
		pieces.set(length, found);
		return found;
	};
	return (part) => {
		const length = Math.min(glance, part.length);
		const known = piecesOf(length);
		// From the end, since many names begin alike.
		for (let end = part.length; end >= length; end -= 1) if (!known.has(part.slice(end - length, end))) return false;
		return part.length <= glance || text.includes(part);
	};
}
