import type { CountTokens } from "../conversation/measure.ts";
import type { ReplaceEdit } from "../conversation/plan.ts";
import type { Archiving } from "../conversation/report.ts";
import { resultText, type ToolResult, type Transcript } from "../conversation/transcript.ts";
import { callArguments, type PairedResult, pairResults } from "../conversation/turns.ts";
import { ownCommands, ownTools } from "../hosts/tool-event.ts";
import { shortenedRef } from "../operations/find-original.ts";
import { textLibraries } from "../operations/text-libraries.ts";
import { headShareOf } from "../operations/truncation-limit.ts";
import type { Policy } from "../policy/schema.ts";
import type { Wordings } from "../policy/wordings.ts";
import { planTruncate } from "../truncation/truncate-results.ts";

/**
 * Tools that read chosen lines or files, edit, plan, or hand a task on: what they answer is asked for as it is, or short.
 * The hooks leave the same alone. Names of Claude Code, Codex, opencode, Gemini CLI, pi, Copilot CLI and Cline.
 */
const leftAlone =
	/^(?:functions\.)?(?:read|read_?(?:many_?)?files?|read_[a-z]+_file|view|view_?(?:image|file)|open_?file|notebook_?(?:read|edit)|(?:multi_?)?edit\w*|write|write_?(?:to_?)?file|replace\w*|str_replace\w*|create|create_?file|apply_?(?:patch|diff)|insert\w*|todo\w*|write_?todos|update_?(?:plan|todo)\w*|task\w*|skill|agent|plan\w*)$/i;

/** The results that the policy cuts as they arrive: over `truncate.max_chars`. It depends on nothing after a result. */
export function planCuts(what: {
	readonly transcript: Transcript;
	readonly policy: Policy;
	readonly wording: Wordings;
	readonly countTokens: CountTokens;
	readonly isPlaceholder: (text: string) => boolean;
	readonly archiving: Archiving | undefined;
}): readonly ReplaceEdit[] {
	const { transcript, policy, wording } = what;
	const { strategy, max_chars: maxChars, head_chars: headChars, tail_chars: tailChars, keep_ansi } = policy.truncate;
	const kept = new Set(
		pairResults(transcript)
			.filter((paired) => resultText(paired.result).length > maxChars && !isLeftAlone(paired, transcript))
			.map(({ result }) => result),
	);
	if (kept.size === 0) return [];
	const only = (results: readonly ToolResult[]) => results.filter((result) => kept.has(result));
	const messages = transcript.messages.map((message) =>
		message.results.length === 0 ? message : { ...message, results: only(message.results) },
	);
	return planTruncate({
		...what,
		transcript: { ...transcript, messages },
		limits: { maxChars, headChars, tailChars, marker: wording.truncateMarker },
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
	});
}

function isLeftAlone({ result, call, caller }: PairedResult, { messages }: Transcript): boolean {
	const name = call?.name ?? "";
	if (leftAlone.test(name) || ownTools.test(name)) return true;
	// A hook has shortened it already, and its notice names the original.
	if (result.texts.some(({ text }) => shortenedRef(text) !== undefined)) return true;
	const calling = caller === undefined ? undefined : messages[caller];
	const input = calling && call ? callArguments(calling)[calling.calls.indexOf(call)] : undefined;
	return input !== undefined && ownCommands.test(input);
}
