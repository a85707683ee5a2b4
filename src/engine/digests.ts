import { findIdentifiers } from "./compaction/identifiers.ts";
import { digestOf } from "./digest.ts";
import { type CountTokens, sizeOfResult } from "./measure.ts";
import { pairResults } from "./pairing.ts";
import { type Message, resultText, type Transcript } from "./transcript.ts";

/** What the digests of a conversation are made of. */
export interface DigestsParameters {
	readonly transcript: Transcript;
	/** Most tokens of each digest, by `countTokens`. */
	readonly maxTokens: number;
	readonly countTokens: CountTokens;
}

/** A digest has at most this share of the tokens of its result, or masking a short one would save little. */
const mostOfResult = 1 / 4;

/**
 * The digest of each result, in the order of `pairResults`, should it be masked: of identifiers those that stand in no
 * message before the result and in no digest of an earlier one. Each is found from what stands before it and is the same
 * whenever results are masked, and whichever: what an earlier digest names is in view, masked or not. Takes time in
 * proportion to the conversation.
 */
export function digestsOf({ transcript, maxTokens, countTokens }: DigestsParameters): string[] {
	const standing = new Set(transcript.surroundings.flatMap(namesIn));
	const paired = pairResults(transcript);
	const digests: string[] = [];
	const isElsewhere = (name: string) => standing.has(name);
	transcript.messages.forEach((message, index) => {
		for (const name of namesOf(message)) standing.add(name);
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

/** The identifiers of a message, its results aside. */
function namesOf(message: Message): readonly string[] {
	let names = namesOfMessages.get(message);
	if (!names) {
		names = message.counted.flatMap(namesIn);
		namesOfMessages.set(message, names);
	}
	return names;
}

// Messages are read once and asked for at each call.
const namesOfMessages = new WeakMap<Message, readonly string[]>();

function namesIn(text: string): string[] {
	return [...new Set(findIdentifiers(text).map((identifier) => identifier.text))];
}
