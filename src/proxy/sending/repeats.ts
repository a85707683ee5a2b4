import { createHash } from "node:crypto";
import { resultText, type ToolResult, withoutFrame } from "../../engine/conversation/transcript.ts";
import { callArguments, type PairedResult } from "../../engine/conversation/turns.ts";
import { cleanValue } from "../../engine/masking/placeholder.ts";
import type { Policy } from "../../engine/policy/schema.ts";
import { wordings } from "../../engine/policy/wordings.ts";
import { leastRun, leaveOutRepeats } from "../../engine/truncation/repeats.ts";
import { isShownWhole } from "../../engine/truncation/shown-whole.ts";
import { placeholdersOf, shortenedRef } from "../../storage/restore/recognise.ts";
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
	const nameOf = (number: number) => {
		const one = paired[lines.placeOf(number)] as PairedResult;
		const tool = cleanValue(one.call?.name ?? "") || wording.unknownTool;
		const about = cleanValue(one.result.callId ?? argumentsOf(one, transcript) ?? "");
		return about === "" ? tool : `${tool}, ${about}`;
	};
	const shown = leaveOutRepeats(text, repeats, { wording: wording.repeats, nameOf, ref: archive?.refOf(text) });
	if (shown.length >= text.length) return undefined;
	const chars = new Map<number, number>();
	const shares = linesOf(text);
	for (const { from, to, source } of repeats) chars.set(source, (chars.get(source) ?? 0) + shares(from, to));
	return {
		text: shown,
		sources: Array.from(chars, ([number, own]) => {
			const source = lines.placeOf(number);
			const form = formOf(stateOf(source), (paired[source] as PairedResult).result) as string;
			return { key: keys[source] as string, form, chars: own };
		}),
	};
}

/** Whether lines of a result may be left out: it is one text, which nobody has shortened and nobody asked for as it is. */
export function mayRepeat({ transcript, paired }: Results, place: number, policy: Policy): boolean {
	if (!policy.truncate.repeats) return false;
	const one = paired[place] as PairedResult;
	const { texts, whole } = one.result;
	const [only, ...others] = texts;
	if (!only || others.length > 0 || whole?.json || only.text.length < leastRun.chars) return false;
	if (placeholdersOf(policy)(only.text) || shortenedRef(only.text) !== undefined) return false;
	return !isShownWhole(one.call?.name ?? "", argumentsOf(one, transcript));
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

function argumentsOf({ call, caller }: PairedResult, { messages }: Results["transcript"]): string | undefined {
	const calling = caller === undefined ? undefined : messages[caller];
	return calling && call ? callArguments(calling)[calling.calls.indexOf(call)] : undefined;
}

/** Characters of lines, from 1, both ends included. */
function linesOf(text: string): (from: number, to: number) => number {
	const ends = [0];
	for (let at = text.indexOf("\n"); at !== -1; at = text.indexOf("\n", at + 1)) ends.push(at + 1);
	if (ends.at(-1) !== text.length) ends.push(text.length);
	return (from, to) => (ends[to] as number) - (ends[from - 1] as number);
}
