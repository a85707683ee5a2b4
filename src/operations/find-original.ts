import type { Archive, Found } from "../archive/archive.ts";
import { equalsJson } from "../conversation/apply.ts";
import { type Path, parseJsonPointer, valueAt } from "../conversation/transcript.ts";
import { PalimpsestError } from "../errors.ts";
import type { ValueEdit } from "../json-text/edit.ts";
import { cleanValue, placeholderReader, type ReadPlaceholder } from "../masking/placeholder.ts";
import { presets, trimMarker } from "../policy/presets.ts";
import type { Policy } from "../policy/schema.ts";
import { locales, wordings } from "../policy/wordings.ts";
import {
	type FoundMarker,
	type FoundNotice,
	isAlreadyCut,
	longestLiteral,
	markerFinder,
	noticeFinder,
} from "../truncation/head-tail.ts";
import { stripEscapes } from "../truncation/lines.ts";
import { textLibraries } from "./text-libraries.ts";

/** A text of a result that may stand for an original. */
export interface Standing {
	readonly text: string;
	readonly path: Path;
	/** Path of the record or message that it stands in. */
	readonly record: Path;
	readonly callId: string | undefined;
}

/**
 * The original that a text stands for. `name` is what the text names it by: a reference, or the id of its call. `ambiguous`
 * is what looks like ours and need not be, and what may stand for several originals; `unnamed` is cut or masked and names no
 * reference.
 */
export type FoundOriginal =
	| { readonly kind: "none" }
	| { readonly kind: "missing" | "ambiguous" | "unnamed"; readonly name: string }
	| {
			readonly kind: "found";
			readonly name: string;
			readonly by: "ref" | "call";
			readonly edits: readonly ValueEdit[];
			readonly isRedacted: boolean;
	  };

/**
 * Finds originals in an archive by the references of placeholders and markers; where a caller asks for it, those that
 * name none by the id of their call. Another conversation may have used the same id, so that this may find its text.
 */
