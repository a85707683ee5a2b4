import type { Transcript } from "../engine/conversation/transcript.ts";
import { callArguments, type PairedResult } from "../engine/conversation/turns.ts";
import { cleanValue } from "../engine/masking/placeholder.ts";
import type { Policy } from "../engine/policy/schema.ts";
import type { Wordings } from "../engine/policy/wordings.ts";
import { leastRun, type Repeat } from "../engine/truncation/repeats.ts";
import { isShownWhole } from "../engine/truncation/shown-whole.ts";
import { placeholdersOf, shortenedRef } from "../storage/restore/recognise.ts";

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

function argumentsOf({ call, caller }: PairedResult, { messages }: Transcript): string | undefined {
	const calling = caller === undefined ? undefined : messages[caller];
	return calling && call ? callArguments(calling)[calling.calls.indexOf(call)] : undefined;
}
