import { equalsJson } from "../../engine/conversation/apply.js";
import { parseJsonObject } from "../../engine/conversation/json.js";
import { parseJsonPointer, valueAt } from "../../engine/conversation/paths.js";
import { PalimpsestError } from "../../errors.js";
/** No tool call has this id. */
export function placesKey(ref) {
	return `places:${ref}`;
}
export function orderOf(places) {
	const order = places?.order ?? 0;
	return Number.isSafeInteger(order) ? order : 0;
}
export function parsePlaces(text) {
	const read = parseJsonObject(text);
	return Array.isArray(read?.places) ? read : undefined;
}
/** The edits that put an original back; `undefined` unless each place still holds its new value. */
export function editsOfPlaces({ places }, result) {
	const { document, record, text } = result;
	const base = record.slice(0, -1);
	const edits = [];
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
export async function makeLatest(what) {
	const { places, earlier, refOf, read } = what;
	const own = refOf(JSON.stringify(places));
	if (earlier.every(({ ref }) => ref === own)) return places;
	const where = withoutSpellings(places);
	let latest;
	for (const { ref } of earlier) {
		const one = await read(ref);
		if (one && withoutSpellings(one) === where && orderOf(one) >= orderOf(latest)) latest = one;
	}
	if (!latest) return places;
	return withoutOrder(latest) === withoutOrder(places) ? latest : { ...places, order: orderOf(latest) + 1 };
}
function withoutOrder({ order: _, ...rest }) {
	return JSON.stringify(rest);
}
function withoutSpellings({ order: _, places, ...rest }) {
	return JSON.stringify({ ...rest, places: places.map(({ was: _spelling, ...place }) => place) });
}
export async function getIfThere(archive, ref) {
	try {
		// Asks `has` first: for each missing reference, `get` searches for the nearest one, and thousands may have expired.
		return (await archive.has(ref)) ? await archive.get(ref) : undefined;
	} catch (error) {
		if (error instanceof PalimpsestError && error.code !== "archive_unavailable") return undefined;
		throw error;
	}
}
