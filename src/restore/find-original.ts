import { stripVTControlCharacters } from "node:util";
import type { Archive, Found } from "../archive/archive.ts";
import { formsOfRef } from "../archive/reference.ts";
import { equalsJson } from "../conversation/apply.ts";
import { parseJsonObject } from "../conversation/json.ts";
import { inFrame, type Path, parseJsonPointer, type TextNode, valueAt } from "../conversation/transcript.ts";
import { PalimpsestError } from "../errors.ts";
import type { ValueEdit } from "../json-text/edit.ts";
import { stringAt } from "../json-text/value.ts";
import { cleanValue, placeholderReader, type ReadPlaceholder } from "../masking/placeholder.ts";
import { presets, trimMarker } from "../policy/presets.ts";
import type { Policy } from "../policy/schema.ts";
import { locales, type Originals, wordings } from "../policy/wordings.ts";
import {
	type FoundMarker,
	type FoundNotice,
	isAlreadyCut,
	longestLiteral,
	markerFinder,
	noticeFinder,
} from "../truncation/head-tail.ts";
import { stripEscapes } from "../truncation/lines.ts";

interface ResultText extends TextNode {
	readonly record: Path;
	readonly callId: string | undefined;
}

/** `ambiguous`: a tool may have printed the text, or several originals fit. `unnamed`: the text names no reference. */
type FoundOriginal =
	| { readonly kind: "missing" | "ambiguous" | "unnamed"; readonly name: string }
	| {
			readonly kind: "found";
			readonly name: string;
			readonly edits: readonly ValueEdit[];
			readonly isRedacted: boolean;
	  };

