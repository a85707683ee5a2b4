import { digestsOf } from "../digests.ts";
import { pairResults } from "../pairing.ts";
import type { Transcript } from "../transcript.ts";
import type { MaskResultParameters } from "./mask-result.ts";

/**
 * The same parameters, with digests where the policy wants some. A digest depends on its result and on what stands before
 * it, not on the result alone.
 */
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
