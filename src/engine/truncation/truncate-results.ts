import { type CountTokens, sizeOf, sizeOfResult } from "../conversation/measure.ts";
import type { ReplaceEdit, Size } from "../conversation/plan.ts";
import type { Archiving } from "../conversation/report.ts";
import { createTextMemory } from "../conversation/text-memory.ts";
import { inFrame, resultCharacters, resultText, type Transcript } from "../conversation/transcript.ts";
import { type PairedResult, pairResults } from "../conversation/turns.ts";
import { editsOf, markUnsent, takeOut, withRepeats } from "../masking/mask-result.ts";
import type { TruncateOutputParameters } from "./draft.ts";
import { callFocusReader } from "./focus.ts";
import { type HeadTailLimits, truncateHeadTail } from "./head-tail.ts";
import { truncateOutput } from "./truncate.ts";

export type ByStrategy = Pick<
	TruncateOutputParameters,
	"strategy" | "wording" | "headShare" | "keepAnsi" | "stripAnsi" | "htmlToText"
>;

export interface TruncateParameters {
	readonly transcript: Transcript;
	readonly limits: HeadTailLimits;
	/** Shortens to `limits.maxChars` by a strategy; without it head and tail stay. */
	readonly byStrategy?: ByStrategy | undefined;
	readonly countTokens: CountTokens;
	/** Recognises placeholders, which are not cut so that they keep their reference. */
	readonly isPlaceholder?: ((text: string) => boolean) | undefined;
	/** Given if originals are archived, so that markers contain the reference. */
	readonly archiving?: Archiving | undefined;
	/** Cuts made elsewhere, of texts of more than `from` characters. One that is not there yet stays whole. */
	readonly elsewhere?: CutsElsewhere | undefined;
}

export interface CutsElsewhere {
	readonly from: number;
	readonly find: (cut: TruncateOutputParameters) => string | undefined;
}

/**
 * Plans the truncation of every tool result over the limit (docs/strategies.md#truncation). Texts in a list
 * are cut one by one, so that images between them stay; a list of only texts that is still over the limit is cut as one
 * text. The edits of a result depend on nothing after it.
 */
export function planTruncate(parameters: TruncateParameters): readonly ReplaceEdit[] {
	return truncateEach(parameters).flat();
}

/** The edits of `planTruncate` by result, in the order of `pairResults`. */
export function truncateEach(parameters: TruncateParameters): readonly (readonly ReplaceEdit[])[] {
	const edits = pairResults(parameters.transcript).map(resultTruncater(parameters));
	// A conversation larger than the memory is not kept alive.
	if (cuts.isFull()) cuts = createTextMemory();
	return edits;
}

/** Returns the function that plans the truncation of one result of a transcript. */
export function resultTruncater(parameters: TruncateParameters): (one: PairedResult) => readonly ReplaceEdit[] {
	const { transcript, limits, byStrategy } = parameters;
	const focusOf = byStrategy ? callFocusReader(transcript.messages) : undefined;
	const settings = byStrategy && settingsKey(limits, byStrategy);
	return (one) => {
		if (resultCharacters(one.result) <= limits.maxChars) return [];
		return markUnsent(transcript, truncateResult(one, { ...parameters, focus: focusOf?.(one), settings }));
	};
}

type ResultParameters = TruncateParameters & {
	readonly focus: string | undefined;
	readonly settings: string | undefined;
};

