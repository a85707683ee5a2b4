import { type CountTokens, sizeOfResult } from "../conversation/measure.ts";
import { resultText, type Transcript } from "../conversation/transcript.ts";
import { pairResults } from "../conversation/turns.ts";
import { outcomeOf } from "./errors.ts";
import { findIdentifiers } from "./identifiers.ts";
import type { MaskResultParameters } from "./mask-result.ts";

/** The same parameters, with digests where the policy asks for them. */
export function withDigest<Parameters extends MaskResultParameters & { readonly transcript: Transcript }>(
	parameters: Parameters,
): Parameters {
	const { transcript, policy, countTokens } = parameters;
	const maxTokens = policy.digest_tokens;
	if (maxTokens === 0 || parameters.digest) return parameters;
	const digests = digestsOf({ transcript, maxTokens, countTokens });
	const places = new Map(pairResults(transcript).map((one, place) => [one, place]));
	return { ...parameters, digest: (paired) => digests[places.get(paired) ?? -1] ?? "" };
}

/** Most of the tokens of a result that its digest may have, so that masking a short one pays. */
const mostOfResult = 1 / 4;

/**
 * The digest of each result for its placeholder, in the order of `pairResults`, with the identifiers that stand in no
 * message before the result and in no earlier digest. It depends only on what stands before the result, so it is the same
 * whichever results are masked, and when. Takes time in proportion to the conversation.
 */
export function digestsOf({
	transcript,
	maxTokens,
	countTokens,
}: {
	readonly transcript: Transcript;
	/** Most tokens of each digest. */
	readonly maxTokens: number;
	readonly countTokens: CountTokens;
}): string[] {
	const standing = new Set(transcript.surroundings.flatMap(namesIn));
	const paired = pairResults(transcript);
	const digests: string[] = [];
	const isElsewhere = (name: string) => standing.has(name);
	transcript.messages.forEach((message, index) => {
		for (const name of message.counted.flatMap(namesIn)) standing.add(name);
		for (; paired[digests.length]?.message === index; ) {
			const { result } = paired[digests.length] as (typeof paired)[number];
			const most = Math.floor(sizeOfResult(result, countTokens).tokens * mostOfResult);
			const digest = digestOf({
				text: resultText(result),
				maxTokens: Math.min(maxTokens, most),
				countTokens,
				isElsewhere,
			});
			for (const name of digest.split(/,? /)) standing.add(name);
			digests.push(digest);
		}
	});
	return digests;
}

function namesIn(text: string): string[] {
	return [...new Set(findIdentifiers(text).map((identifier) => identifier.text))];
}

interface DigestParameters {
	readonly text: string;
	readonly maxTokens: number;
	readonly countTokens: CountTokens;
	/**
	 * Whether the model sees an identifier elsewhere, in what comes before the result: the digest must stay the same when
	 * the conversation continues.
	 */
	readonly isElsewhere?: (identifier: string) => boolean;
}

/** Characters that are read at each end of a text. */
const reach = 200_000;

/** In characters; a placeholder with a digest is recognised up to this length. */
const longestDigest = 2_000;

/** Tokens of an identifier, about: with its separator, and for each character. */
const cost = { each: 2, character: 0.25 } as const;

/**
 * The outcome of a result (exit code, counts), then its paths and identifiers by expected use, in at most `maxTokens`
 * tokens; empty where it has none. Without line breaks and brackets, so that a placeholder can hold it. Takes time in
 * proportion to the text, up to 200 000 characters from each end.
 */
export function digestOf(parameters: DigestParameters): string {
	const { text, maxTokens, countTokens } = parameters;
	if (maxTokens <= 0) return "";
	const pieces: string[] = [];
	let length = 0;
	const outcome = outcomeOf(text);
	for (const piece of [...outcome.map((fact) => `${fact},`), ...rankedIdentifiers(parameters)]) {
		if (pieces.length >= maxTokens) break;
		if (outcome.includes(piece)) continue;
		if (length + piece.length + 1 > longestDigest) continue;
		pieces.push(piece);
		length += piece.length + 1;
	}
	return longestFitting(pieces, (digest) => countTokens(digest) <= maxTokens);
}

/** As many of the first pieces as fit. */
function longestFitting(pieces: readonly string[], fits: (digest: string) => boolean): string {
	const joined = (count: number) => pieces.slice(0, count).join(" ").replace(/,$/, "");
	let [low, high] = [0, pieces.length];
	while (low < high) {
		const middle = (low + high + 1) >> 1;
		if (fits(joined(middle))) low = middle;
		else high = middle - 1;
	}
	return joined(low);
}

/**
 * The identifiers of a text, each once: those that stand in it more than once first, and short ones, since more of them fit.
 * By what agents used later, neither the kind of an identifier nor its place in the text improved the order.
 */
function rankedIdentifiers({ text, isElsewhere }: DigestParameters): string[] {
	const counts = new Map<string, number>();
	for (const { text: identifier } of findIdentifiers(endsOf(text))) {
		counts.set(identifier, (counts.get(identifier) ?? 0) + 1);
	}
	return [...counts]
		.filter(([identifier]) => !isElsewhere?.(identifier))
		.map(([identifier, count]) => ({
			identifier,
			value: (1 + Math.min(count - 1, 2) / 2) / (cost.each + identifier.length * cost.character),
		}))
		.sort((a, b) => b.value - a.value || (a.identifier < b.identifier ? -1 : 1))
		.map(({ identifier }) => identifier);
}

function endsOf(text: string): string {
	return text.length <= 2 * reach ? text : `${text.slice(0, reach)}\n${text.slice(-reach)}`;
}