export function createOriginalFinder(what: {
	readonly archive: Archive;
	readonly policy: Policy;
	readonly document: unknown;
	readonly byCallId: boolean;
}): (standing: Standing) => Promise<FoundOriginal> {
	const { archive, policy, document, byCallId } = what;
	const readPlaceholder = placeholderReaderOf(policy);
	const findMarkers = markerFinder(markersOf(policy));
	const findNotices = noticeFinder([...archivedNotices, ...plainNotices]);
	const looksCut = cutRecogniser(policy);

	return async (standing) => {
		const { text } = standing;
		const placeholder = readPlaceholder(text);
		if (placeholder) return originalOfPlaceholder(placeholder, standing);
		const content = cutContentOf(text);
		const left: FoundOriginal[] = [];
		// What was cut twice holds the marker of the first cut too, which fits no more.
		for (const marker of findMarkers(content ?? text)) {
			const fits = (whole: string) => isCutFrom(marker, content === undefined ? whole : (contentOf(whole) ?? ""));
			const found = await originalOfMarker(marker, fits, standing);
			if (found.kind === "found") return found;
			left.push(found);
		}
		for (const notice of findNotices(text)) {
			const found = await originalOfNotice(notice, standing);
			if (found.kind === "found") return found;
			left.push(found);
		}
		const told = left.find(({ kind }) => kind === "missing") ?? left.find(({ kind }) => kind === "ambiguous");
		if (told) return told;
		return looksCut(content ?? text) ? { kind: "unnamed", name: nameOf(standing) } : { kind: "none" };
	};

	/** A tool may print what looks like a placeholder, so that all that it tells has to fit the result that it stands in. */
	async function originalOfPlaceholder(read: ReadPlaceholder, standing: Standing): Promise<FoundOriginal> {
		const { ref, originalChars, toolCallId } = read;
		const name = ref ?? nameOf(standing);
		if (toolCallId !== undefined && toolCallId !== cleanValue(standing.callId ?? ""))
			return { kind: "ambiguous", name };
		if (ref === undefined) {
			return byCallId ? byCall(standing, (one) => hasCharacters(one, originalChars)) : { kind: "unnamed", name };
		}
		const found = await getIfThere(archive, ref);
		if (!found) return { kind: "missing", name };
		const isItsOwn = hasCharacters(found, originalChars) && (await answersCall(ref, standing));
		return isItsOwn ? put(found, standing, "ref") : { kind: "ambiguous", name };
	}

	async function originalOfMarker(
		{ ref }: FoundMarker,
		fits: (whole: string) => boolean,
		standing: Standing,
	): Promise<FoundOriginal> {
		if (ref === undefined) {
			const found = byCallId ? await byCall(standing, ({ text }) => fits(text)) : undefined;
			// Any tool may print what looks like a marker without a reference.
			return found === undefined || found.kind === "missing" ? { kind: "none" } : found;
		}
		const found = await getIfThere(archive, ref);
		if (!found) return { kind: "missing", name: ref };
		const isOfCall = standing.callId !== undefined && (await answersCall(ref, standing));
		// What was redacted does not begin and end as it did.
		const isItsOwn = fits(found.text) ? isOfCall || isOfNoCall(found) : isOfCall && found.redactions > 0;
		if (isItsOwn) return put(found, standing, "ref");
		// The marker of another call, in other text, is a quotation.
		return isOfCall || fits(found.text) ? { kind: "ambiguous", name: ref } : { kind: "none" };
	}

	async function originalOfNotice(notice: FoundNotice, standing: Standing): Promise<FoundOriginal> {
		const { ref, isAtTop, totalChars } = notice;
		if (ref === undefined) {
			const isTried = byCallId && isAtTop && totalChars !== undefined;
			const found = isTried ? await byCall(standing, ({ text }) => isLongAs(notice, text)) : undefined;
			return found === undefined || found.kind === "missing" ? { kind: "none" } : found;
		}
		const found = await getIfThere(archive, ref);
		if (!found) return { kind: "missing", name: ref };
		if (!isLongAs(notice, found.text)) return { kind: "none" };
		if (await answersCall(ref, standing)) return put(found, standing, "ref");
		// Further down it is a quotation.
		return isAtTop ? { kind: "ambiguous", name: ref } : { kind: "none" };
	}

	/** Whether an original was taken from a result of that call; of a result without an id nobody can tell. */
	async function answersCall(ref: string, { callId }: Standing): Promise<boolean> {
		return callId === undefined || (await archive.find(callId)).some((listing) => listing.ref === ref);
	}

	async function byCall(standing: Standing, fits: (found: Found) => boolean): Promise<FoundOriginal> {
		const { callId } = standing;
		const name = nameOf(standing);
		if (callId === undefined) return { kind: "missing", name };
		const listings = (await archive.find(callId)).filter(({ kind }) => kind === "result" || kind === "media");
		const originals: Found[] = [];
		for (const ref of new Set(listings.map((listing) => listing.ref))) {
			const found = await getIfThere(archive, ref);
			if (found && fits(found)) originals.push(found);
		}
		const [only, another] = originals;
		if (!only) return { kind: "missing", name };
		return another ? { kind: "ambiguous", name } : put(only, standing, "call");
	}

	async function put(found: Found, standing: Standing, by: "ref" | "call"): Promise<FoundOriginal> {
		const done = { kind: "found", name: found.ref, by } as const;
		const fitting: FittingPlaces[] = [];
		let isRedacted = found.redactions > 0;
		for (const { ref } of (await archive.find(placesKey(found.ref))).toReversed()) {
			const stored = await getIfThere(archive, ref);
			const places = stored && parsePlaces(stored.text);
			const paths = places && pathsOfPlaces(places.places, document, standing.record);
			const edits = places && paths && editsOf(places, paths, found.text);
			if (stored && edits) fitting.push({ places, edits, isRedacted: stored.redactions > 0 });
			// What redaction has left of places may fit nowhere any more; what then comes back is less than what was there.
			else if (stored && stored.redactions > 0) isRedacted = true;
		}
		const [best] = fitting.sort(
			(a, b) => likeness(b.places, standing) - likeness(a.places, standing) || orderOf(b.places) - orderOf(a.places),
		);
		if (best) return { ...done, edits: best.edits, isRedacted: found.redactions > 0 || best.isRedacted };
		if (found.kind === "media") return { kind: "missing", name: found.ref };
		return { ...done, edits: [{ kind: "replace", path: standing.path, replacement: found.text }], isRedacted };
	}
}

interface FittingPlaces {
	readonly places: Places;
	readonly edits: readonly ValueEdit[];
	readonly isRedacted: boolean;
}

