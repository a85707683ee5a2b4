import { equalsJson } from "../../engine/conversation/apply.ts";
import { parseJsonObject } from "../../engine/conversation/json.ts";
import { type Path, parseJsonPointer, valueAt } from "../../engine/conversation/paths.ts";
import { PalimpsestError } from "../../errors.ts";
import type { ValueEdit } from "../../formats/json-text/edit.ts";
import type { Archive, Found, Listing } from "../archive/archive.ts";

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

/** The edits that put an original back; `undefined` unless each place still holds its new value. */
export function editsOfPlaces(
	{ places }: Places,
	result: { readonly document: unknown; readonly record: Path; readonly text: string },
): ValueEdit[] | undefined {
	const { document, record, text } = result;
	const base = record.slice(0, -1);
	const edits: ValueEdit[] = [];
	for (const { offset, path, is, was: spelling = text } of places) {
		const at = [...base, Number(record.at(-1)) + offset];
		const value = valueAt(document, at);
		const rest = parseJsonPointer(path, value);
		if (rest === undefined || !equalsJson(is, valueAt(value, rest))) return undefined;
		try {
			edits.push({ kind: "replace", path: [...at, ...rest], replacement: JSON.parse(spelling), spelling });
		} catch {
			return undefined;
		}
	}
	return edits;
}

/** Numbers places that differ only in spelling: two programs may write the same session in turn. */
export async function makeLatest(what: {
	readonly places: Places;
	readonly earlier: readonly Listing[];
	readonly refOf: Archive["refOf"];
	readonly read: (ref: string) => Promise<Places | undefined>;
}): Promise<Places> {
	const { places, earlier, refOf, read } = what;
	const own = refOf(JSON.stringify(places));
	if (earlier.every(({ ref }) => ref === own)) return places;
	const where = withoutSpellings(places);
	let latest: Places | undefined;
	for (const { ref } of earlier) {
		const one = await read(ref);
		if (one && withoutSpellings(one) === where && orderOf(one) >= orderOf(latest)) latest = one;
	}
	if (!latest) return places;
	return withoutOrder(latest) === withoutOrder(places) ? latest : { ...places, order: orderOf(latest) + 1 };
}

function withoutOrder({ order: _, ...rest }: Places): string {
	return JSON.stringify(rest);
}

function withoutSpellings({ order: _, places, ...rest }: Places): string {
	return JSON.stringify({ ...rest, places: places.map(({ was: _spelling, ...place }) => place) });
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
