import { addToList } from "../conversation/lists.js";
import { resultContent } from "../conversation/transcript.js";
import { pairResults } from "../conversation/turns.js";
import { resultArguments } from "./call-targets.js";
import { findIdentifiers } from "./identifiers.js";

/** Results that hold the same string and count as used with it: the last ones. */
const mostHolders = 8;
const none = [];
/**
 * Finds the strings of results that each assistant message uses: identifiers and whole lines, each once in a conversation, since a string
 * of an earlier message is not taken from a result. It *comes back to* a result by shared strings, which weigh more the
 * fewer results hold them, or by a path that the result's call named. Looks only backwards, in linear time.
 */
export function findUses(transcript) {
	const { messages } = transcript;
	const paired = pairResults(transcript);
	const argumentsOf = resultArguments(transcript);
	const said = messages.map(({ counted }) => ({ identifiers: namesIn(counted), lines: linesIn(counted) }));
	const ofAnswers = said.filter((_, index) => messages[index]?.role === "assistant");
	const identifiers = startStrings(ofAnswers.map((one) => one.identifiers));
	const lines = startStrings(ofAnswers.map((one) => one.lines));
	/** All identifiers so far. */
	const met = new Set();
	/** The results whose calls named a path. */
	const callsNaming = new Map();
	const uses = { identifiers: [], lines: [], fresh: [] };
	const touches = [];
	let place = 0;
	said.forEach((own, index) => {
		const weights = messages[index]?.role === "assistant" ? new Map() : undefined;
		for (const one of own.identifiers) met.add(one);
		uses.identifiers.push(identifiers.say(own.identifiers, weights));
		uses.lines.push(lines.say(own.lines, weights));
		if (weights) for (const one of own.identifiers) addWeight(weights, callsNaming.get(one) ?? none, 1);
		touches.push(Array.from(weights ?? none, ([result, weight]) => ({ result, weight })));
		for (; paired[place]?.message === index; place += 1) {
			const text = resultContent(paired[place].result);
			const held = namesIn([text]);
			const before = met.size;
			for (const one of held) met.add(one);
			uses.fresh.push(met.size - before);
			identifiers.hold(held, place);
			lines.hold(linesIn([text]), place);
			for (const path of pathsIn(argumentsOf[place] ?? "")) addToList(callsNaming, path, place);
		}
	});
	return { ...uses, touches };
}
/** The strings of a text that an answer may use. */
export function stringsIn(text) {
	return { identifiers: namesIn([text]), lines: linesIn([text]) };
}
function namesIn(texts) {
	return new Set(texts.flatMap((text) => findIdentifiers(text).map((one) => one.text)));
}
function pathsIn(text) {
	return new Set(findIdentifiers(text).flatMap((one) => (one.kind === "path" ? one.text : none)));
}
function addWeight(weights, results, weight) {
	for (let index = Math.max(0, results.length - mostHolders); index < results.length; index += 1) {
		const result = results[index];
		weights.set(result, (weights.get(result) ?? 0) + weight);
	}
}
/** Where the strings of one kind are, while a history is walked through. Only those of answers can be used. */
function startStrings(ofAnswers) {
	const said = new Set();
	const holders = new Map(ofAnswers.flatMap((texts) => Array.from(texts, (text) => [text, []])));
	return {
		/** Records the strings of a message. With `weights` it is an answer: adds to them, and returns the strings that it took. */
		say(texts, weights) {
			const taken = [];
			for (const text of texts) {
				const held = holders.get(text) ?? none;
				if (weights && held.length > 0) {
					addWeight(weights, held, 1 / held.length);
					if (!said.has(text)) taken.push({ text, holders: [...held] });
				}
				said.add(text);
			}
			return taken;
		},
		/** Records the strings of a result. */
		hold(texts, result) {
			for (const text of texts) holders.get(text)?.push(result);
		},
	};
}
/** Shortest line that counts, in characters: shorter ones (`return null;`) are anywhere by chance. */
const shortest = 20;
/** Longest line that counts; longer lines are data. */
const longestLine = 1_000;
/** The prefix that tools put before each line of a file: `12:`, `12→`, `12|`, a tab after the number. */
const lineNumber = /^\s{0,12}\d{1,7}(?:[:→\t]| {0,3}\|)/;
/** Trimmed, without line numbers of tools, of 20 to 1 000 characters. Escapes of a call's JSON count as unescaped. */
function linesIn(texts) {
	return new Set(texts.flatMap((text) => rawLines(text).flatMap((raw) => lineIn(raw) ?? none)));
}
function rawLines(text) {
	return needsPattern(text) ? text.split(/\r?\n|\\r\\n|\\n/) : text.split("\n");
}
/** To split at one character is much faster. */
function needsPattern(text) {
	return text.includes("\\") || text.includes("\r");
}
function lineIn(raw) {
	if (raw.length < shortest || raw.length > longestLine) return undefined;
	const unescaped = raw.includes("\\") ? raw.replaceAll('\\"', '"').replaceAll("\\t", "\t") : raw;
	const trimmed = unescaped.trim();
	const line = startsWithDigit(trimmed) ? unescaped.replace(lineNumber, "").trim() : trimmed;
	return line.length >= shortest ? line : undefined;
}
function startsWithDigit(text) {
	const code = text.charCodeAt(0);
	return code >= 48 && code <= 57;
}
