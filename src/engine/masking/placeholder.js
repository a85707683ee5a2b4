import { fillTemplate, templateParts, templatePattern, waysToDivide } from "./template.js";

const longestValue = 64;
// Most names and ids need no cleaning.
const plainValue = /^[\w.:-]{0,64}$/;
/** A value with one of these could pass for a field. */
const notInValues = "[\\](){}<>=,";
/** The same for a digest and a description of media, which are lists. */
const notInLists = "[\\](){}<>";
const longestMedia = 2 * longestValue;
/** In characters; a longer digest would not be recognised. */
export const longestDigest = 2_000;
/** Makes an untrusted value safe for a template and bounds its length. Cleaning it again changes nothing. */
export function cleanValue(value) {
	return plainValue.test(value) ? value : cleanText(value, longestValue, notInValues);
}
function cleanText(text, longest, leftOut) {
	const cleaned = text
		.toWellFormed()
		.replace(new RegExp(`[${leftOut}]`, "g"), "")
		.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\s]+/gu, " ")
		.trim();
	const characters = Array.from(cleaned);
	return characters.length <= longest ? cleaned : `${characters.slice(0, longest - 1).join("")}…`;
}
/**
 * The text that a provider puts in the place of a result that it clears. Anthropic does not publish its own; this is that of
 * langchain's imitation (agents/middleware/context_editing.py: DEFAULT_TOOL_PLACEHOLDER).
 */
export const clearedText = "[cleared]";
/** For {ref} if nothing is archived, and for an empty {digest}. */
export const noRef = "-";
export function writePlaceholder(wording, values) {
	const digest = values.digest ? cleanText(values.digest, longestDigest, notInLists) : "";
	const template = digest === "" ? wording.placeholder : (wording.digestPlaceholder ?? wording.placeholder);
	return fillTemplate(template, {
		...fieldsOf(wording, values),
		original_chars: values.originalChars,
		digest: digest === "" ? noRef : digest,
	});
}
export function writeMediaPlaceholder(wording, values) {
	const { kind, mediaType, bytes, dimensions } = values.media;
	const media = [
		mediaType === undefined ? kind : cleanValue(mediaType),
		...(bytes === undefined ? [] : [`${bytes} B`]),
		...(dimensions === undefined ? [] : [`${dimensions.width}×${dimensions.height}`]),
	].join(", ");
	return fillTemplate(wording.mediaPlaceholder, { ...fieldsOf(wording, values), media });
}
function fieldsOf({ unknownTool }, { toolCallId, toolName, ref }) {
	const name = toolName === undefined ? "" : cleanValue(toolName);
	return { tool_call_id: cleanValue(toolCallId), tool_name: name || unknownTool, ref: ref ?? noRef };
}
/** Reads placeholders of the templates by their exact grammar, so that none is masked again; `undefined` for other texts. */
export function placeholderReader(templates) {
	const readers = templates.map(readerOf);
	// Few results are placeholders: the first character rules out most.
	const startsAnyhow = readers.some(({ opening }) => opening === "");
	const firsts = new Set(readers.map(({ opening }) => opening.charCodeAt(0)));
	return (text) => {
		if (!startsAnyhow && !firsts.has(text.charCodeAt(0))) return undefined;
		for (const { pattern, longest, opening, certain } of readers) {
			if (text.length > longest || !text.startsWith(opening)) continue;
			const found = pattern.exec(text);
			if (!found) continue;
			const { ref, original_chars: chars, tool_call_id: toolCallId } = found.groups ?? {};
			return {
				ref: refIn(ref),
				isRefCertain: certain.has("ref"),
				originalChars: certain.has("original_chars") && chars ? Number(chars) : undefined,
				toolCallId: certain.has("tool_call_id") ? toolCallId : undefined,
			};
		}
		return undefined;
	};
}
const value = (longest, leftOut) => `[^${leftOut}\\r\\n]{0,${longest}}`;
function readerOf(template) {
	const grammar = {
		tool_call_id: value(longestValue, notInValues),
		tool_name: value(longestValue, notInValues),
		original_chars: countGrammar,
		media: value(longestMedia, notInLists),
		ref: refGrammar,
		digest: value(longestDigest, notInLists),
	};
	const variables = template.match(/\{\w+\}/g)?.length ?? 0;
	// A longer text is not a placeholder; a character may be two UTF-16 code units.
	const forDigest = template.includes("{digest}") ? 2 * longestDigest : 0;
	const parts = templateParts(template, grammar).map((part) => ({ ...part, isAgain: false }));
	/** Whether a text can be divided up to the variable in one way only, from its start or from its end. */
	const isCertain = (variable) => {
		const at = parts.findIndex((part) => part.kind === "value" && part.variable === variable);
		const sides = [parts.slice(0, at + 2), parts.slice(Math.max(0, at - 1)).toReversed()];
		return at !== -1 && sides.some((side) => waysToDivide(side) === 1);
	};
	const certain = new Set(["ref", "original_chars", "tool_call_id"].filter(isCertain));
	return {
		pattern: templatePattern(template, grammar),
		certain,
		longest: template.length + variables * 2 * longestMedia + forDigest,
		opening: template.split(/\{\w+\}/, 1)[0] ?? "",
	};
}
export const countGrammar = "\\d{1,16}";
export const refGrammar = "[A-Za-z0-9-]{1,40}";
export function refIn(filled) {
	return filled === noRef ? undefined : filled;
}
