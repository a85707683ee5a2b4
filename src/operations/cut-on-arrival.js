import { groupBy } from "../engine/conversation/lists.js";
import { resultText } from "../engine/conversation/transcript.js";
import { callArguments } from "../engine/conversation/turns.js";
import { callTarget } from "../engine/masking/call-targets.js";
import { isShownWhole } from "../engine/truncation/shown-whole.js";
import { planTruncate } from "../engine/truncation/truncate-results.js";
import { shortenedRef } from "../storage/restore/recognise.js";
import { textLibraries } from "./text-libraries.js";
import { headShareOf } from "./truncation-limit.js";
/** The edits that cut the results among `fresh` that the policy, or another limit, cuts before they are first sent. */
export function planCuts(what) {
	const { transcript, fresh, policy, wording, limitOf = arrivalLimit(policy) } = what;
	const { strategy, head_chars: headChars, tail_chars: tailChars, keep_ansi } = policy.truncate;
	const limits = new Map();
	for (const one of fresh) {
		const limit = limitFor(one, transcript, limitOf);
		if (limit !== undefined) limits.set(one.result, limit);
	}
	const byLimit = groupBy(limits.keys(), (result) => limits.get(result));
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
export function mayBeCut(result, { truncate }) {
	return resultText(result).length > Math.min(truncate.max_chars, truncate.command_chars ?? truncate.max_chars);
}
/** What these print is a report of what was done. What other calls return was asked for by its place or its words. */
const reporting = new Set(["run", "list", "write"]);
/** These stay whole with thrift low: an answer that quotes a file needs all of its lines. */
const quoted = new Set(["read", "write"]);
/** docs/evidence.md#cutting-on-arrival */
function arrivalLimit({ truncate: { max_chars: all, command_chars }, mask: { thrift } }) {
	const ofCommands = thrift === "low" ? all : (command_chars ?? all);
	return ({ chars, kind }) => {
		if (thrift === "low" && quoted.has(kind)) return undefined;
		const most = reporting.has(kind) ? ofCommands : all;
		return chars > most ? most : undefined;
	};
}
function limitFor(one, { messages }, limitOf) {
	const { result, call, caller } = one;
	// A hook has shortened it already, and its notice names the original.
	if (result.texts.some(({ text }) => shortenedRef(text) !== undefined)) return undefined;
	const calling = caller === undefined ? undefined : messages[caller];
	const input = calling && call ? callArguments(calling)[calling.calls.indexOf(call)] : undefined;
	if (isShownWhole(call?.name ?? "", input)) return undefined;
	const { kind } = callTarget({ name: call?.name, argumentsText: input });
	return limitOf({ chars: resultText(result).length, kind });
}
function withResults(transcript, chosen) {
	const messages = transcript.messages.map((message) =>
		message.results.length === 0
			? message
			: { ...message, results: message.results.filter((result) => chosen.has(result)) },
	);
	return { ...transcript, messages };
}
