import type { ReplaceEdit, Size } from "../edit.ts";
import { type CountTokens, sizeOf } from "../measure.ts";
import { pairResults } from "../pairing.ts";
import type { Transcript } from "../transcript.ts";
import { type HeadTailLimits, truncateHeadTail } from "../truncate/head-tail.ts";
import { markUnsent } from "./mark-unsent.ts";

/** What truncating needs to know. */
export interface TruncateParameters {
	readonly transcript: Transcript;
	readonly limits: HeadTailLimits;
	readonly countTokens: CountTokens;
}

/**
 * Plans the truncation of every tool result text over the limit (seed 5, L1): head and tail stay. Texts inside lists
 * are cut one by one, so that an image beside them stays where it is.
 */
export function planTruncate({ transcript, limits, countTokens }: TruncateParameters): ReplaceEdit[] {
	const edits: ReplaceEdit[] = [];
	for (const { result, message, call } of pairResults(transcript)) {
		const edited = { toolCallId: result.callId, toolName: call?.name };
		for (const node of result.texts) {
			const cut = truncateHeadTail(node.text, limits);
			if (!cut.truncated) continue;
			const before = sizeOf(node.text, countTokens);
			const after = sizeOf(cut.text, countTokens);
			if (after.tokens > before.tokens) continue;
			edits.push({
				kind: "replace",
				reason: "truncate",
				path: node.path,
				replacement: cut.text,
				message,
				before,
				after,
				result: edited,
			});
		}
		if (edits.at(-1)?.result !== edited) continue;
		for (const copy of result.copies) {
			const cut = truncateHeadTail(copy.text, limits);
			if (!cut.truncated) continue;
			const [before, after] = [copy.text, cut.text].map((text) => ({ chars: text.length, tokens: 0 })) as [Size, Size];
			const replacement = cut.text;
			edits.push({
				kind: "replace",
				reason: "truncate",
				path: copy.path,
				replacement,
				message,
				before,
				after,
				result: edited,
				unsent: true,
			});
		}
	}
	return markUnsent(transcript, edits);
}
