import { type Message, resultText } from "../../engine/conversation/transcript.ts";
import type { PairedResult } from "../../engine/conversation/turns.ts";
import { resultTargets } from "../../engine/masking/judge-results.ts";
import { cleanValue } from "../../engine/masking/placeholder.ts";
import type { Policy } from "../../engine/policy/schema.ts";
import { locales } from "../../engine/policy/wordings.ts";
import { targetText } from "../../operations/report.ts";
import { unsentPlaces } from "./decisions.ts";
import { messageKey } from "./identity.ts";
import type { OpenedConversation } from "./request.ts";
import { type ResultState, type Values, valueEdits } from "./states.ts";

/** Shorter results are not worth their line in a note. */
const shortestNamed = 400;
const mostNamed = 40;

/**
 * The provider's text in the place of a result names no original, and no earlier message may change. So the last result
 * that is new gets a note behind its text, with the references of what is cleared: nothing is bound to that result yet.
 * A cleared result that a note in view names is not named again.
 */
export function addClearingNote(
	opened: OpenedConversation,
	what: {
		readonly known: readonly (ResultState | undefined)[];
		readonly fresh: Map<number, ResultState>;
		readonly recall: { readonly by: string };
		readonly policy: Policy;
		readonly began: Pick<ResultState, "since" | "at" | "changed">;
	},
): void {
	const { known, fresh, recall, policy, began } = what;
	const { paired, transcript } = opened;
	const messageOf = (place: number) => (paired[place] as PairedResult).message;
	const stateOf = (place: number) => fresh.get(place) ?? known[place];
	const cleared = paired
		.flatMap(({ result }, place) => {
			const state = stateOf(place);
			const isNameable = state?.kind === "cleared" && state.ref !== undefined;
			return isNameable ? [{ place, size: resultText(result).length }] : [];
		})
		.filter(({ size }) => size >= shortestNamed)
		.sort((a, b) => b.size - a.size)
		.slice(0, mostNamed)
		.map(({ place }) => place);
	if (cleared.length === 0) return;
	const notes = paired.flatMap(({ result }, place) => {
		const state = stateOf(place);
		return state?.kind === "noted"
			? valueEdits(state.values, result).map(({ replacement }) => String(replacement))
			: [];
	});
	const unnamed = cleared.filter((place) => !notes.some((text) => text.includes(stateOf(place)?.ref as string)));
	if (unnamed.length === 0) return;
	const { endings } = opened.remembered;
	const carriers = unsentPlaces(opened)
		.filter((place) => !known[place] && !endings.has(messageKey(transcript.messages[messageOf(place)] as Message)))
		.toReversed();
	for (const place of carriers) {
		const { result } = paired[place] as PairedResult;
		const state = stateOf(place);
		const number = result.texts.findLastIndex(({ text }) => text !== "");
		const at = `text ${number}` as const;
		// A text that is cut as a whole holds JSON.
		if (number === -1 || (state && state.kind !== "cut") || state?.values.has("whole")) continue;
		const cut = state?.values.get(at)?.(result.texts[number]?.text as string);
		const shown = state?.values.has(at) ? cut : result.texts[number]?.text;
		if (typeof shown !== "string") continue;
		const note = noteOn(unnamed);
		const values: Values = new Map([...(state?.values ?? []), [at, () => `${shown}\n\n${note}`]]);
		fresh.set(place, { ...began, kind: "noted", values, ref: state?.ref, ...(state ? { cut: state.values } : {}) });
		return;
	}

	function noteOn(places: readonly number[]): string {
		const targets = resultTargets(transcript);
		const results = places
			.toSorted((a, b) => a - b)
			.map((place) => {
				const target = targetText(targets[place]);
				const names = [paired[place]?.call?.name, target].flatMap((name) => (name ? [cleanValue(name)] : []));
				return [stateOf(place)?.ref, ...names].join(" ");
			});
		const command = recall.by.replace("{ref}", stateOf(places[0] as number)?.ref as string);
		const { cleared_note: template } = locales[policy.locale];
		return template.replace("{command}", () => command).replace("{results}", () => results.join("; "));
	}
}

/** The state of a result that carries a note, without it. */
export function withoutNote(state: ResultState): ResultState | undefined {
	const { cut } = state;
	return cut && { ...state, kind: "cut", values: cut, cut: undefined };
}
