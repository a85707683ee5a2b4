import { addRange, type CharRange } from "./draft.ts";
import { encodedMark } from "./encoded.ts";
import type { JsonSizes } from "./json-sizes.ts";
import { jsonStringEdge, jsonStringEdgeAfter } from "./json-spans.ts";

interface StringRoom {
	readonly from: number;
	readonly to: number;
	readonly room: number;
}

/** Share of the room of a string for lines that report failures, not counting the first. */
const linesShare = 0.6;

/** The parts of a string that fit: around its encoded bytes, or its start, its end and the lines that report failures. */
export function partsOfString(sizes: JsonSizes, value: number, place: StringRoom): CharRange[] {
	const isAround = sizes.encodedAt(value).length > 0 && sizes.failures.linesOf(value).length === 0;
	return isAround ? partsBetween(sizes, value, place) : partsByLines(sizes, value, place);
}

/** The parts of a string around encoded bytes, from its start, as far as they fit. */
function partsBetween(sizes: JsonSizes, value: number, { from, to, room }: StringRoom): CharRange[] {
	const { size, encodedAt, wording, longest, spans } = sizes;
	const parts: CharRange[] = [];
	let left = (size[value] as number) - 2 <= room ? room : room - longest.inside;
	let at = from;
	for (const data of [...encodedAt(value), undefined]) {
		const wanted = data?.start ?? to;
		const end = left >= wanted - at ? wanted : jsonStringEdge(spans.text, from, at + Math.max(0, left));
		addRange(parts, at, Math.max(at, end));
		left -= wanted - at + (data ? encodedMark(data, wording).length : 0);
		if (end < wanted || left < 0) break;
		at = data?.end ?? to;
	}
	return parts;
}

function partsByLines(
	{ failures, longest, spans }: JsonSizes,
	value: number,
	{ from, to, room }: StringRoom,
): CharRange[] {
	const { text } = spans;
	const chosen: CharRange[] = [];
	let left = Math.max(0, room - longest.inside);
	const most = left * linesShare;
	let used = 0;
	for (const line of failures.linesOf(value)) {
		const chars = line.end - line.start + longest.inside;
		if (chosen.length > 0 && used + chars > most) continue;
		const end = jsonStringEdge(text, from, Math.min(line.end, line.start + Math.max(0, left - longest.inside)));
		if (end <= line.start) break;
		chosen.push({ start: line.start, end });
		used += end - line.start + longest.inside;
		left -= end - line.start + longest.inside;
	}
	left = Math.max(0, left);
	const headEnd = jsonStringEdge(text, from, from + Math.ceil(left * (2 / 3)));
	const tailStart = jsonStringEdgeAfter(text, from, Math.max(headEnd, to - Math.floor(left / 3)), to);
	const inOrder = [{ start: from, end: headEnd }, ...chosen, { start: tailStart, end: to }].sort(
		(a, b) => a.start - b.start,
	);
	const merged: CharRange[] = [];
	for (const { start, end } of inOrder) addRange(merged, Math.max(start, merged.at(-1)?.end ?? from), end);
	return merged;
}
