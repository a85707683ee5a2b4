import { fillTemplate } from "./fill-template.ts";
import { templatePattern } from "./template-pattern.ts";
import type { MediaNode } from "./transcript.ts";

/** Longest tool name, call id or media type shown in a placeholder, in characters. */
const longestValue = 64;
/** What needs no cleaning, as most names and ids are: tried first, since every masked result asks. */
const plainValue = /^[\w.:-]{0,64}$/;
/** Longest description of an image, a recording or a document: its type, its size and its dimensions. */
const longestMedia = 2 * longestValue;
/** Longest digest, in characters. */
const longestDigest = 2_000;

/**
 * Makes a value from a conversation safe to stand in a template: a tool name is untrusted text. Control characters,
 * line breaks and brackets go, and the length is bounded.
 */
export function cleanValue(value: string): string {
	return plainValue.test(value) ? value : cleanText(value, longestValue);
}

function cleanText(text: string, longest: number): string {
	const cleaned = text
		.toWellFormed()
		.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\s]+/gu, " ")
		.replace(/[[\](){}<>]/g, "")
		.trim();
	const characters = Array.from(cleaned);
	return characters.length <= longest ? cleaned : `${characters.slice(0, longest - 1).join("")}…`;
}

/** What a placeholder tells of the result that it stands for. */
export interface PlaceholderValues {
	readonly toolCallId: string;
	/** The tool's name; `undefined` becomes the locale's word for an unknown tool. */
	readonly toolName: string | undefined;
	/** Characters (UTF-16 code units) of the text taken out. */
	readonly originalChars: number;
	/** Where the original is archived; `undefined` where it is not. */
	readonly ref?: string | undefined;
	/** Some of what the text held, as `digestOf` gives it; `undefined` or empty for none. */
	readonly digest?: string | undefined;
}

/** What stands for {ref} where nothing is archived. */
export const noRef = "-";
/** What stands for {digest} in a template that has one where none is given. */
const noDigest = "-";

/** Writes the placeholder for one masked result: in the wording for one with a digest where it has one. */
export function writePlaceholder(
	wording: { readonly placeholder: string; readonly digestPlaceholder?: string; readonly unknownTool: string },
	values: PlaceholderValues,
): string {
	const digest = values.digest ? cleanText(values.digest, longestDigest) : "";
	const template = digest === "" ? wording.placeholder : (wording.digestPlaceholder ?? wording.placeholder);
	return fillTemplate(template, {
		tool_call_id: cleanValue(values.toolCallId),
		tool_name: nameOf(wording, values),
		original_chars: String(values.originalChars),
		ref: values.ref ?? noRef,
		digest: digest === "" ? noDigest : digest,
	});
}

/** Writes the placeholder for one masked image, recording or document: what it was, its size and dimensions. */
export function writeMediaPlaceholder(
	wording: { readonly mediaPlaceholder: string; readonly unknownTool: string },
	values: Omit<PlaceholderValues, "originalChars"> & { readonly media: MediaNode },
): string {
	const { kind, mediaType, bytes, dimensions } = values.media;
	const description = [
		mediaType === undefined ? kind : cleanValue(mediaType),
		...(bytes === undefined ? [] : [`${bytes} B`]),
		...(dimensions === undefined ? [] : [`${dimensions.width}×${dimensions.height}`]),
	].join(", ");
	const ref = values.ref ?? noRef;
	return fillTemplate(wording.mediaPlaceholder, {
		tool_call_id: cleanValue(values.toolCallId),
		tool_name: nameOf(wording, values),
		media: description,
		ref,
	});
}

function nameOf(
	{ unknownTool }: { readonly unknownTool: string },
	{ toolName }: { readonly toolName: string | undefined },
): string {
	return (toolName === undefined ? "" : cleanValue(toolName)) || unknownTool;
}

/** A recognised placeholder: the reference and the number of characters that it gives, where it gives them. */
export interface ReadPlaceholder {
	readonly ref: string | undefined;
	readonly originalChars: number | undefined;
}

/**
 * Reads placeholders written from any of the templates, by their exact grammar; `undefined` for any other text. What is
 * recognised is never masked again, so masking twice equals masking once and no placeholder passes for an original.
 */
export function placeholderReader(templates: readonly string[]): (text: string) => ReadPlaceholder | undefined {
	const value = (longest: number) => `[^\\[\\](){}<>\\r\\n]{0,${longest}}`;
	const grammar = {
		tool_call_id: value(longestValue),
		tool_name: value(longestValue),
		original_chars: countGrammar,
		media: value(longestMedia),
		ref: refGrammar,
		digest: value(longestDigest),
	};
	const readers = templates.map((template) => {
		const variables = template.match(/\{\w+\}/g)?.length ?? 0;
		// A text longer than any placeholder need not be matched at all; a character may be two UTF-16 code units.
		const forDigest = template.includes("{digest}") ? 2 * longestDigest : 0;
		const longest = template.length + variables * 2 * longestMedia + forDigest;
		// What stands before the first variable tells most texts apart without the pattern.
		const opening = template.split(/\{\w+\}/, 1)[0] ?? "";
		// Where another value or a digit stands beside it, nobody can tell where the number ends.
		const tellsCharacters = /(^|[^\d}])\{original_chars\}($|[^\d{])/.test(template);
		return { pattern: templatePattern(template, grammar), longest, opening, tellsCharacters };
	});
	// Every old result is asked about, and hardly one is a placeholder: its first character tells.
	const startsAnyhow = readers.some(({ opening }) => opening === "");
	const firsts = new Set(readers.map(({ opening }) => opening.charCodeAt(0)));
	return (text) => {
		if (!startsAnyhow && !firsts.has(text.charCodeAt(0))) return undefined;
		for (const { pattern, longest, opening, tellsCharacters } of readers) {
			if (text.length > longest || !text.startsWith(opening)) continue;
			const found = pattern.exec(text);
			if (!found) continue;
			const { ref, original_chars: chars } = found.groups ?? {};
			return { ref: refIn(ref), originalChars: tellsCharacters && chars ? Number(chars) : undefined };
		}
		return undefined;
	};
}

/** What a number of characters may look like in a placeholder or a marker: every one that is counted without loss. */
export const countGrammar = "\\d{1,16}";

/** What a reference may look like in a placeholder or a marker. */
export const refGrammar = "[A-Za-z0-9-]{1,40}";

/** The reference that a template's {ref} was filled with. */
export function refIn(filled: string | undefined): string | undefined {
	return filled === noRef ? undefined : filled;
}

/** Tells placeholders written from any of the templates from all other texts. */
export function placeholderRecogniser(templates: readonly string[]): (text: string) => boolean {
	const read = placeholderReader(templates);
	return (text) => read(text) !== undefined;
}
