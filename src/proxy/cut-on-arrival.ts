import type { CountTokens } from "../conversation/measure.ts";
import type { ReplaceEdit } from "../conversation/plan.ts";
import type { Archiving } from "../conversation/report.ts";
import { jsonPointer, resultText, type ToolResult, type Transcript } from "../conversation/transcript.ts";
import { callArguments, type PairedResult, pairResults } from "../conversation/turns.ts";
import { ownCommands, ownTools } from "../hosts/hook-answers.ts";
import { editsOf } from "../masking/mask-result.ts";
import { shortenedRef } from "../operations/find-original.ts";
import { textLibraries } from "../operations/text-libraries.ts";
import { headShareOf } from "../operations/truncation-limit.ts";
import type { Policy } from "../policy/schema.ts";
import type { Wordings } from "../policy/wordings.ts";
import { planTruncate } from "../truncation/truncate-results.ts";

/**
 * Tools that read chosen lines or files, edit, plan, or hand a task on: their answers are wanted as they are, or are
 * short. The hooks leave the same tools alone. Names of Claude Code, Codex, opencode, Gemini CLI, pi, Copilot CLI and Cline.
 */
const leftAlone =
	/^(?:functions\.)?(?:read|read_?(?:many_?)?files?|read_[a-z]+_file|view|view_?(?:image|file)|open_?file|notebook_?(?:read|edit)|(?:multi_?)?edit\w*|write|write_?(?:to_?)?file|replace\w*|str_replace\w*|create|create_?file|apply_?(?:patch|diff)|insert\w*|todo\w*|write_?todos|update_?(?:plan|todo)\w*|task\w*|skill|agent|plan\w*)$/i;

/** Cuts by the key of their result: a cut depends on the words before it, which a host may change. */
export type KnownCuts = Map<string, readonly KnownCut[]>;

interface KnownCut extends Pick<ReplaceEdit, "replacement" | "before" | "after"> {
	/** Of the text among those of the result, or of all of its content. */
	readonly text: number | "whole";
	readonly ref: string | undefined;
}

const mostKnown = 2_000;

/** The results that the policy cuts as they arrive: over `truncate.max_chars`, once and for all. */
export function planCuts(what: {
	readonly transcript: Transcript;
	readonly policy: Policy;
	readonly wording: Wordings;
	readonly countTokens: CountTokens;
	readonly isPlaceholder: (text: string) => boolean;
	readonly archiving: Archiving | undefined;
	/** By place. */
	readonly keys: readonly string[];
	readonly known: KnownCuts;
}): readonly ReplaceEdit[] {
	const { transcript, policy, keys, known } = what;
	const large = new Map(
		pairResults(transcript).flatMap((paired, place) => {
			const isLarge = resultText(paired.result).length > policy.truncate.max_chars;
			return isLarge && !isLeftAlone(paired, transcript) ? [[keys[place] as string, paired] as const] : [];
		}),
	);
	const fresh = new Map(Array.from(large).filter(([key]) => !known.has(key)));
	const edits = fresh.size === 0 ? [] : planFresh(what, new Set(Array.from(fresh.values(), ({ result }) => result)));
	for (const [key, paired] of fresh)
		known.set(
			key,
			edits.flatMap((edit) => asKnown(edit, paired) ?? []),
		);
	const all = Array.from(large).flatMap(([key, paired]) => asEdits(known.get(key) ?? [], paired));
	for (const key of known.keys()) if (known.size > mostKnown && !large.has(key)) known.delete(key);
	return all;
}

function planFresh(what: Parameters<typeof planCuts>[0], fresh: ReadonlySet<ToolResult>): readonly ReplaceEdit[] {
	const { transcript, policy, wording } = what;
	const { strategy, max_chars: maxChars, head_chars: headChars, tail_chars: tailChars, keep_ansi } = policy.truncate;
	const messages = transcript.messages.map((message) =>
		message.results.length === 0
			? message
			: { ...message, results: message.results.filter((result) => fresh.has(result)) },
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

/** `undefined` for an edit of another result. */
function asKnown(edit: ReplaceEdit, { result }: PairedResult): KnownCut | undefined {
	const at = jsonPointer(edit.path);
	const text = result.texts.findIndex(({ path }) => jsonPointer(path) === at);
	if (text === -1 && !(result.whole && jsonPointer(result.whole.path) === at)) return undefined;
	const { replacement, before, after, takenOut } = edit;
	return { text: text === -1 ? "whole" : text, replacement, before, after, ref: takenOut?.ref };
}

function asEdits(cuts: readonly KnownCut[], paired: PairedResult): ReplaceEdit[] {
	const { result } = paired;
	const editOf = editsOf(paired, "truncate");
	return cuts.map(({ text: at, ref, ...sizes }) => {
		const node = at === "whole" ? undefined : result.texts[at];
		const path = (node ?? result.whole)?.path ?? [];
		const text = node?.text ?? resultText(result);
		return editOf({ ...sizes, path, takenOut: ref === undefined ? undefined : { kind: "result", text, ref } });
	});
}

function isLeftAlone({ result, call, caller }: PairedResult, { messages }: Transcript): boolean {
	// A hook has shortened it already, and its notice names the original.
	if (result.texts.some(({ text }) => shortenedRef(text) !== undefined)) return true;
	const calling = caller === undefined ? undefined : messages[caller];
	const input = calling && call ? callArguments(calling)[calling.calls.indexOf(call)] : undefined;
	return isShownWhole(call?.name ?? "", input);
}

/** Whether the output of a call is asked for as it is. */
export function isShownWhole(toolName: string, input = ""): boolean {
	return leftAlone.test(toolName) || ownTools.test(toolName) || ownCommands.test(input);
}
