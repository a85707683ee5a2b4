import { resultText, type Transcript } from "../../../src/engine/conversation/transcript.ts";
import { pairResults } from "../../../src/engine/conversation/turns.ts";
import { resultArguments } from "../../../src/engine/masking/call-targets.ts";
import { findIdentifiers } from "../../../src/engine/masking/identifiers.ts";
import { wholeLines } from "../../support/whole-lines.ts";

const identifiersIn = (texts: readonly string[]) =>
	new Set(texts.flatMap((text) => findIdentifiers(text).map((one) => one.text)));

const linesIn = (texts: readonly string[]) => new Set(texts.flatMap((text) => wholeLines(text)));

const kinds = { identifiers: identifiersIn, lines: linesIn };

/** What `findUses` answers, word for word by its definition: for each answer all that stands before it is searched. */
export function plainUses(transcript: Transcript) {
	const { messages } = transcript;
	const argumentsOf = resultArguments(transcript);
	const paired = pairResults(transcript);
	const held = paired.map(({ result }) => {
		const parts = resultText(result).split(/(<system-reminder>(?:(?!<system-reminder>)[\s\S])*<\/system-reminder>)/);
		while (parts.length > 1 && parts.at(-1)?.trim() === "") parts.splice(-2);
		const content = [parts.join("")];
		return { identifiers: identifiersIn(content), lines: linesIn(content) };
	});
	const own = messages.map(({ counted }) => ({ identifiers: identifiersIn(counted), lines: linesIn(counted) }));
	const named = paired.map((_, place) => {
		const found = findIdentifiers(argumentsOf[place] ?? "");
		return new Set(found.flatMap(({ kind, text }) => (kind === "path" ? [text] : [])));
	});
	const placesBefore = (index: number) => paired.flatMap(({ message }, place) => (message < index ? [place] : []));

	const taken = (kind: keyof typeof kinds) =>
		messages.map(({ role }, index) => {
			if (role !== "assistant") return [];
			const before = placesBefore(index);
			return [...(own[index]?.[kind] ?? [])].flatMap((text) => {
				const isSaid = own.slice(0, index).some((one) => one[kind].has(text));
				const holders = before.filter((place) => held[place]?.[kind].has(text));
				return isSaid || holders.length === 0 ? [] : [{ text, holders }];
			});
		});
	const touches = messages.map(({ role }, index) => {
		const weights = new Map<number, number>();
		if (role !== "assistant") return weights;
		const before = placesBefore(index);
		const add = (places: readonly number[], weight: number) => {
			for (const place of places.slice(-8)) weights.set(place, (weights.get(place) ?? 0) + weight);
		};
		for (const kind of ["identifiers", "lines"] as const) {
			for (const text of own[index]?.[kind] ?? []) {
				const holders = before.filter((place) => held[place]?.[kind].has(text));
				add(holders, 1 / holders.length);
			}
		}
		for (const text of own[index]?.identifiers ?? []) {
			add(
				before.filter((place) => named[place]?.has(text)),
				1,
			);
		}
		return weights;
	});
	const fresh = paired.map(({ message }, place) => {
		const stands = (text: string) =>
			own.slice(0, message + 1).some(({ identifiers }) => identifiers.has(text)) ||
			held.slice(0, place).some(({ identifiers }) => identifiers.has(text));
		return [...(held[place]?.identifiers ?? [])].filter((text) => !stands(text)).length;
	});
	return {
		identifiers: taken("identifiers"),
		lines: taken("lines"),
		touches: touches.map((weights) => Array.from(weights, ([result, weight]) => ({ result, weight }))),
		fresh,
	};
}
