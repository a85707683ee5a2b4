import type { Transcript } from "../../src/engine/conversation/transcript.ts";
import { type ReplayHistory, readHistory } from "../../src/engine/masking/history.ts";
import type { Policy } from "../../src/engine/policy/schema.ts";
import { wordings } from "../../src/engine/policy/wordings.ts";
import { placeholdersOf } from "../../src/storage/restore/recognise.ts";
import { roughCount } from "./rough-count.ts";

/** The history of a transcript under a policy, counted roughly. */
export function historyOf(
	transcript: Transcript,
	policy: Policy,
	more: { readonly bindsReasoning?: boolean } = {},
): ReplayHistory {
	return readHistory({
		transcript,
		policy: policy.mask,
		media: policy.media,
		wording: wordings(policy),
		isPlaceholder: placeholdersOf(policy),
		countTokens: roughCount,
		meter: { countTokens: roughCount, messageOverhead: policy.tokens.message_overhead },
		cacheTime: { seconds: policy.prices.cache_seconds },
		...more,
	});
}

/** The first messages of a transcript. */
export function beginningOf(transcript: Transcript, messages: number): Transcript {
	return { ...transcript, messages: transcript.messages.slice(0, messages) };
}

/** A conversation in Chat Completions' format: a task, then a turn for each output, whose call names a file. */
export function turnsOf(outputs: readonly string[], words: readonly string[] = []): unknown[] {
	return [
		{ role: "system", content: "You are an agent." },
		{ role: "user", content: "Do the task." },
		...outputs.flatMap((content, turn) => {
			const call = { name: "read", arguments: JSON.stringify({ path: `src/file-${turn}.ts` }) };
			return [
				{
					role: "assistant",
					content: words[turn] ?? `Step ${turn}.`,
					tool_calls: [{ id: `call_${turn}`, type: "function", function: call }],
				},
				{ role: "tool", tool_call_id: `call_${turn}`, content },
			];
		}),
	];
}
