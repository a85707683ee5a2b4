import type { Size } from "../../engine/edit.ts";
import { type CountTokens, sizeOfResult } from "../../engine/measure.ts";
import { type PairedResult, pairResults } from "../../engine/pairing.ts";
import { cleanValue } from "../../engine/placeholder.ts";
import type { Transcript } from "../../engine/transcript.ts";

/** A tool result with its size. */
export interface CountedResult extends PairedResult {
	/** Its place in `pairResults`. */
	readonly place: number;
	/** The name of its tool, safe to print; `null` where it is not known. */
	readonly tool: string | null;
	/** Of its texts, images, recordings and documents, before any scaling. */
	readonly size: Size;
}

/** The tool results that a request sends, in order. */
export function countedResults(transcript: Transcript, countTokens: CountTokens): readonly CountedResult[] {
	return pairResults(transcript).flatMap((one, place): CountedResult[] => {
		if (transcript.messages[one.message]?.sent === false) return [];
		const { chars, tokens } = sizeOfResult(one.result, countTokens);
		const fixed = one.result.media.reduce((sum, media) => sum + media.tokens, 0);
		const name = one.call?.name === undefined ? "" : cleanValue(one.call.name);
		return [{ ...one, place, tool: name === "" ? null : name, size: { chars, tokens: tokens + fixed, fixed } }];
	});
}
