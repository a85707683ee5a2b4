/** A text with escapes undone, and where its characters stood before. */
export interface View {
	readonly text: string;
	/** Where the character at an index stood in the first text. */
	readonly before: (index: number) => number;
}

// Of a result that is JSON itself: in its message, and that in the JSON of its places.
const mostLevels = 4;
const escapes = /\\(?:u[0-9a-fA-F]{4}|["\\/bfnrt])/g;
const controls: Readonly<Record<string, string>> = { b: "\b", f: "\f", n: "\n", r: "\r", t: "\t" };

/** A text as it stands, and then as often as it still holds some, with the escapes of JSON strings undone (RFC 8259, 7). */
export function* unescapedViews(text: string): Generator<View> {
	let view: View | undefined = { text, before: (index) => index };
	for (let level = 0; view && level <= mostLevels; level += 1) {
		yield view;
		view = unescaped(view);
	}
}

function unescaped({ text, before }: View): View | undefined {
	const parts: string[] = [];
	// From which index of the new text on the old one is ahead, and by how much in all.
	const [from, ahead]: [number[], number[]] = [[], []];
	let [end, shift] = [0, 0];
	for (const { 0: found, index } of text.matchAll(escapes)) {
		parts.push(text.slice(end, index), meant(found.slice(1)));
		end = index + found.length;
		shift += found.length - 1;
		from.push(end - shift);
		ahead.push(shift);
	}
	if (parts.length === 0) return undefined;
	parts.push(text.slice(end));
	return {
		text: parts.join(""),
		before: (index) => before(index + (ahead[countUpTo(from, index) - 1] ?? 0)),
	};
}

function meant(escaped: string): string {
	if (escaped.length > 1) return String.fromCharCode(Number.parseInt(escaped.slice(1), 16));
	return controls[escaped] ?? escaped;
}

/** How many of the rising numbers are at most the given one. */
function countUpTo(rising: readonly number[], most: number): number {
	let [low, high] = [0, rising.length];
	while (low < high) {
		const middle = (low + high) >>> 1;
		if ((rising[middle] as number) <= most) low = middle + 1;
		else high = middle;
	}
	return low;
}
