import type { JsonObject } from "../../engine/conversation/json.ts";
import { isJsonObject } from "../../engine/conversation/json.ts";
import { jsonPointer, type Path } from "../../engine/conversation/paths.ts";
import type { ReplaceEdit } from "../../engine/conversation/plan.ts";
import {
	inFrame,
	resultCharacters,
	resultText,
	type ToolResult,
	type Transcript,
} from "../../engine/conversation/transcript.ts";
import type { PairedResult } from "../../engine/conversation/turns.ts";
import { clearedText } from "../../engine/masking/placeholder.ts";

/**
 * How a result was last sent: `repeat` without lines that stand in earlier results; `noted` with a note on results that the provider clears behind it; `cleared` as it was sent before,
 * since the provider takes it out; `answered` with our answer to what the agent asked. The provider's cache and the model's reasoning hang on it, so it stays until a
 * decision changes it, and its values never change.
 */
export interface ResultState {
	readonly kind: "whole" | "cut" | "repeat" | "noted" | "answered" | "masked" | "cleared";
	/** Number of the request with which it began. */
	readonly since: number;
	/** Messages of that request. */
	readonly at: number;
	/** Number of the request in which it replaced another state that had been sent; 0 for the first state of a result. */
	readonly changed: number;
	readonly values: Values;
	/** The text that was sent in its place before it was masked. */
	readonly cut?: Values | undefined;
	/** The reference of the original; `undefined` if none is archived. */
	readonly ref?: string | undefined;
	/** The results that its lines point to, in the form in which they were sent then. */
	readonly sources?: readonly RepeatSource[] | undefined;
}

export interface RepeatSource {
	/** The key of the result. */
	readonly key: string;
	/** `formOf`. */
	readonly form: string;
	/** Characters that are left out because of it. */
	readonly chars: number;
}

/** What is sent in place of a result whose lines are in view already. */
export interface LeftOut {
	readonly text: string;
	readonly sources: readonly RepeatSource[];
}

/** Whether the model no longer sees the text of a result. */
export function isGone(state: Pick<ResultState, "kind"> | undefined): boolean {
	return state?.kind === "masked" || state?.kind === "cleared";
}

/** Whether a part of a result is sent in its place. */
export function isShortened({ kind }: Pick<ResultState, "kind">): boolean {
	return kind === "cut" || kind === "repeat";
}

/** The JSON value that is sent at each place. The text of the place is needed for values that were read from a file. */
export type Values = ReadonlyMap<Place, Value>;

type Value = (text: string) => unknown;

/** All content of a result, or one of its texts or media by number. */
type Place = "whole" | `text ${number}` | `media ${number}`;

export function valuesOf(edits: readonly ReplaceEdit[], result: ToolResult): Values {
	const values = new Map<Place, Value>();
	for (const { path, replacement } of edits) {
		const place = placeOf(path, result);
		if (place) values.set(place, () => replacement);
	}
	return values;
}

/** The value that puts another text in the place of the only one of a result. */
export function textValues(result: ToolResult, text: string): Values {
	const { whole, texts } = result;
	const value = whole?.only ? whole.write(text) : inFrame(texts[0] as ToolResult["texts"][number], text);
	return new Map([[whole?.only ? "whole" : "text 0", () => value]]);
}

export interface PlacedValue {
	readonly kind: "replace";
	readonly path: Path;
	readonly replacement: unknown;
}

/** The edits that put values in. A place that the result no longer has gets none. */
export function valueEdits(values: Values, result: ToolResult): PlacedValue[] {
	const edits: PlacedValue[] = [];
	for (const [place, value] of values) {
		const path = pathOf(place, result);
		if (path) edits.push({ kind: "replace", path, replacement: value(textAt(place, result)) });
	}
	return edits;
}

/** Characters of the request as the model is shown it: the conversation with the states of its results. */
export function charsSent(
	{ messages, surroundings }: Transcript,
	paired: readonly PairedResult[],
	stateOf: (place: number) => ResultState | undefined,
): number {
	let chars = surroundings.reduce((sum, text) => sum + text.length, 0);
	for (const { counted } of messages) for (const text of counted) chars += text.length;
	paired.forEach(({ result }, place) => {
		chars += charsOfState(stateOf(place), result);
	});
	return chars;
}

/** As the model is shown it. */
export function charsOfState(
	state: (Pick<ResultState, "values"> & Partial<Pick<ResultState, "kind">>) | undefined,
	result: ToolResult,
): number {
	if (state?.kind === "cleared") return clearedText.length;
	const written = state ? valueEdits(state.values, result).map(({ replacement }) => replacement) : [];
	if (written.length === 0) return resultCharacters(result);
	return written.reduce<number>((sum, value) => {
		return sum + (typeof value === "string" ? value.length : JSON.stringify(value).length);
	}, 0);
}

/** Encodes values without texts of the conversation: pieces of an original are named by their places in it. Plain JSON. */
export function encodeValues(values: Values, result: ToolResult): JsonObject {
	const entries = Array.from(values, ([place, value]) => {
		const text = textAt(place, result);
		return [place, encode(value(text), text)] as const;
	});
	return Object.fromEntries(entries);
}

