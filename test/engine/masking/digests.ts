import type { CountTokens } from "../../../src/engine/conversation/measure.ts";
import type { Transcript } from "../../../src/engine/conversation/transcript.ts";
import { pairResults } from "../../../src/engine/conversation/turns.ts";
import { withDigest } from "../../../src/engine/masking/digest.ts";
import type { MaskResultParameters } from "../../../src/engine/masking/mask-result.ts";
import { wordings } from "../../../src/engine/policy/wordings.ts";
import { policyOf } from "../../support/policy-of.ts";
import { messageOf, resultOf, transcriptOf } from "../../support/transcripts.ts";

const policy = policyOf();

/** The digests of a transcript, one for each of `pairResults`; empty without one. */
export function digestsOf(how: {
	readonly transcript: Transcript;
	readonly maxTokens: number;
	readonly countTokens: CountTokens;
}): string[] {
	const { transcript, maxTokens, countTokens } = how;
	const { digest } = withDigest<MaskResultParameters & { readonly transcript: Transcript }>({
		transcript,
		policy: { ...policy.mask, digest_tokens: maxTokens },
		media: "keep",
		wording: wordings(policy),
		isPlaceholder: () => false,
		countTokens,
	});
	return pairResults(transcript).map((paired) => digest?.(paired) ?? "");
}

/** The digest of a text, as if its result were so large that the result's size sets no limit. */
export function digestOf(how: {
	readonly text: string;
	readonly maxTokens: number;
	readonly countTokens: CountTokens;
	/** Text of a message before the result. */
	readonly before?: string;
}): string {
	const { text, maxTokens, countTokens, before = "" } = how;
	// A digest never begins with a line break, so that only the result is counted as large.
	const messages = [
		messageOf({ role: "assistant", calls: [{ id: "call_1", name: "bash" }], counted: [before] }),
		messageOf({ role: "tool", results: [resultOf("call_1", `\n${text}`)] }),
	];
	const [digest = ""] = digestsOf({
		transcript: transcriptOf(...messages),
		maxTokens,
		countTokens: (counted) => (counted.startsWith("\n") ? 4_000_000 : countTokens(counted)),
	});
	return digest;
}
