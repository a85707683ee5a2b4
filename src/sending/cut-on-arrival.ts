import type { Archive } from "../archive/archive.ts";
import type { ReplaceEdit } from "../conversation/plan.ts";
import { resultText, type ToolResult, type Transcript } from "../conversation/transcript.ts";
import { callArguments, type PairedResult } from "../conversation/turns.ts";
import { ownCommands, ownTools } from "../hosts/hook-answers.ts";
import { textLibraries } from "../operations/text-libraries.ts";
import { headShareOf } from "../operations/truncation-limit.ts";
import type { Policy } from "../policy/schema.ts";
import type { Wordings } from "../policy/wordings.ts";
import { archivingOf } from "../restore/originals.ts";
import { shortenedRef } from "../restore/recognise.ts";
import { planTruncate } from "../truncation/truncate-results.ts";

/**
 * Tools that read chosen lines or files, edit, plan, or hand a task on: their answers are needed unchanged, or are
 * short. The hooks leave the same tools alone. Names of Claude Code, Codex, opencode, Gemini CLI, pi, Copilot CLI and Cline.
 */
const leftAlone =
	/^(?:functions\.)?(?:read|read_?(?:many_?)?files?|read_[a-z]+_file|view|view_?(?:image|file)|open_?file|notebook_?(?:read|edit)|(?:multi_?)?edit\w*|write|write_?(?:to_?)?file|replace\w*|str_replace\w*|create|create_?file|apply_?(?:patch|diff)|insert\w*|todo\w*|write_?todos|update_?(?:plan|todo)\w*|task\w*|skill|agent|plan\w*)$/i;

/** The results among `fresh` that the policy cuts before they are first sent: those over `truncate.max_chars`. */
export function planCuts(what: {
	readonly document: unknown;
	readonly transcript: Transcript;
	readonly fresh: readonly PairedResult[];
	readonly policy: Policy;
	readonly wording: Wordings;
	readonly isPlaceholder: (text: string) => boolean;
	readonly archive: Archive | undefined;
}): readonly ReplaceEdit[] {
	const { document, transcript, fresh, policy, wording, archive } = what;
	const chosen = new Set<ToolResult>();
	for (const one of fresh) if (isLarge(one.result, policy) && !isLeftAlone(one, transcript)) chosen.add(one.result);
	if (chosen.size === 0) return [];
	const { strategy, max_chars: maxChars, head_chars: headChars, tail_chars: tailChars, keep_ansi } = policy.truncate;
	const messages = transcript.messages.map((message) =>
		message.results.length === 0
			? message
			: { ...message, results: message.results.filter((result) => chosen.has(result)) },
	);
	const edits = planTruncate({
		...what,
		transcript: { ...transcript, messages },
		limits: { maxChars, headChars, tailChars, marker: wording.truncateMarker },
		// The sizes of these edits are in no report, and counting tokens would take longer than cutting.
		countTokens: (text) => Math.ceil(text.length / 4),
		archiving: archivingOf(archive, document),
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
	return edits.filter(({ unsent }) => !unsent);
}

export function isLarge(result: ToolResult, { truncate }: Policy): boolean {
	return resultText(result).length > truncate.max_chars;
}

function isLeftAlone({ result, call, caller }: PairedResult, { messages }: Transcript): boolean {
	// A hook has shortened it already, and its notice names the original.
	if (result.texts.some(({ text }) => shortenedRef(text) !== undefined)) return true;
	const calling = caller === undefined ? undefined : messages[caller];
	const input = calling && call ? callArguments(calling)[calling.calls.indexOf(call)] : undefined;
	return isShownWhole(call?.name ?? "", input);
}

/** Whether a call asks for its unchanged output. */
export function isShownWhole(toolName: string, input = ""): boolean {
	return leftAlone.test(toolName) || ownTools.test(toolName) || ownCommands.test(input);
}
