import { type CountTokens, sizeOf, sizeOfMedia, sizeOfResult } from "../conversation/measure.ts";
import { addSizes, noSize, type ReplaceEdit, type TakenOut } from "../conversation/plan.ts";
import type { Archiving } from "../conversation/report.ts";
import {
	inFrame,
	repeatedPlaces,
	resultText,
	type ToolResult,
	type Transcript,
	type WholeContent,
} from "../conversation/transcript.ts";
import type { PairedResult } from "../conversation/turns.ts";
import type { MaskPolicy } from "../policy/schema.ts";
import { detectError } from "./errors.ts";
import { writeMediaPlaceholder, writePlaceholder } from "./placeholder.ts";

export type KeptReason = "orphan" | "not_text" | "already_masked" | "last_of_its_tool" | "error" | "not_smaller";

export interface MaskResultParameters {
	readonly policy: MaskPolicy;
	/** `and_texts`: with the texts beside them, and those beside anything else that stays. */
	readonly media: "keep" | "mask" | "and_texts";
	readonly wording: {
		readonly placeholder: string;
		readonly digestPlaceholder?: string;
		readonly mediaPlaceholder: string;
		readonly unknownTool: string;
	};
	readonly isPlaceholder: (text: string) => boolean;
	readonly countTokens: CountTokens;
	readonly archiving?: Archiving | undefined;
	/** Whether a result is an error that stays; by default the format's flag or its words decide. */
	readonly isError?: ((paired: PairedResult) => boolean) | undefined;
	readonly digest?: ((paired: PairedResult) => string | undefined) | undefined;
}

/** The edits that mask one result with its copies in the record, or the reason why it stays. */
export function maskResult(paired: PairedResult, parameters: MaskResultParameters): ReplaceEdit[] | KeptReason {
	const { result } = paired;
	const { policy, media, isPlaceholder } = parameters;
	const parts = [...(media === "keep" ? [] : result.media), ...(media === "and_texts" ? result.texts : [])];
	if (!result.whole && parts.length === 0) return "not_text";
	if (result.texts.some((node) => isPlaceholder(node.text)) || holdsPlaceholder(result, isPlaceholder)) {
		return "already_masked";
	}
	if (policy.keep_errors && (parameters.isError ?? looksLikeError)(paired)) return "error";
	const edits = result.whole
		? maskText(paired, result.whole, parameters)
		: [...(media === "and_texts" ? maskTexts(paired, parameters) : []), ...maskMedia(paired, parameters)];
	return edits.length > 0 ? withRepeats(result, edits) : "not_smaller";
}

/** Whether a short string in JSON is one, such as that of an image. Without recursion: the nesting is untrusted. */
function holdsPlaceholder({ whole }: ToolResult, isPlaceholder: (text: string) => boolean): boolean {
	const waiting: unknown[] = [whole?.json?.value];
	while (waiting.length > 0) {
		const value = waiting.pop();
		if (typeof value === "string" && isPlaceholder(value)) return true;
		if (typeof value === "object" && value !== null) for (const member of Object.values(value)) waiting.push(member);
	}
	return false;
}

function looksLikeError({ result }: PairedResult): boolean {
	return result.isError === true || detectError(resultText(result)) !== undefined;
}

function maskText(paired: PairedResult, whole: WholeContent, parameters: MaskResultParameters): ReplaceEdit[] {
	const { wording, countTokens, archiving } = parameters;
	const { result, call } = paired;
	const text = resultText(result);
	const takenOut = takeOut("result", text, archiving);
	const before = sizeOfResult(result, countTokens);
	const values = {
		toolCallId: result.callId ?? "",
		toolName: call?.name,
		originalChars: whole.json ? text.length : before.chars,
		ref: takenOut?.ref,
		digest: parameters.digest?.(paired),
	};
	let placeholder = writePlaceholder(wording, values);
	// A result too short for a placeholder with a digest may be long enough for one without.
	if (values.digest && countTokens(placeholder) >= before.tokens) {
		placeholder = writePlaceholder(wording, { ...values, digest: undefined });
	}
	const around = whole.around ? sizeOf(whole.around(), countTokens) : noSize;
	const after = addSizes(sizeOf(placeholder, countTokens), around);
	if (after.tokens >= before.tokens) return [];
	const replacement = whole.write(placeholder);
	const edit = editsOf(paired, "mask")({ path: whole.path, replacement, before, after, takenOut });
	return [edit, ...maskCopies(result.copies, edit, placeholder)];
}

