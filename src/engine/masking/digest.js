import { sizeOfResult } from "../conversation/measure.js";
import { resultContent } from "../conversation/transcript.js";
import { pairResults } from "../conversation/turns.js";
import { outcomeOf } from "./errors.js";
import { findIdentifiers } from "./identifiers.js";
import { longestDigest } from "./placeholder.js";
export function withDigest(parameters) {
	const { transcript, policy, countTokens } = parameters;
	const maxTokens = policy.digest_tokens;
	if (maxTokens === 0 || parameters.digest) return parameters;
	const digests = digestsOf({ transcript, maxTokens, countTokens });
	const byResult = new Map(pairResults(transcript).map(({ result }, place) => [result, digests[place]]));
	return { ...parameters, digest: ({ result }) => byResult.get(result) };
}
/** Largest share of a result's tokens for its digest, so that masking a short result pays. */
const mostOfResult = 1 / 4;
/** One for each of `pairResults`, made from earlier text only, so it is the same for any choice of masked results. */
function digestsOf(how) {
	const { transcript, maxTokens, countTokens } = how;
	const seen = new Set(transcript.surroundings.flatMap(namesIn));
	const isElsewhere = (name) => seen.has(name);
	let next = 0;
	return pairResults(transcript).map(({ message, result }) => {
		for (; next <= message; next += 1) {
			for (const name of transcript.messages[next]?.counted.flatMap(namesIn) ?? []) seen.add(name);
		}
		const most = Math.min(maxTokens, Math.floor(sizeOfResult(result, countTokens).tokens * mostOfResult));
		const digest = digestOf({ text: resultContent(result), maxTokens: most, countTokens, isElsewhere });
		for (const name of digest.split(/,? /)) seen.add(name);
		return digest;
	});
}
function namesIn(text) {
	return findIdentifiers(text).map((identifier) => identifier.text);
}
/** Characters that are read at each end of a text. */
const reach = 200_000;
/** Approximate tokens of an identifier: with its separator, and for each character. */
const cost = { each: 2, character: 0.25 };
/** The outcome, then identifiers by expected use; no line breaks or brackets, so that a placeholder can hold it. */
function digestOf(parameters) {
	const { text, maxTokens, countTokens } = parameters;
	if (maxTokens <= 0) return "";
	const pieces = [];
	let length = 0;
	const outcome = outcomeOf(text);
	for (const piece of [...outcome.map((fact) => `${fact},`), ...rankedIdentifiers(parameters)]) {
		if (pieces.length >= maxTokens) break;
		if (outcome.includes(piece) || length + piece.length + 1 > longestDigest) continue;
		pieces.push(piece);
		length += piece.length + 1;
	}
	const joined = (count) => pieces.slice(0, count).join(" ").replace(/,$/, "");
	let [low, high] = [0, pieces.length];
	while (low < high) {
		const middle = (low + high + 1) >> 1;
		if (countTokens(joined(middle)) <= maxTokens) low = middle;
		else high = middle - 1;
	}
	return joined(low);
}
/** Repeated and short ones first. Measured by later use, neither kind nor place in the text improved the order. */
function rankedIdentifiers({ text, isElsewhere }) {
	const counts = new Map();
	for (const { text: identifier } of findIdentifiers(endsOf(text))) {
		counts.set(identifier, (counts.get(identifier) ?? 0) + 1);
	}
	const valued = [...counts].map(([identifier, count]) => {
		const value = (1 + Math.min(count - 1, 2) / 2) / (cost.each + identifier.length * cost.character);
		return { identifier, value };
	});
	return valued
		.filter(({ identifier }) => !isElsewhere?.(identifier))
		.sort((a, b) => b.value - a.value || (a.identifier < b.identifier ? -1 : 1))
		.map(({ identifier }) => identifier);
}
function endsOf(text) {
	return text.length <= 2 * reach ? text : `${text.slice(0, reach)}\n${text.slice(-reach)}`;
}