/** Takes values that `encodeValues` made, and ignores any other. */
export function decodeValues(encoded: unknown): Values {
	const values = new Map<Place, Value>();
	for (const [place, value] of Object.entries(isJsonObject(encoded) ? encoded : {})) {
		if (!/^(?:whole|(?:text|media) \d+)$/.test(place)) continue;
		let decoded: { readonly value: unknown } | undefined;
		values.set(place as Place, (text) => {
			decoded ??= { value: decode(value, text) };
			return decoded.value;
		});
	}
	return values;
}

/** Characters of the ranges of originals in encoded values. */
export function decodedChars(encoded: unknown): number {
	if (typeof encoded !== "object" || encoded === null) return 0;
	const pieces = isJsonObject(encoded) ? encoded[piecesKey] : undefined;
	if (!Array.isArray(pieces)) return Object.values(encoded).reduce<number>((sum, one) => sum + decodedChars(one), 0);
	return pieces.reduce((sum: number, piece) => sum + (Array.isArray(piece) ? Number(piece[1]) : 0), 0);
}

function placeOf(path: Path, { whole, texts, media }: ToolResult): Place | undefined {
	const at = jsonPointer(path);
	if (whole && jsonPointer(whole.path) === at) return "whole";
	const text = texts.findIndex((node) => jsonPointer(node.path) === at);
	if (text !== -1) return `text ${text}`;
	const medium = media.findIndex((node) => jsonPointer(node.path) === at);
	return medium === -1 ? undefined : `media ${medium}`;
}

function pathOf(place: Place, { whole, texts, media }: ToolResult): Path | undefined {
	if (place === "whole") return whole?.path;
	const number = Number(place.slice(place.indexOf(" ")));
	return (place.startsWith("text") ? texts[number] : media[number])?.path;
}

function textAt(place: Place, result: ToolResult): string {
	if (place === "whole") return result.texts.length === 1 ? (result.texts[0]?.text ?? "") : resultText(result);
	return (place.startsWith("text") && result.texts[Number(place.slice("text ".length))]?.text) || "";
}

/** Strings up to this length are placeholders, which hold no text of a conversation. */
const shortString = 300;
const piecesKey = "~";

function encode(value: unknown, source: string): unknown {
	if (typeof value === "string") {
		return value.length <= shortString ? value : { [piecesKey]: piecesOf(value, source) };
	}
	if (Array.isArray(value)) return value.map((item) => encode(item, source));
	if (!isJsonObject(value)) return value;
	return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, encode(member, source)]));
}

function decode(value: unknown, source: string): unknown {
	if (Array.isArray(value)) return value.map((item) => decode(item, source));
	if (!isJsonObject(value)) return value;
	const pieces = value[piecesKey];
	if (Array.isArray(pieces)) return pieces.map((piece) => textOfPiece(piece, source)).join("");
	return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, decode(member, source)]));
}

function textOfPiece(piece: unknown, source: string): string {
	if (!Array.isArray(piece)) return String(piece);
	const [start, length] = piece as [number, number];
	return source.slice(start, start + length);
}

/** Shorter stretches that the source has too are written as text. */
const shortestRange = 16;
/** Searches through the whole source, which take some 0.3 ms in 1 MB. After that the rest is written as text. */
const mostSearches = 60;

/** Parts that the source has too become its ranges, whole lines first; neighbouring ranges become one. */
function piecesOf(text: string, source: string): (string | readonly [number, number])[] {
	const pieces: (string | [number, number])[] = [];
	let from = 0;
	let searches = 0;
	const find = (part: string): number => {
		if (searches > mostSearches) return -1;
		const ahead = source.indexOf(part, from);
		if (ahead !== -1) return ahead;
		searches += 1;
		return source.indexOf(part);
	};
	const add = (part: string, found: number): void => {
		const last = pieces.at(-1);
		if (found === -1) {
			if (typeof last === "string") pieces[pieces.length - 1] = last + part;
			else pieces.push(part);
			return;
		}
		from = found + part.length;
		if (Array.isArray(last) && last[0] + last[1] === found) last[1] += part.length;
		else pieces.push([found, part.length]);
	};
	for (const line of text.match(/[^\n]*\n|[^\n]+$/g) ?? []) {
		const found = find(line);
		if (found !== -1) {
			add(line, found);
			continue;
		}
		// A line that was cut: the longest beginning that the source has, then the rest.
		for (let at = 0; at < line.length; ) {
			const length = longestIn(line, at, find);
			const part = line.slice(at, searches > mostSearches ? line.length : at + (length || shortestRange / 2));
			add(part, length === part.length ? find(part) : -1);
			at += part.length;
		}
	}
	return pieces;
}

/** The length of the longest stretch from a place that can be found; 0 if it is short. */
function longestIn(line: string, at: number, find: (part: string) => number): number {
	if (line.length - at < shortestRange || find(line.slice(at, at + shortestRange)) === -1) return 0;
	let [known, tooLong] = [shortestRange, line.length - at + 1];
	while (tooLong - known > 1) {
		const length = Math.floor((known + tooLong) / 2);
		if (find(line.slice(at, at + length)) === -1) tooLong = length;
		else known = length;
	}
	return known;
}