export function createOriginalFinder(what: {
	readonly archive: Archive;
	readonly policy: Policy;
	readonly document: unknown;
	readonly originals?: Originals | undefined;
}): (result: ResultText) => Promise<FoundOriginal | undefined> {
	const { archive, policy, document, originals } = what;
	const readPlaceholder = placeholderReaderOf(policy, originals);
	const { guardMarker, truncateMarker } = wordings(policy);
	const findMarkers = markerFinder([...new Set([...archivedMarkers, guardMarker, truncateMarker])]);
	const looksCut = cutRecogniser(policy);

	return async (result) => {
		const { text } = result;
		const placeholder = readPlaceholder(text);
		if (placeholder) return originalOfPlaceholder(placeholder, result);
		const content = /"_truncated"\s*:\s*true/.test(text) ? contentOf(text) : undefined;
		const fitsMarker = (marker: FoundMarker) => (whole: string) =>
			isCutFrom(marker, content === undefined ? whole : (contentOf(whole) ?? ""));
		// A text that was truncated twice also holds the marker of the first time, which no longer fits.
		const candidates = [
			...findMarkers(content ?? text).map((marker) => () => originalOfMarker(marker, fitsMarker(marker), result)),
			...noticesWithReference(text).map((notice) => () => originalOfNotice(notice, result)),
		];
		const rejected: FoundOriginal[] = [];
		for (const candidate of candidates) {
			const found = await candidate();
			if (found?.kind === "found") return found;
			if (found) rejected.push(found);
		}
		const reported = rejected.find(({ kind }) => kind === "missing") ?? rejected[0];
		if (reported) return reported;
		return looksCut(content ?? text) ? { kind: "unnamed", name: nameOf(result) } : undefined;
	};

	/** A tool may print a text that looks like a placeholder, so all of its values must fit the result. */
	async function originalOfPlaceholder(read: ReadPlaceholder, result: ResultText): Promise<FoundOriginal> {
		const { ref, originalChars, toolCallId } = read;
		const name = ref ?? nameOf(result);
		if (toolCallId !== undefined && toolCallId !== cleanValue(result.callId ?? "")) return { kind: "ambiguous", name };
		if (ref === undefined) return { kind: "unnamed", name };
		const found = await getIfThere(archive, ref);
		if (!found) return { kind: "missing", name };
		const isItsOwn = hasCharacters(found, originalChars) && (await answersCall(found, result));
		return isItsOwn ? restored(found, result) : { kind: "ambiguous", name };
	}

	async function originalOfMarker(
		{ ref }: FoundMarker,
		fits: (whole: string) => boolean,
		result: ResultText,
	): Promise<FoundOriginal | undefined> {
		if (ref === undefined) return undefined;
		const found = await getIfThere(archive, ref);
		if (!found) return { kind: "missing", name: ref };
		const isOfCall = result.callId !== undefined && (await answersCall(found, result));
		// `truncate` archives texts without a call. A result without an id may hold the text of a call that has one.
		const isOfAnyCall = isOfCall || result.callId === undefined || found.toolCallId === undefined;
		// A redacted text may begin and end differently.
		const isItsOwn = fits(found.text) ? isOfAnyCall : isOfCall && found.redactions > 0;
		if (isItsOwn) return restored(found, result);
		// The marker of another call in another text is a quotation.
		return isOfCall || fits(found.text) ? { kind: "ambiguous", name: ref } : undefined;
	}

	async function originalOfNotice(notice: FoundNotice, result: ResultText): Promise<FoundOriginal | undefined> {
		const { ref, isAtTop } = notice;
		if (ref === undefined) return undefined;
		const found = await getIfThere(archive, ref);
		if (!found) return { kind: "missing", name: ref };
		if (!isLongAs(notice, found.text)) return undefined;
		if (await answersCall(found, result)) return restored(found, result);
		// A notice further down is a quotation.
		return isAtTop ? { kind: "ambiguous", name: ref } : undefined;
	}

	async function answersCall({ ref }: Found, { callId }: ResultText): Promise<boolean> {
		return callId === undefined || (await archive.find(callId)).some((listing) => listing.ref === ref);
	}

	async function restored(found: Found, result: ResultText): Promise<FoundOriginal> {
		const done = { kind: "found", name: found.ref } as const;
		const fitting: { places: Places; edits: ValueEdit[]; isRedacted: boolean }[] = [];
		let isRedacted = found.redactions > 0;
		const keys = formsOfRef(found.ref).map(placesKey);
		const listings = (await Promise.all(keys.map(archive.find))).flat();
		for (const { ref } of listings.toReversed()) {
			const stored = await getIfThere(archive, ref);
			const places = stored && parsePlaces(stored.text);
			const paths = places && pathsOfPlaces(places.places, document, result.record);
			const edits = places && paths && editsOf(places, paths, found.text);
			if (stored && edits) fitting.push({ places, edits, isRedacted: stored.redactions > 0 });
			// Redacted values may fit nowhere; the result then comes back without them.
			else if (stored && stored.redactions > 0) isRedacted = true;
		}
		const [best] = fitting.sort(
			(a, b) => likeness(b.places, result) - likeness(a.places, result) || orderOf(b.places) - orderOf(a.places),
		);
		if (best) return { ...done, edits: best.edits, isRedacted: found.redactions > 0 || best.isRedacted };
		if (found.kind === "media") return { kind: "missing", name: found.ref };
		return {
			...done,
			edits: [{ kind: "replace", path: result.path, replacement: inFrame(result, found.text) }],
			isRedacted,
		};
	}
}

function editsOf({ places }: Places, paths: readonly Path[], text: string): ValueEdit[] | undefined {
	try {
		return places.map(({ was }, index): ValueEdit => {
			const spelling = was ?? text;
			return { kind: "replace", path: paths[index] ?? [], replacement: JSON.parse(spelling), spelling };
		});
	} catch {
		return undefined;
	}
}

function likeness({ record, tool_call_id }: Places, result: ResultText): number {
	return (record === result.record.at(-1) ? 2 : 0) + (tool_call_id === result.callId ? 1 : 0);
}

function hasCharacters({ text, redactions }: Found, characters: number | undefined): boolean {
	// Redaction changes the number; a placeholder does not count the line feeds between the texts of a list.
	if (characters === undefined || redactions > 0) return true;
	const apart = text.length - characters;
	return apart >= 0 && apart < text.split("\n").length;
}

function isCutFrom({ head, tail }: FoundMarker, text: string): boolean {
	return text.length > head.length + tail.length && text.startsWith(head) && text.endsWith(tail);
}