/** Masks the texts of a result one by one. The texts of a document go with it. */
function maskTexts(paired: PairedResult, { wording, countTokens, archiving }: MaskResultParameters): ReplaceEdit[] {
	const { result, call } = paired;
	const editOf = editsOf(paired, "mask");
	const inMedia = new Set(result.media.flatMap(({ texts = [] }) => texts));
	const edits = result.texts.flatMap((node): (readonly [ReplaceEdit, string])[] => {
		const { text, path } = node;
		if (inMedia.has(node)) return [];
		const takenOut = takeOut("result", text, archiving);
		const values = { toolCallId: result.callId ?? "", toolName: call?.name, originalChars: text.length };
		const placeholder = writePlaceholder(wording, { ...values, ref: takenOut?.ref });
		const [before, after] = [sizeOf(text, countTokens), sizeOf(placeholder, countTokens)];
		if (after.tokens >= before.tokens) return [];
		return [[editOf({ path, replacement: inFrame(node, placeholder), before, after, takenOut }), placeholder]];
	});
	const last = edits.at(-1);
	return [...edits.map(([edit]) => edit), ...(last ? maskCopies(result.copies, ...last) : [])];
}

function maskCopies(copies: ToolResult["copies"], edit: ReplaceEdit, placeholder: string): ReplaceEdit[] {
	return copies.flatMap(({ path, text }): ReplaceEdit[] => {
		if (text === "") return [];
		// A copy too short for the placeholder is emptied, or it would show the text that the placeholder hides.
		const replacement = text.length > placeholder.length ? placeholder : "";
		const sizes = { before: { chars: text.length, tokens: 0 }, after: { chars: replacement.length, tokens: 0 } };
		return [{ ...edit, path, replacement, ...sizes, takenOut: undefined, unsent: true }];
	});
}

function maskMedia(paired: PairedResult, { wording, countTokens, archiving }: MaskResultParameters): ReplaceEdit[] {
	const { result, call } = paired;
	const editOf = editsOf(paired, "mask");
	const edits = result.media.flatMap((media): ReplaceEdit[] => {
		const takenOut = archiving && takeOut("media", archiving.jsonAt(media.path), archiving);
		const placeholder = writeMediaPlaceholder(wording, {
			toolCallId: result.callId ?? "",
			toolName: call?.name,
			media,
			ref: takenOut?.ref,
		});
		const before = sizeOfMedia(media, countTokens);
		const after = sizeOf(placeholder, countTokens);
		if (after.tokens >= before.tokens) return [];
		return [editOf({ path: media.path, replacement: media.write(placeholder), before, after, takenOut })];
	});
	// The data is emptied where it stands, so that a record keeps its shape.
	for (const { path, text } of edits.length > 0 ? (result.mediaCopies ?? []) : []) {
		const sizes = { before: { chars: text.length, tokens: 0 }, after: { chars: 0, tokens: 0 } };
		edits.push({ ...editOf({ path, replacement: "", ...sizes, takenOut: undefined }), unsent: true });
	}
	return edits;
}

export function takeOut(kind: TakenOut["kind"], text: string, archiving: Archiving | undefined): TakenOut | undefined {
	return archiving && { kind, text, ref: archiving.refOf(text) };
}

/** Makes the edits of one result. They share `result`, by which it is counted once. With spreads V8 makes a class for each edit. */
export function editsOf({ result, call, message }: PairedResult, reason: "mask" | "truncate") {
	const edited = { toolCallId: result.callId, toolName: call?.name };
	return ({ path, replacement, before, after, takenOut }: Change): ReplaceEdit => {
		return { kind: "replace", reason, message, result: edited, path, replacement, before, after, takenOut };
	};
}

type Change = Pick<ReplaceEdit, "path" | "replacement" | "before" | "after" | "takenOut">;

/** Marks edits of messages that are no longer sent, so that no total counts them. */
export function markUnsent(transcript: Transcript, edits: readonly ReplaceEdit[]): readonly ReplaceEdit[] {
	const isUnsent = (edit: ReplaceEdit) => transcript.messages[edit.message]?.sent === false;
	return edits.map((edit) => (isUnsent(edit) ? { ...edit, unsent: true } : edit));
}

/** Adds the same edits of the values that repeat a result. */
export function withRepeats(result: ToolResult, edits: readonly ReplaceEdit[]): ReplaceEdit[] {
	if (!result.repeats) return [...edits];
	return edits.flatMap(({ takenOut, ...edit }) => [
		{ ...edit, takenOut },
		...repeatedPlaces(result, edit.path).map((path) => ({ ...edit, path, unsent: true as const })),
	]);
}
