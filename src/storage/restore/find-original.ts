import { stripVTControlCharacters } from "node:util";
import { parseJsonObject } from "../../engine/conversation/json.ts";
import type { Path } from "../../engine/conversation/paths.ts";
import { inFrame, type TextNode } from "../../engine/conversation/transcript.ts";
import { cleanValue, type ReadPlaceholder } from "../../engine/masking/placeholder.ts";
import type { Policy } from "../../engine/policy/schema.ts";
import type { Originals } from "../../engine/policy/wordings.ts";
import type { FoundMarker, FoundNotice } from "../../engine/truncation/head-tail.ts";
import { stripEscapes } from "../../engine/truncation/lines.ts";
import type { ValueEdit } from "../../formats/json-text/edit.ts";
import { stringAt } from "../../formats/json-text/value.ts";
import type { Archive, Found } from "../archive/archive.ts";
import { formsOfRef } from "../archive/reference.ts";
import { editsOfPlaces, getIfThere, orderOf, type Places, parsePlaces, placesKey } from "./places.ts";
import { cutRecogniser, findNotices, markersWithReference, placeholderReaderOf } from "./recognise.ts";

interface ResultText extends TextNode {
	readonly record: Path;
	readonly callId: string | undefined;
}

/** `ambiguous`: a tool may have printed the text. `unnamed`: the text names no reference. */
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
	const findMarkers = markersWithReference(policy);
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
			...findNotices(text).map((notice) => () => originalOfNotice(notice, result)),
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
			const edits = places && editsOfPlaces(places, { document, record: result.record, text: found.text });
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

function nameOf({ callId }: ResultText): string {
	return callId === undefined ? "a result without an id" : cleanValue(callId);
}

function contentOf(text: string): string | undefined {
	const value = parseJsonObject(text);
	return value && stringAt(value, "content");
}