/** The edits that bring places back; `undefined` where redaction has left of one what is no JSON. */
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

/** How much speaks for these being the places of this very result; of two spellings of one text the later is likelier. */
function likeness({ record, tool_call_id }: Places, standing: Standing): number {
	return (record === standing.record.at(-1) ? 2 : 0) + (tool_call_id === standing.callId ? 1 : 0);
}

/** Whether a placeholder that tells so many characters can stand for an original: calls share ids. */
function hasCharacters({ text, redactions }: Found, characters: number | undefined): boolean {
	// What redaction took counts no more; the texts of a list stand a line apart, which no placeholder counts.
	if (characters === undefined || redactions > 0) return true;
	const apart = text.length - characters;
	return apart >= 0 && apart < text.split("\n").length;
}

function isCutFrom({ head, tail }: FoundMarker, text: string): boolean {
	return text.length > head.length + tail.length && text.startsWith(head) && text.endsWith(tail);
}

function isLongAs({ totalChars }: FoundNotice, text: string): boolean {
	// The notice for little room does not tell.
	if (totalChars === undefined) return true;
	return text.length === totalChars || stripEscapes(text, textLibraries.stripAnsi).length === totalChars;
}

/** What is kept under a reference; `undefined` where nothing is. */
export async function getIfThere(archive: Archive, ref: string): Promise<Found | undefined> {
	try {
		// A conversation may name thousands that have expired, and of each that is missing `get` would look for the nearest.
		return (await archive.has(ref)) ? await archive.get(ref) : undefined;
	} catch (error) {
		const isMissing = error instanceof PalimpsestError && error.code !== "archive_unavailable";
		if (isMissing) return undefined;
		throw error;
	}
}

/** How a report names a result. */
function nameOf({ callId }: Standing): string {
	return callId === undefined ? "a result without an id" : cleanValue(callId);
}

/** The `content` of a JSON object of which that alone was cut; `undefined` for any other text. */
function cutContentOf(text: string): string | undefined {
	return /"_truncated"\s*:\s*true/.test(text) ? contentOf(text) : undefined;
}

function contentOf(text: string): string | undefined {
	try {
		const value: unknown = JSON.parse(text);
		const content = typeof value === "object" && value !== null && "content" in value ? value.content : undefined;
		return typeof content === "string" ? content : undefined;
	} catch {
		return undefined;
	}
}

/** Whether an original was kept without its call, as `truncate` keeps texts. */
function isOfNoCall({ toolCallId }: Found): boolean {
	return toolCallId === undefined;
}

/** Markers of ours without and with a reference: those of every locale and preset, whichever cut the text. */
const plainMarkers = [...Object.values(locales).map(({ truncation_marker }) => truncation_marker), trimMarker.plain];

const archivedMarkers = [
	...Object.values(locales).map(({ archived }) => archived.truncation_marker),
	trimMarker.archived,
];

function markersOf(policy: Policy): string[] {
	const own = wordings(policy);
	return [...new Set([...archivedMarkers, ...plainMarkers, own.guardMarker, own.truncateMarker])];
}

const archivedNotices: readonly string[] = Object.values(locales).flatMap(({ archived: { notices } }) => [
	notices.notice,
	notices.whole,
	notices.short,
	notices.html,
]);

const plainNotices: readonly string[] = Object.values(locales).flatMap(({ notices }) => [
	notices.notice,
	notices.whole,
	notices.short,
	notices.html,
]);

/**
 * Recognises texts that were cut and do not say where the whole is. Claude Code cuts with the words of our English marker,
 * and a marker of the policy's own may be no more than three dots: these count only where this policy or a preset puts them.
 */
function cutRecogniser(policy: Policy): (text: string) => boolean {
	const { guardMarker, truncateMarker } = wordings(policy);
	const english = locales.en.truncation_marker;
	const distinct = plainMarkers.filter((marker) => marker !== english);
	const placed = new Set([english, guardMarker, truncateMarker].filter((marker) => !distinct.includes(marker)));
	const ends = keptEnds(policy);
	const isPlaced = (text: string, marker: string) =>
		text.includes(longestLiteral(marker)) && ends.some((one) => isAlreadyCut(text, { ...one, marker }));
	const findMarkers = markerFinder(distinct);
	const findNotices = noticeFinder(plainNotices);
	return (text) =>
		findMarkers(text).length > 0 ||
		findNotices(text).some(({ isAtTop }) => isAtTop) ||
		[...placed].some((marker) => isPlaced(text, marker));
}

