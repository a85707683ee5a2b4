import { equalsJson } from "../engine/equals-json.ts";
import { type Path, parseJsonPointer, valueAt } from "../engine/path.ts";

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
