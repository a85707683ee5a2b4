import type { MediaNode } from "../conversation/transcript.ts";
import { fillTemplate, templatePattern } from "./template.ts";

/** Longest tool name, call id or media type shown in a placeholder, in characters. */
const longestValue = 64;

/** What needs no cleaning, as most names and ids are: tried first, since every masked result asks. */
const plainValue = /^[\w.:-]{0,64}$/;

/** Brackets end a placeholder, `=` and `,` part its fields: a value that holds one could pass for a field of ours. */
const notInValues = "[\\](){}<>=,";

/** A digest and a description of media are lists of their own. */
const notInLists = "[\\](){}<>";

/** Longest description of an image, a recording or a document: its type, its size and its dimensions. */
const longestMedia = 2 * longestValue;

/** Longest digest, in characters. */
const longestDigest = 2_000;

/**
 * Makes a value from a conversation safe to stand in a template: a tool name is untrusted text. Control characters,
 * line breaks, brackets, `=` and `,` go, and the length is bounded. Cleaning twice gives the same as cleaning once.
 */
export function cleanValue(value: string): string {
	return plainValue.test(value) ? value : cleanText(value, longestValue, notInValues);
}

function cleanText(text: string, longest: number, leftOut: string): string {
	const cleaned = text
		.toWellFormed()
		.replace(new RegExp(`[${leftOut}]`, "g"), "")
		.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\s]+/gu, " ")
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
	const digest = values.digest ? cleanText(values.digest, longestDigest, notInLists) : "";
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

/** A recognised placeholder, and what can be read in it. */
export interface ReadPlaceholder {
	readonly ref: string | undefined;
	/**
	 * Whether the reference can only be the one that we wrote. In the template `{tool_name} {ref} {tool_call_id}` a name
	 * or an id may hold what looks like another.
	 */
	readonly isRefCertain: boolean;
	readonly originalChars: number | undefined;
	/** The id of the call as `cleanValue` gives it; `undefined` where the template does not tell it for certain. */
	readonly toolCallId: string | undefined;
}

/**
 * Reads placeholders written from any of the templates, by their exact grammar; `undefined` for any other text. What is
 * recognised is never masked again, so masking twice equals masking once and no placeholder passes for an original.
 */
export function placeholderReader(templates: readonly string[]): (text: string) => ReadPlaceholder | undefined {
	const readers = templates.map(readerOf);
	// Every old result is asked about, and hardly one is a placeholder: its first character tells.
	const startsAnyhow = readers.some(({ opening }) => opening === "");
	const firsts = new Set(readers.map(({ opening }) => opening.charCodeAt(0)));
	return (text) => {
		if (!startsAnyhow && !firsts.has(text.charCodeAt(0))) return undefined;
		for (const { pattern, longest, opening, tells } of readers) {
			if (text.length > longest || !text.startsWith(opening)) continue;
			const found = pattern.exec(text);
			if (!found) continue;
			const { ref, original_chars: chars, tool_call_id: toolCallId } = found.groups ?? {};
			return {
				ref: refIn(ref),
				isRefCertain: tells.ref,
				originalChars: tells.originalChars && chars ? Number(chars) : undefined,
				toolCallId: tells.toolCallId ? toolCallId : undefined,
			};
		}
		return undefined;
	};
}

const value = (longest: number, leftOut: string) => `[^${leftOut}\\r\\n]{0,${longest}}`;

function readerOf(template: string) {
	const grammar = {
		tool_call_id: value(longestValue, notInValues),
		tool_name: value(longestValue, notInValues),
		original_chars: countGrammar,
		media: value(longestMedia, notInLists),
		ref: refGrammar,
		digest: value(longestDigest, notInLists),
	};
	const variables = template.match(/\{\w+\}/g)?.length ?? 0;
	// A text longer than any placeholder need not be matched at all; a character may be two UTF-16 code units.
	const forDigest = template.includes("{digest}") ? 2 * longestDigest : 0;
	const beside = (name: string) => bordersOf(template, name);
	return {
		pattern: templatePattern(template, grammar),
		longest: template.length + variables * 2 * longestMedia + forDigest,
		// What stands before the first variable tells most texts apart without the pattern.
		opening: template.split(/\{\w+\}/, 1)[0] ?? "",
		tells: {
			// Where another value or a digit stands beside it, nobody can tell where the number ends.
			originalChars: /(^|[^\d}])\{original_chars\}($|[^\d{])/.test(template),
			// One border is enough, since no reference holds a blank or any other sign; it must touch no value.
			ref: beside("ref").some((border) => border === "certain") && !beside("ref").includes("none"),
			toolCallId: beside("tool_call_id").every((border) => border === "certain"),
		},
	};
}

/**
 * The borders of a variable on its left and its right: none where a value touches it; certain where what stands there can
 * stand neither in a value of that side, for a reference, nor for an id in the id itself.
 */
function bordersOf(template: string, name: string): readonly ("certain" | "uncertain" | "none")[] {
	const pieces = template.split(/(\{\w+\})/);
	const at = pieces.indexOf(`{${name}}`);
	if (at === -1) return ["none", "none"];
	const isValue = (piece: string) => /^\{(?:tool_call_id|tool_name|media|digest)\}$/.test(piece);
	const border = (literal: string, side: readonly string[], holders = side) => {
		const isEdge = side.every((piece) => piece === "");
		if (literal === "" && !isEdge) return "none";
		// A number or a reference holds no other sign, so that such a sign ends it.
		const isPlain = isEdge || (!side.some(isValue) && /[^A-Za-z0-9-]/.test(literal));
		return isPlain || parts(literal, holders) ? "certain" : "uncertain";
	};
	const [before, after] = [pieces.slice(0, at - 1), pieces.slice(at + 2)];
	return [
		border(pieces[at - 1] ?? "", before),
		// Where the start is known, an id ends at the first character that it cannot hold.
		border(pieces[at + 1] ?? "", after, name === "ref" ? after : []),
	];
}

/** Whether a literal holds a character that none of the values among these pieces can hold. */
function parts(literal: string, pieces: readonly string[]): boolean {
	const hasList = pieces.some((piece) => piece === "{media}" || piece === "{digest}");
	return new RegExp(`[${hasList ? notInLists : notInValues}\\r\\n]`).test(literal);
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
