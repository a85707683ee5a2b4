import { placeholderReader, type ReadPlaceholder } from "../../engine/masking/placeholder.ts";
import { presets, trimMarker } from "../../engine/policy/presets.ts";
import type { Policy } from "../../engine/policy/schema.ts";
import { locales, type Originals, wordings } from "../../engine/policy/wordings.ts";
import {
	type FoundMarker,
	isAlreadyCut,
	longestLiteral,
	markerFinder,
	noticeFinder,
} from "../../engine/truncation/head-tail.ts";

const everyLocale = Object.values(locales);

export function placeholdersOf(policy: Policy, originals?: Originals): (text: string) => boolean {
	const read = placeholderReaderOf(policy, originals);
	return (text) => read(text) !== undefined;
}

export function placeholderReaderOf(
	policy: Policy,
	originals?: Originals,
): (text: string) => ReadPlaceholder | undefined {
	const { placeholder } = wordings(policy, originals);
	const known = readers.get(placeholder);
	if (known) return known;
	const read = placeholderReader([...new Set([placeholder, ...placeholderTemplates])]);
	if (readers.size >= mostReaders) readers.clear();
	readers.set(placeholder, read);
	return read;
}

// Cached by wording, because making the patterns takes longer than masking a short conversation.
const readers = new Map<string, (text: string) => ReadPlaceholder | undefined>();
const mostReaders = 16;
const placeholderForms = [
	"placeholder",
	"digest_placeholder",
	"short_placeholder",
	"short_digest_placeholder",
	"media_placeholder",
] as const;
const placeholderTemplates = everyLocale.flatMap(({ archived, recall_hint, ...plain }) => {
	const withReference = placeholderForms.map((form) => archived[form]);
	const withHint = withReference.map((template) => template + recall_hint);
	return [...withReference, ...withHint, ...placeholderForms.map((form) => plain[form])];
});

// ---- Markers and notices ----

const plainMarkers = [...everyLocale.map(({ truncation_marker }) => truncation_marker), trimMarker.plain];
const archivedMarkers = [...everyLocale.map(({ archived }) => archived.truncation_marker), trimMarker.archived];
const noticeForms = ["notice", "whole", "short", "html"] as const;
const plainNotices = everyLocale.flatMap(({ notices }) => noticeForms.map((form) => notices[form]));
const archivedNotices = everyLocale.flatMap(({ archived }) => noticeForms.map((form) => archived.notices[form]));

/** The start of the line in the place of lines that are in view, up to the name of a result. */
const archivedRepeats = everyLocale.map(({ archived }) => archived.repeat.split("{source}", 1)[0] as string);

/** Finds the notices of texts that were shortened and archived. */
export const findNotices = noticeFinder([...archivedNotices, ...archivedRepeats]);

/** Finds the markers of texts that were cut and archived. */
export function markersWithReference(policy: Policy): (text: string) => FoundMarker[] {
	const { guardMarker, truncateMarker } = wordings(policy);
	return markerFinder([...new Set([...archivedMarkers, guardMarker, truncateMarker])]);
}

/**
 * Recognises truncated texts without a reference. Claude Code truncates with the words of our English marker, and the
 * policy's marker may be just three dots, so these count only in the position where this policy or a preset puts them.
 */
export function cutRecogniser(policy: Policy): (text: string) => boolean {
	const { guardMarker, truncateMarker } = wordings(policy);
	const english = locales.en.truncation_marker;
	const distinct = plainMarkers.filter((marker) => marker !== english);
	const placed = new Set([english, guardMarker, truncateMarker]);
	const ends = [policy, ...Object.values(presets).map((preset) => preset.policy)].flatMap(({ guard, truncate }) => [
		{ headChars: guard?.truncate_head_chars ?? 2_000, tailChars: guard?.truncate_tail_chars ?? 2_000 },
		{ headChars: truncate?.head_chars ?? 2_000, tailChars: truncate?.tail_chars ?? 2_000 },
	]);
	const isPlaced = (text: string, marker: string) =>
		text.includes(longestLiteral(marker)) && ends.some((one) => isAlreadyCut(text, { ...one, marker }));
	const findMarkers = markerFinder(distinct);
	const findPlainNotices = noticeFinder(plainNotices);
	return (text) =>
		findMarkers(text).length > 0 ||
		findPlainNotices(text).some(({ isAtTop }) => isAtTop) ||
		[...placed].some((marker) => isPlaced(text, marker));
}

/** The reference in the notice at the top of a text that was shortened and archived; `undefined` for other texts. */
export function shortenedRef(text: string): string | undefined {
	const start = text.slice(0, mostBeforeText);
	const [firstLine = ""] = start.split("\n", 1);
	// Of a hook or of `run`: the notice closes with the command that reads all of it.
	const ofCommand = /^\[.* recall (?<ref>[A-Za-z0-9-]{5,40})\]/.exec(firstLine)?.groups?.ref;
	return ofCommand ?? findNotices(start).find(({ isAtTop }) => isAtTop)?.ref;
}

/** A notice with its hint is far shorter. */
const mostBeforeText = 1_000;

/** Whether a line stands for lines of an earlier result, in any locale. */
export function isReferenceLine(line: string): boolean {
	return line.startsWith("[") && referenceForms.some((form) => form.test(line));
}

/** What a line in the place of others points to. */
export interface LineReference {
	/** How it calls the result. */
	readonly source: string;
	/** The last of the lines, from 1. */
	readonly sourceTo: number;
}

/** Finds the lines of a text that refer to lines of earlier results, in any locale. */
export function referencesIn(text: string): readonly LineReference[] {
	if (!referenceWords.some((words) => text.includes(words))) return [];
	return text.split("\n").flatMap((line) => {
		const found = line.startsWith("[") ? referenceForms.map((form) => form.exec(line)).find((one) => one) : undefined;
		const { source, source_to } = found?.groups ?? {};
		return source === undefined ? [] : [{ source, sourceTo: Number(source_to) }];
	});
}

const referenceForms = everyLocale.flatMap(({ repeat, archived, numbers_higher, numbers_lower }) => {
	const plain = (text: string) => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
	const numbers = [numbers_higher, numbers_lower].map((one) => one.split("{shift}").map(plain).join("\\d+"));
	const variables = { source: "(?<source>.*?)", numbers: `(?:${numbers.join("|")})?`, ref: "[\\w-]+" };
	return [repeat, archived.repeat].map((template) => {
		const parts = template.split(/\{(\w+)\}/).map((part, index) => {
			if (index % 2 === 0) return plain(part);
			return variables[part as keyof typeof variables] ?? `(?<${part}>\\d+)`;
		});
		return new RegExp(`^${parts.join("")}\\r?$`);
	});
});

/** Each of these stands in a line of one locale. */
const referenceWords = everyLocale.map(({ repeat }) => longestLiteral(repeat));
