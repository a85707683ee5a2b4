import { PalimpsestError } from "../../errors.ts";
import { type Part, type PartRequest, parsePart } from "./part.ts";
import { scanLines, type TextSize } from "./scan-lines.ts";
import type { SelectedPart } from "./selected-part.ts";
import { takeMatches } from "./take-matches.ts";
import { type Taker, takeRange } from "./take-range.ts";
import { takeTail } from "./take-tail.ts";
import type { CountTokens } from "./token-budget.ts";

/** How long a search may take, in ms, before it answers with what it has. */
const searchTimeMs = 10_000;

/** What to select by. */
export interface SelectOptions {
	readonly countTokens: CountTokens;
	/** A clock that does not go back, in ms. */
	readonly elapsed?: (() => number) | undefined;
}

/**
 * Prepares to select a part of a text that comes in pieces. The text is read to its end, so that the answer can tell
 * what it left out, and never held whole.
 *
 * @throws PalimpsestError `invalid_argument` for a request that cannot be met; while selecting, for a range that begins
 * after the end of the text.
 */
export function selectPart(
	request: PartRequest,
	options: SelectOptions,
): (pieces: AsyncIterable<string>) => Promise<SelectedPart> {
	const { countTokens, elapsed = () => performance.now() } = options;
	const { part, maxTokens } = parsePart(request);
	return async (pieces) => {
		const until = elapsed() + searchTimeMs;
		const taker = takerFor(part, { maxTokens, countTokens, isOver: () => elapsed() > until });
		const total = await scanLines(pieces, taker.visit);
		requireWithin(part, total);
		const selection = taker.finish(total);
		return { ...selection, tokens: countTokens(selection.text), total };
	};
}

function takerFor(
	part: Part,
	options: { readonly maxTokens: number; readonly countTokens: CountTokens; readonly isOver: () => boolean },
): Taker {
	const { maxTokens, countTokens } = options;
	switch (part.kind) {
		case "lines":
		case "chars":
			return takeRange(part, maxTokens, countTokens);
		case "tail":
			return takeTail(part.count, maxTokens, countTokens);
		case "grep":
			return takeMatches(part, options);
	}
}

function requireWithin(part: Part, total: TextSize): void {
	if (part.kind === "tail") return;
	const range = part.kind === "grep" ? part.within : part;
	const [name, first, size, unit] =
		range.kind === "chars"
			? ["chars", range.start + 1, total.chars, "characters"]
			: ["lines", range.first, total.lines, "lines"];
	if (first === 1 || Number(first) <= Number(size)) return;
	throw new PalimpsestError(
		"invalid_argument",
		`Expected \`${name}\` to begin within the original: it has ${size} ${unit}.`,
	);
}
