import { sizeOf, sizeOfResult } from "../conversation/measure.js";
import { createTextMemory } from "../conversation/text-memory.js";
import { inFrame, resultCharacters, resultText } from "../conversation/transcript.js";
import { pairResults } from "../conversation/turns.js";
import { editsOf, markUnsent, takeOut, withRepeats } from "../masking/mask-result.js";
import { callFocusReader } from "./focus.js";
import { truncateHeadTail } from "./head-tail.js";
import { truncateOutput } from "./truncate.js";
/**
 * Plans the truncation of every tool result over the limit (docs/strategies.md#truncation). Texts in a list
 * are cut one by one, so that images between them stay; a list of only texts that is still over the limit is cut as one
 * text. The edits of a result depend on nothing after it.
 */
export function planTruncate(parameters) {
	return truncateEach(parameters).flat();
}
/** The edits of `planTruncate` by result, in the order of `pairResults`. */
export function truncateEach(parameters) {
	const edits = pairResults(parameters.transcript).map(resultTruncater(parameters));
	// A conversation larger than the memory is not kept alive.
	if (cuts.isFull()) cuts = createTextMemory();
	return edits;
}
/** Returns the function that plans the truncation of one result of a transcript. */
export function resultTruncater(parameters) {
	const { transcript, limits, byStrategy } = parameters;
	const focusOf = byStrategy ? callFocusReader(transcript.messages) : undefined;
	const settings = byStrategy && settingsKey(limits, byStrategy);
	return (one) => {
		if (resultCharacters(one.result) <= limits.maxChars) return [];
		return markUnsent(transcript, truncateResult(one, { ...parameters, focus: focusOf?.(one), settings }));
	};
}
function truncateResult(paired, parameters) {
	const { countTokens, archiving, isPlaceholder = () => false } = parameters;
	const { result } = paired;
	const editOf = editsOf(paired, "truncate");
	const edits = [];
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
		const [before, after] = [text, cut].map(({ length }) => ({ chars: length, tokens: 0 }));
		const takenOut = takeOut("result", text, archiving);
		edits.push({ ...editOf({ path, replacement: cut, before, after, takenOut }), unsent: true });
	}
	return withRepeats(result, edits);
}
function truncateList(paired, parameters) {
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
function cutText(text, { limits, byStrategy, archiving, focus, settings, elsewhere }) {
	if (text.length <= limits.maxChars) return undefined;
	const ref = archiving?.refOf(text);
	if (byStrategy) {
		const budget = { unit: "chars", max: limits.maxChars };
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
function settingsKey({ maxChars }, { stripAnsi, htmlToText, ...settings }) {
	return JSON.stringify([maxChars, settings, stripAnsi !== undefined, htmlToText !== undefined]);
}
function rememberCut(text, key, cutAnew) {
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
let cuts = createTextMemory();