/** How much of head and tail cutting keeps by a policy, and by each preset. */
function keptEnds(policy: Policy): readonly { readonly headChars: number; readonly tailChars: number }[] {
	return [policy, ...Object.values(presets).map((preset) => preset.policy)].flatMap(({ guard, truncate }) => [
		{ headChars: guard?.truncate_head_chars ?? 2_000, tailChars: guard?.truncate_tail_chars ?? 2_000 },
		{ headChars: truncate?.head_chars ?? 2_000, tailChars: truncate?.tail_chars ?? 2_000 },
	]);
}

/** Recognises the placeholders of a policy and of every locale, whichever wrote them in an earlier call. */
export function placeholdersOf(policy: Policy): (text: string) => boolean {
	const read = placeholderReaderOf(policy);
	return (text) => read(text) !== undefined;
}

/** Reads the placeholders of a policy and of every locale, with the reference that they give. */
export function placeholderReaderOf(policy: Policy): ReadPlaceholderText {
	const { placeholder } = wordings(policy);
	const known = readers.get(placeholder);
	if (known) return known;
	const read = readerOf(placeholder);
	if (readers.size >= mostReaders) readers.clear();
	readers.set(placeholder, read);
	return read;
}

type ReadPlaceholderText = (text: string) => ReadPlaceholder | undefined;

// Made for a policy's wording once, since its patterns take longer to make than a short conversation takes to mask.
const readers = new Map<string, ReadPlaceholderText>();

const mostReaders = 16;

function readerOf(ownPlaceholder: string): ReadPlaceholderText {
	// With a reference first: a name or an id might hold what looks like one.
	const templates = Object.values(locales).flatMap(({ archived, recall_hint, ...plain }) => [
		archived.placeholder,
		archived.digest_placeholder,
		archived.media_placeholder,
		archived.placeholder + recall_hint,
		archived.digest_placeholder + recall_hint,
		archived.media_placeholder + recall_hint,
		plain.placeholder,
		plain.digest_placeholder,
		plain.media_placeholder,
	]);
	return placeholderReader([...new Set([ownPlaceholder, ...templates])]);
}

/**
 * The values that masking or truncating one result replaced, kept beside the result's text where that alone would not
 * bring back the very bytes: a list of several parts, an image, a second copy, another spelling.
 */
export interface Places {
	/** Index of the record that holds the result, as it was then: of two results with one text it tells which. */
	readonly record: number;
	readonly tool_call_id?: string | undefined;
	readonly places: readonly Place[];
	/** Of the places that differ in spelling alone, the one with the highest number was kept last; absent: 0. */
	readonly order?: number;
}

/** One replaced value. */
export interface Place {
	/** The record that it stands in, counted from the one that holds the result. */
	readonly offset: number;
	/** JSON Pointer (RFC 6901) within the record. */
	readonly path: string;
	/** What was put there. */
	readonly is: unknown;
	/** The JSON that stood there, as it was spelled; absent where the archived text itself is that. */
	readonly was?: string;
}

/** The name under which the places of an original are found; no tool call has such an id in practice. */
export function placesKey(ref: string): string {
	return `places:${ref}`;
}

export function orderOf(places: Places | undefined): number {
	return Number.isSafeInteger(places?.order) ? (places?.order ?? 0) : 0;
}

/** Places as text, to compare them but for their order, or but for their order and what stood there. */
export function placesBut({ order: _, ...rest }: Places, what: "order" | "spelling"): string {
	if (what === "order") return JSON.stringify(rest);
	return JSON.stringify({ ...rest, places: rest.places.map(({ was: _spelling, ...place }) => place) });
}

/** Reads archived places; `undefined` for any other text. */
export function parsePlaces(text: string): Places | undefined {
	try {
		const read: unknown = JSON.parse(text);
		const isPlaces = typeof read === "object" && read !== null && "places" in read && Array.isArray(read.places);
		return isPlaces ? (read as Places) : undefined;
	} catch {
		return undefined;
	}
}

/** The paths of the places in a document, where each still holds what was put there; `undefined` where one does not. */
export function pathsOfPlaces(places: readonly Place[], document: unknown, record: Path): Path[] | undefined {
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
