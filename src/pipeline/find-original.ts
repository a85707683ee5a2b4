import type { Archive, Found } from "../archive/archive.ts";
import type { ValueEdit } from "../documents/write-plan.ts";
import type { Path } from "../engine/path.ts";
import { type FoundNotice, noticeFinder } from "../engine/truncate/find-notices.ts";
import { type FoundMarker, markerFinder } from "../engine/truncate/marker.ts";
import { stripEscapes } from "../engine/truncate/strip-escapes.ts";
import { PalimpsestError } from "../errors.ts";
import { locales } from "../policy/locale.ts";
import type { Policy } from "../policy/schema.ts";
import { wordings } from "../policy/wordings.ts";
import { placeholderReaderOf } from "./placeholders-of.ts";
import { type Places, parsePlaces, pathsOfPlaces, placesKey } from "./places.ts";
import { textLibraries } from "./text-libraries.ts";

/** A text of a result that may stand for an original. */
export interface Standing {
	readonly text: string;
	readonly path: Path;
	/** Path of the record or message that it stands in. */
	readonly record: Path;
	readonly callId: string | undefined;
}

/** The original that a text stands for. `name` is what the text names it by: a reference, or the id of its call. */
export type FoundOriginal =
	| { readonly kind: "none" }
	| { readonly kind: "missing" | "ambiguous"; readonly name: string }
	| {
			readonly kind: "found";
			readonly name: string;
			readonly edits: readonly ValueEdit[];
			readonly isRedacted: boolean;
	  };

/** Finds originals in an archive, by the references of placeholders and markers, else by the id of the call. */
export function createOriginalFinder(what: {
	readonly archive: Archive;
	readonly policy: Policy;
	readonly document: unknown;
}): (standing: Standing) => Promise<FoundOriginal> {
	const { archive, policy, document } = what;
	const readPlaceholder = placeholderReaderOf(policy);
	const findMarkers = markerFinder(markersOf(policy));
	const findNotices = noticeFinder(archivedNotices);

	return async (standing) => {
		const placeholder = readPlaceholder(standing.text);
		if (placeholder?.ref !== undefined) return byRef(placeholder.ref, standing, () => true);
		if (placeholder) return byCall(standing, (one) => hasCharacters(one, placeholder.originalChars));
		for (const marker of findMarkers(standing.text)) {
			const isWhole = ({ text }: Found) => isCutFrom(marker, text);
			const found =
				marker.ref === undefined ? await byCall(standing, isWhole) : await byRef(marker.ref, standing, isWhole);
			// Any tool may print what looks like a marker; one that names a reference is ours.
			if (found.kind === "none" || (found.kind === "missing" && marker.ref === undefined)) continue;
			return found;
		}
		for (const notice of findNotices(standing.text)) {
			const found = await byRef(notice.ref, standing, (one) => isLongAs(notice, one.text));
			if (found.kind === "none" || (found.kind === "found" && !(await answersCall(notice.ref, standing)))) continue;
			return found;
		}
		return { kind: "none" };
	};

	/** Whether an original was taken from a result of that call: what quotes a notice of another result is no excerpt. */
	async function answersCall(ref: string, { callId }: Standing): Promise<boolean> {
		return callId === undefined || (await archive.find(callId)).some((listing) => listing.ref === ref);
	}

	async function byRef(ref: string, standing: Standing, fits: (found: Found) => boolean): Promise<FoundOriginal> {
		const found = await getIfThere(archive, ref);
		if (!found) return { kind: "missing", name: ref };
		return fits(found) ? put(found, standing) : { kind: "none" };
	}

	async function byCall(standing: Standing, fits: (found: Found) => boolean): Promise<FoundOriginal> {
		const { callId } = standing;
		if (callId === undefined) return { kind: "missing", name: "a result without an id" };
		const listings = (await archive.find(callId)).filter(({ kind }) => kind === "result" || kind === "media");
		const originals: Found[] = [];
		for (const ref of new Set(listings.map((listing) => listing.ref))) {
			const found = await getIfThere(archive, ref);
			if (found && fits(found)) originals.push(found);
		}
		const [only, another] = originals;
		if (!only) return { kind: "missing", name: callId };
		return another ? { kind: "ambiguous", name: callId } : put(only, standing);
	}

	async function put(found: Found, standing: Standing): Promise<FoundOriginal> {
		const done = { kind: "found", name: found.ref } as const;
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
		const [best] = fitting.sort((a, b) => likeness(b.places, standing) - likeness(a.places, standing));
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
	return text.length === totalChars || stripEscapes(text, textLibraries.stripAnsi).length === totalChars;
}

async function getIfThere(archive: Archive, ref: string): Promise<Found | undefined> {
	try {
		// A conversation may name thousands that have expired, and of each that is missing `get` would look for the nearest.
		return (await archive.has(ref)) ? await archive.get(ref) : undefined;
	} catch (error) {
		const isMissing = error instanceof PalimpsestError && error.code !== "archive_unavailable";
		if (isMissing) return undefined;
		throw error;
	}
}

function markersOf(policy: Policy): string[] {
	const own = wordings(policy);
	const ofLocales = Object.values(locales).flatMap(({ archived, truncation_marker }) => [
		archived.truncation_marker,
		truncation_marker,
	]);
	return [...new Set([...ofLocales, own.guardMarker, own.truncateMarker])];
}

const archivedNotices: readonly string[] = Object.values(locales).flatMap(({ archived: { notices } }) => [
	notices.notice,
	notices.whole,
	notices.html,
]);
