import { createHash } from "node:crypto";
import { resultText, type ToolResult, withoutFrame } from "../../engine/conversation/transcript.ts";
import type { PairedResult } from "../../engine/conversation/turns.ts";
import { wordings } from "../../engine/policy/wordings.ts";
import { leastRun, leaveOutRepeats } from "../../engine/truncation/repeats.ts";
import { nameOfResult, repeatedTexts } from "../../operations/repeats-on-arrival.ts";
import type { OpenedConversation, Shared } from "./request.ts";
import type { SentLines, ShownResult } from "./sent-lines.ts";
import { isGone, type LeftOut, type ResultState, type Values, valueEdits } from "./states.ts";

type Results = Pick<OpenedConversation, "transcript" | "paired" | "keys">;
type Sent = Pick<ResultState, "kind" | "values">;
type StateOf = (place: number) => Sent | undefined;
type About = Pick<Shared, "policy" | "archive">;

/** The results before `end` whose text the model sees. */
export function shownBefore(end: number, { paired, keys }: Results, stateOf: StateOf): ShownResult[] {
	const shown: ShownResult[] = [];
	for (let place = 0; place < end; place += 1) {
		const { result } = paired[place] as PairedResult;
		const state = stateOf(place);
		const text = textSent(state, result);
		if (text !== undefined && text.length >= leastRun.chars)
			shown.push({ place, name: `${keys[place]} ${formOf(state, result)}`, text });
	}
	return shown;
}

/** The lines of a new result that stand in those that `lines` shows; `undefined` if there are none. */
export function leaveOut(
	place: number,
	opened: Results,
	what: About & { readonly lines: SentLines; readonly stateOf: StateOf },
): LeftOut | undefined {
	const { policy, archive, lines, stateOf } = what;
	const { transcript, paired, keys } = opened;
	const { text } = (paired[place] as PairedResult).result.texts[0] as ToolResult["texts"][number];
	const repeats = lines.find(text);
	if (repeats.length === 0) return undefined;
	const wording = wordings(policy, archive ? "archived" : "not_archived");
	const nameOf = (number: number) => nameOfResult(paired[lines.placeOf(number)] as PairedResult, transcript, wording);
	const shown = leaveOutRepeats(text, repeats, { wording: wording.repeats, nameOf, ref: archive?.refOf(text) });
	if (shown.length >= text.length) return undefined;
	const chars = new Map<number, number>();
	const texts = repeatedTexts(text, repeats);
	for (const [index, { source }] of repeats.entries()) {
		chars.set(source, (chars.get(source) ?? 0) + (texts[index] as string).length);
	}
	return {
		text: shown,
		sources: Array.from(chars, ([number, own]) => {
			const source = lines.placeOf(number);
			const form = formOf(stateOf(source), (paired[source] as PairedResult).result) as string;
			return { key: keys[source] as string, form, chars: own };
		}),
	};
}

/** Names the form in which the text of a result is sent: the same name means the same text. `undefined` if it is not in view. */
export function formOf(state: Sent | undefined, result: ToolResult): string | undefined {
	if (textSent(state, result) === undefined) return undefined;
	return state && state.values.size > 0 ? readValues(state.values, result).form : "whole";
}

/** The text of a result as the model sees it; `undefined` if it does not, or if it is no text. */
function textSent(state: Sent | undefined, result: ToolResult): string | undefined {
	if (isGone(state) || state?.kind === "answered" || result.whole?.json || result.texts.length === 0) return undefined;
	return state && state.values.size > 0 ? readValues(state.values, result).text : resultText(result);
}

/** Values never change. */
const known = new WeakMap<Values, { readonly text: string | undefined; readonly form: string }>();

function readValues(values: Values, result: ToolResult) {
	const before = known.get(values);
	if (before) return before;
	const edits = valueEdits(values, result);
	const form = createHash("sha256")
		.update(JSON.stringify(edits.map(({ replacement }) => replacement)))
		.digest("base64url")
		.slice(0, 16);
	const replaced = new Map(edits.map(({ path, replacement }) => [path, replacement]));
	const { whole, texts } = result;
	const inPlace = texts.map((node) => {
		const value = replaced.get(node.path);
		if (value === undefined) return node.text;
		return typeof value === "string" ? withoutFrame(node, value) : undefined;
	});
	const isWhole = values.has("whole") && whole !== undefined;
	const asWhole = isWhole ? textWritten(replaced.get(whole.path), whole.write) : undefined;
	const inParts = inPlace.every((text) => text !== undefined) ? inPlace.join("\n") : undefined;
	const read = { text: isWhole ? asWhole : inParts, form };
	known.set(values, read);
	return read;
}

/** The text that a content was written from. */
function textWritten(value: unknown, write: (text: string) => unknown): string | undefined {
	const written = JSON.stringify(value);
	return stringsIn(value).find((text) => JSON.stringify(write(text)) === written);
}

function stringsIn(value: unknown): string[] {
	if (typeof value === "string") return [value];
	return typeof value === "object" && value !== null ? Object.values(value).flatMap(stringsIn) : [];
}
