import { type CountTokens, sizeOf, sizeOfResult } from "../engine/conversation/measure.ts";
import type { ReplaceEdit } from "../engine/conversation/plan.ts";
import type { Archiving } from "../engine/conversation/report.ts";
import { inFrame, resultText, type TextNode, type Transcript } from "../engine/conversation/transcript.ts";
import { callArguments, type PairedResult, pairResults } from "../engine/conversation/turns.ts";
import type { RepeatedResult } from "../engine/guarding/repeats.ts";
import { editsOf, takeOut, withRepeats } from "../engine/masking/mask-result.ts";
import { cleanValue } from "../engine/masking/placeholder.ts";
import type { Policy } from "../engine/policy/schema.ts";
import type { Wordings } from "../engine/policy/wordings.ts";
import { leastRun, leaveOutRepeats, type Repeat, startRepeatFinder } from "../engine/truncation/repeats.ts";
import { isShownWhole } from "../engine/truncation/shown-whole.ts";
import { isReferenceLine, placeholdersOf, referencesIn, shortenedRef } from "../storage/restore/recognise.ts";

/** Whether lines of a result may be left out: it is one text, which nobody has shortened and nobody asked for as it is. */
export function mayRepeat(one: PairedResult, transcript: Transcript, policy: Policy): boolean {
	if (!policy.truncate.repeats) return false;
	const { texts, whole } = one.result;
	const [only, ...others] = texts;
	if (!only || others.length > 0 || whole?.json || only.text.length < leastRun.chars) return false;
	if (placeholdersOf(policy)(only.text) || shortenedRef(only.text) !== undefined) return false;
	return !isShownWhole(one.call?.name ?? "", argumentsOf(one, transcript));
}

/** How a line calls a result that it points to. */
export function nameOfResult(one: PairedResult, transcript: Transcript, { unknownTool }: Wordings): string {
	const tool = cleanValue(one.call?.name ?? "") || unknownTool;
	const about = cleanValue(one.result.callId ?? argumentsOf(one, transcript) ?? "");
	return about === "" ? tool : `${tool}, ${about}`;
}

/** The lines of a text that are left out, by run, with their line ends. The runs are in order, so the text is read once. */
export function repeatedTexts(text: string, repeats: readonly Pick<Repeat, "from" | "to">[]): string[] {
	let [line, at] = [1, 0];
	const readTo = (last: number) => {
		for (; line < last && at < text.length; line += 1) {
			const next = text.indexOf("\n", at);
			at = next === -1 ? text.length : next + 1;
		}
		return at;
	};
	return repeats.map(({ from, to }) => {
		const start = readTo(from);
		return text.slice(start, readTo(to + 1));
	});
}

/** The edits that put a text in the place of that of a result with one text. */
export function withText(
	paired: PairedResult,
	text: string,
	change: Pick<ReplaceEdit, "before" | "after" | "takenOut">,
): ReplaceEdit[] {
	const { whole, texts } = paired.result;
	const node = texts[0] as TextNode;
	const place = whole?.only
		? { path: whole.path, replacement: whole.write(text) }
		: { path: node.path, replacement: inFrame(node, text) };
	return withRepeats(paired.result, [editsOf(paired, "truncate")({ ...place, ...change })]);
}

/**
 * Finds results that repeat lines of earlier ones, and the edits that leave these lines out. Results that lines point to
 * already stay as they are, and so does whatever is over `mostChars`, which a guard may cut.
 */
export function repeatedResults(what: {
	readonly transcript: Transcript;
	readonly policy: Policy;
	readonly wording: Wordings;
	readonly archiving: Archiving | undefined;
	readonly countTokens: CountTokens;
	readonly mostChars: number;
}): readonly RepeatedResult[] {
	const { transcript, policy, wording, archiving, countTokens, mostChars } = what;
	if (!policy.truncate.repeats) return [];
	const paired = pairResults(transcript);
	const names = paired.map((one) => nameOfResult(one, transcript, wording));
	const isSent = ({ message }: PairedResult) => transcript.messages[message]?.sent !== false;
	/** A name of two results says of neither where lines stand. */
	const isNamed = onlyOnce(names.filter((_, place) => isSent(paired[place] as PairedResult)));
	const isPlaceholder = placeholdersOf(policy);
	const pointedTo = new Set(paired.flatMap((one) => referencesIn(resultText(one.result)).map(({ source }) => source)));
	const finder = startRepeatFinder(isReferenceLine);
	const texts: string[] = [];
	const repeated: RepeatedResult[] = [];
	for (const [place, one] of paired.entries()) {
		const whole = resultText(one.result);
		const may = isSent(one) && !pointedTo.has(names[place] as string) && mayRepeat(one, transcript, policy);
		const found = may ? finder.find(whole, (source) => texts[source] as string) : [];
		let shown = whole;
		if (found.length > 0) {
			const nameOf = (source: number) => names[source] as string;
			const left = leaveOutRepeats(whole, found, { wording: wording.repeats, nameOf, ref: archiving?.refOf(whole) });
			const [before, after] = [sizeOfResult(one.result, countTokens), sizeOf(left, countTokens)];
			if (left.length < whole.length && left.length <= mostChars && after.tokens <= before.tokens) {
				shown = left;
				const edits = withText(one, left, { before, after, takenOut: takeOut("result", whole, archiving) });
				repeated.push({ place, edits, sources: [...new Set(found.map(({ source }) => source))] });
			}
		}
		const isInView = isSent(one) && isNamed(names[place] as string) && !one.result.whole?.json && !isPlaceholder(shown);
		texts.push(isInView && shown.length <= mostChars ? shown : "");
		finder.add(texts[place] as string);
	}
	return repeated;
}

function onlyOnce(names: readonly string[]): (name: string) => boolean {
	const counts = new Map<string, number>();
	for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1);
	return (name) => counts.get(name) === 1;
}

function argumentsOf({ call, caller }: PairedResult, { messages }: Transcript): string | undefined {
	const calling = caller === undefined ? undefined : messages[caller];
	return calling && call ? callArguments(calling)[calling.calls.indexOf(call)] : undefined;
}