function isLongAs({ totalChars }: FoundNotice, text: string): boolean {
	// The shortest notice gives no number.
	if (totalChars === undefined) return true;
	return text.length === totalChars || stripEscapes(text, stripVTControlCharacters).length === totalChars;
}

export async function getIfThere(archive: Archive, ref: string): Promise<Found | undefined> {
	try {
		// Asks `has` first: for each missing reference, `get` searches for the nearest one, and thousands may have expired.
		return (await archive.has(ref)) ? await archive.get(ref) : undefined;
	} catch (error) {
		if (error instanceof PalimpsestError && error.code !== "archive_unavailable") return undefined;
		throw error;
	}
}

function nameOf({ callId }: ResultText): string {
	return callId === undefined ? "a result without an id" : cleanValue(callId);
}

function contentOf(text: string): string | undefined {
	const value = parseJsonObject(text);
	return value && stringAt(value, "content");
}

const everyLocale = Object.values(locales);
const plainMarkers = [...everyLocale.map(({ truncation_marker }) => truncation_marker), trimMarker.plain];
const archivedMarkers = [...everyLocale.map(({ archived }) => archived.truncation_marker), trimMarker.archived];
const noticeForms = ["notice", "whole", "short", "html"] as const;
const plainNotices = everyLocale.flatMap(({ notices }) => noticeForms.map((form) => notices[form]));
const archivedNotices = everyLocale.flatMap(({ archived }) => noticeForms.map((form) => archived.notices[form]));
const noticesWithReference = noticeFinder(archivedNotices);

/**
 * Recognises truncated texts without a reference. Claude Code truncates with the words of our English marker, and the
 * policy's marker may be just three dots, so these count only in the position where this policy or a preset puts them.
 */
function cutRecogniser(policy: Policy): (text: string) => boolean {
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
	const findNotices = noticeFinder(plainNotices);
	return (text) =>
		findMarkers(text).length > 0 ||
		findNotices(text).some(({ isAtTop }) => isAtTop) ||
		[...placed].some((marker) => isPlaced(text, marker));
}

/** The reference in the notice at the top of a text that was shortened and archived; `undefined` for other texts. */
export function shortenedRef(text: string): string | undefined {
	const start = text.slice(0, mostBeforeText);
	const [firstLine = ""] = start.split("\n", 1);
	// Of a hook or of `run`: the notice closes with the command that reads all of it.
	const ofCommand = /^\[.* recall (?<ref>[A-Za-z0-9-]{5,40})\]/.exec(firstLine)?.groups?.ref;
	return ofCommand ?? noticesWithReference(start).find(({ isAtTop }) => isAtTop)?.ref;
}

/** A notice with its hint is far shorter. */
const mostBeforeText = 1_000;

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

/** The replaced values of one result, archived if its text alone could not restore the bytes. */
export interface Places {
	readonly record: number;
	readonly tool_call_id?: string | undefined;
	readonly places: readonly Place[];
	readonly order?: number;
}

export interface Place {
	/** Number of records after that of the result. */
	readonly offset: number;
	readonly path: string;
	/** The new value. */
	readonly is: unknown;
	/** The JSON before, in its spelling; absent if it is the archived text. */
	readonly was?: string;
}

/** No tool call has this id. */
export function placesKey(ref: string): string {
	return `places:${ref}`;
}

export function orderOf(places: Places | undefined): number {
	const order = places?.order ?? 0;
	return Number.isSafeInteger(order) ? order : 0;
}

export function parsePlaces(text: string): Places | undefined {
	const read = parseJsonObject(text);
	return Array.isArray(read?.places) ? (read as unknown as Places) : undefined;
}

/** `undefined` unless each place still holds its new value. */
function pathsOfPlaces(places: readonly Place[], document: unknown, record: Path): Path[] | undefined {
	const base = record.slice(0, -1);
	const paths: Path[] = [];
	for (const place of places) {
		const at = [...base, Number(record.at(-1)) + place.offset];
		const value = valueAt(document, at);
		const rest = parseJsonPointer(place.path, value);
		if (rest === undefined || !equalsJson(place.is, valueAt(value, rest))) return undefined;
		paths.push([...at, ...rest]);
	}
	return paths;
}