function truncateResult(paired: PairedResult, parameters: ResultParameters): ReplaceEdit[] {
	const { countTokens, archiving, isPlaceholder = () => false } = parameters;
	const { result } = paired;
	const editOf = editsOf(paired, "truncate");
	const edits: ReplaceEdit[] = [];
	let left = resultCharacters(result);
	for (const node of result.texts) {
		const { path, text } = node;
		if (isPlaceholder(text)) continue;
		const cut = cutText(text, parameters);
		if (cut === undefined) continue;
		// The size of a whole result is known.
		const before =
			resultCharacters(result) === text.length ? sizeOfResult(result, countTokens) : sizeOf(text, countTokens);
		const after = sizeOf(cut, countTokens);
		if (after.tokens > before.tokens) continue;
		left -= text.length - cut.length;
		const { whole } = result;
		const place = whole?.only
			? { path: whole.path, replacement: whole.write(cut) }
			: { path, replacement: inFrame(node, cut) };
		const takenOut = takeOut("result", text, archiving);
		edits.push(editOf({ ...place, before, after, takenOut }));
	}
	const asOne = left > parameters.limits.maxChars ? truncateList(paired, parameters) : undefined;
	if (asOne) edits.splice(0, edits.length, asOne);
	if (edits.length === 0) return edits;
	for (const { path, text } of result.copies) {
		if (isPlaceholder(text)) continue;
		const cut = cutText(text, parameters);
		if (cut === undefined) continue;
		const [before, after] = [text, cut].map(({ length }) => ({ chars: length, tokens: 0 })) as [Size, Size];
		const takenOut = takeOut("result", text, archiving);
		edits.push({ ...editOf({ path, replacement: cut, before, after, takenOut }), unsent: true });
	}
	return withRepeats(result, edits);
}

function truncateList(paired: PairedResult, parameters: ResultParameters): ReplaceEdit | undefined {
	const { result } = paired;
	const { countTokens, archiving, isPlaceholder = () => false } = parameters;
	const { whole, texts } = result;
	if (!whole || whole.json || texts.length < 2 || texts.some(({ text }) => isPlaceholder(text))) return undefined;
	const text = resultText(result);
	const cut = cutText(text, parameters);
	if (cut === undefined) return undefined;
	const before = sizeOfResult(result, countTokens);
	const after = sizeOf(cut, countTokens);
	if (after.tokens > before.tokens || after.chars >= before.chars) return undefined;
	const takenOut = takeOut("result", text, archiving);
	return editsOf(paired, "truncate")({ path: whole.path, replacement: whole.write(cut), before, after, takenOut });
}

function cutText(
	text: string,
	{ limits, byStrategy, archiving, focus, settings, elsewhere }: ResultParameters,
): string | undefined {
	if (text.length <= limits.maxChars) return undefined;
	const ref = archiving?.refOf(text);
	if (byStrategy) {
		const budget = { unit: "chars", max: limits.maxChars } as const;
		const key = `${settings} ${ref} ${focus}`;
		const cut = { ...byStrategy, text, budget, focus, ref };
		const shorter =
			elsewhere && text.length > elsewhere.from
				? elsewhere.find(cut)
				: rememberCut(text, key, () => truncateOutput(cut).text);
		if (shorter === undefined) return undefined;
		// Without the reference the original could not be restored. A marker needs less room than a notice.
		if (ref === undefined || shorter.includes(ref)) return shorter;
	}
	const cut = truncateHeadTail(text, limits, () => ref);
	return cut.truncated ? cut.text : undefined;
}

/** Everything that a cut depends on in addition to the text, its focus and its reference. */
function settingsKey({ maxChars }: HeadTailLimits, { stripAnsi, htmlToText, ...settings }: ByStrategy): string {
	return JSON.stringify([maxChars, settings, stripAnsi !== undefined, htmlToText !== undefined]);
}

function rememberCut(text: string, key: string, cutAnew: () => string): string {
	const known = cuts.find(text);
	const found = known?.get(key);
	if (found !== undefined) return found;
	const cut = cutAnew();
	if (known === undefined) cuts.remember(text, new Map([[key, cut]]));
	else {
		if (known.size === mostCuts) known.clear();
		known.set(key, cut);
	}
	return cut;
}

/** A guard may need the cuts of a text to a few lengths. */
const mostCuts = 4;

/** The last cuts of each text. */
let cuts = createTextMemory<Map<string, string>>();
