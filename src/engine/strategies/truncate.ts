import type { Archiving } from "../archiving.ts";
import { type Earlier, findOnce } from "../continuation.ts";
import type { ReplaceEdit, Size, TakenOut } from "../edit.ts";
import { type CountTokens, sizeOf } from "../measure.ts";
import { firstPairFrom, type PairedResult, pairResults } from "../pairing.ts";
import { type PlanMemory, planOnce } from "../plan-memory.ts";
import type { ToolResult, Transcript } from "../transcript.ts";
import { type HeadTailLimits, truncateHeadTail } from "../truncate/head-tail.ts";
import { markUnsent } from "./mark-unsent.ts";

/** What truncating needs to know. */
export interface TruncateParameters {
	readonly transcript: Transcript;
	readonly limits: HeadTailLimits;
	readonly countTokens: CountTokens;
	/** Recognises what stands for an original already: cut, it would no longer name it. */
	readonly isPlaceholder?: ((text: string) => boolean) | undefined;
	/** Given where originals are archived, so that markers name them. */
	readonly archiving?: Archiving | undefined;
	readonly memory?: PlanMemory | undefined;
}

/**
 * Plans the truncation of every tool result text over the limit (seed 5, L1): head and tail stay. Texts inside lists
 * are cut one by one, so that an image beside them stays where it is.
 */
export function planTruncate(parameters: TruncateParameters): readonly ReplaceEdit[] {
	const { transcript, memory, limits } = parameters;
	const truncate = (paired: PairedResult) => truncateResult(paired, parameters);
	const paired = pairResults(transcript);
	const plan = (earlier?: Earlier<readonly ReplaceEdit[]>) => {
		const edits = earlier ? earlier.finding.slice() : [];
		const first = earlier ? firstPairFrom(paired, earlier.messages.length) : 0;
		for (let index = first; index < paired.length; index += 1) {
			const one = paired[index] as PairedResult;
			if (!hasLongText(one.result, limits.maxChars)) continue;
			edits.push(...markUnsent(transcript, planOnce(memory?.truncations, one, truncate)));
		}
		return edits;
	};
	return memory ? findOnce(memory.truncated, transcript.messages, plan) : plan();
}

/** Whether a result holds a text that is over the limit, or keeps such a copy. */
export function hasLongText({ texts, copies }: ToolResult, maxChars: number): boolean {
	return texts.some(({ text }) => text.length > maxChars) || copies.some(({ text }) => text.length > maxChars);
}

function truncateResult(paired: PairedResult, parameters: TruncateParameters): ReplaceEdit[] {
	const { limits, countTokens, archiving, isPlaceholder = () => false } = parameters;
	const { result, message, call } = paired;
	const edited = { toolCallId: result.callId, toolName: call?.name };
	const base = { kind: "replace", reason: "truncate", message, result: edited } as const;
	const edits: ReplaceEdit[] = [];
	for (const { path, text } of result.texts) {
		if (isPlaceholder(text)) continue;
		const cut = truncateHeadTail(text, limits, archiving?.refOf);
		if (!cut.truncated) continue;
		const before = sizeOf(text, countTokens);
		const after = sizeOf(cut.text, countTokens);
		if (after.tokens > before.tokens) continue;
		edits.push({ ...base, path, replacement: cut.text, before, after, ...takeOut(text, archiving) });
	}
	if (edits.length === 0) return edits;
	for (const { path, text } of result.copies) {
		if (isPlaceholder(text)) continue;
		const cut = truncateHeadTail(text, limits, archiving?.refOf);
		if (!cut.truncated) continue;
		const [before, after] = [text, cut.text].map(({ length }) => ({ chars: length, tokens: 0 })) as [Size, Size];
		edits.push({ ...base, path, replacement: cut.text, before, after, unsent: true, ...takeOut(text, archiving) });
	}
	return edits;
}

function takeOut(text: string, archiving: Archiving | undefined): { readonly takenOut?: TakenOut } {
	return archiving ? { takenOut: { kind: "result", text, ref: archiving.refOf(text) } } : {};
}
