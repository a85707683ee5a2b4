import { groupBy } from "../engine/conversation/lists.ts";
import type { ReplaceEdit } from "../engine/conversation/plan.ts";
import type { Archiving } from "../engine/conversation/report.ts";
import { resultText, type ToolResult, type Transcript } from "../engine/conversation/transcript.ts";
import { callArguments, type PairedResult } from "../engine/conversation/turns.ts";
import type { Policy } from "../engine/policy/schema.ts";
import type { Wordings } from "../engine/policy/wordings.ts";
import { type ArrivalLimit, arrivalLimit, limitOfCall } from "../engine/truncation/arrival-limit.ts";
import { type CutsElsewhere, planTruncate } from "../engine/truncation/truncate-results.ts";
import { shortenedRef } from "../storage/restore/recognise.ts";
import { textLibraries } from "./text-libraries.ts";
import { headShareOf } from "./truncation-limit.ts";

/** The edits that cut the results among `fresh` that the policy, or another limit, cuts before they are first sent. */
export function planCuts(what: {
	readonly transcript: Transcript;
	readonly fresh: readonly PairedResult[];
	readonly policy: Policy;
	readonly wording: Wordings;
	readonly isPlaceholder: (text: string) => boolean;
	readonly archiving: Archiving | undefined;
	readonly limitOf?: ArrivalLimit | undefined;
	readonly elsewhere?: CutsElsewhere | undefined;
}): readonly ReplaceEdit[] {
	const { transcript, fresh, policy, wording, limitOf = arrivalLimit(policy) } = what;
	const { strategy, head_chars: headChars, tail_chars: tailChars, keep_ansi } = policy.truncate;
	const limits = new Map<ToolResult, number>();
	for (const one of fresh) {
		const limit = limitFor(one, transcript, limitOf);
		if (limit !== undefined) limits.set(one.result, limit);
	}
	const byLimit = groupBy(limits.keys(), (result) => limits.get(result) as number);
	return Array.from(byLimit).flatMap(([maxChars, chosen]) =>
		planTruncate({
			...what,
			transcript: withResults(transcript, new Set(chosen)),
			limits: { maxChars, headChars, tailChars, marker: wording.truncateMarker },
			// The sizes of these edits are in no report, and counting tokens would take longer than cutting.
			countTokens: (text) => Math.ceil(text.length / 4),
			byStrategy:
				strategy === "head_tail"
					? undefined
					: {
							...textLibraries,
							strategy,
							wording: wording.notices,
							headShare: headShareOf(policy),
							keepAnsi: keep_ansi,
						},
		}),
	);
}

/** Whether a result is so large that its call decides whether it is cut. */
export function mayBeCut(result: ToolResult, { truncate }: Policy): boolean {
	return resultText(result).length > Math.min(truncate.max_chars, truncate.command_chars ?? truncate.max_chars);
}

function limitFor(one: PairedResult, { messages }: Transcript, limitOf: ArrivalLimit): number | undefined {
	const { result, call, caller } = one;
	// A hook has shortened it already, and its notice names the original.
	if (result.texts.some(({ text }) => shortenedRef(text) !== undefined)) return undefined;
	const calling = caller === undefined ? undefined : messages[caller];
	const input = calling && call ? callArguments(calling)[calling.calls.indexOf(call)] : undefined;
	return limitOfCall({ toolName: call?.name, input, chars: resultText(result).length }, limitOf);
}

function withResults(transcript: Transcript, chosen: ReadonlySet<ToolResult>): Transcript {
	const messages = transcript.messages.map((message) =>
		message.results.length === 0
			? message
			: { ...message, results: message.results.filter((result) => chosen.has(result)) },
	);
	return { ...transcript, messages };
}
