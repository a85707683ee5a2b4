import type { Path } from "../engine/path.ts";
import { stringify } from "../engine/stringify.ts";
import type { MediaNode, TextNode } from "../engine/transcript.ts";
import { asCountedText, isJsonObject, type JsonObject } from "./json-values.ts";

/** Strings from this length on are outputs that may be cut; shorter ones are ids, names and the like. */
const longFrom = 500;

/** A value nested deeper than this is opaque: no tool nests its output so, and paths would cost more than they tell. */
const deepest = 64;

/** Recognises a part that holds media. */
export type ReadMedia = (part: JsonObject, path: Path) => MediaNode | undefined;

/** What stands inside a result that is an object or a list. */
export interface JsonTexts {
	/** Its long strings, in order. */
	readonly texts: readonly TextNode[];
	readonly media: readonly MediaNode[];
	/** All the rest, as it is counted. */
	readonly counted: readonly string[];
}

/** Finds the long strings and the media inside a JSON value that cannot be replaced as a whole. */
export function readJsonTexts(value: unknown, path: Path, readMedia: ReadMedia): JsonTexts {
	const texts: TextNode[] = [];
	const media: MediaNode[] = [];
	const mediaParts = new Set<unknown>();
	// A stack of its own: the nesting is untrusted.
	const waiting: { item: unknown; at: Path }[] = [{ item: value, at: path }];
	for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
		const { item, at } = next;
		if (typeof item === "string") {
			texts.push({ path: at, text: item });
			continue;
		}
		if (at.length - path.length > deepest) return { texts: [], media: [], counted: [asCountedText(value)] };
		const node = isJsonObject(item) ? readMedia(item, at) : undefined;
		if (node) {
			media.push(node);
			mediaParts.add(item);
			continue;
		}
		const children: readonly (readonly [string | number, unknown])[] = Array.isArray(item)
			? item.map((child: unknown, index) => [index, child] as const)
			: Object.entries(item as JsonObject);
		for (const [key, child] of children.toReversed()) {
			if (isLongText(child) || (typeof child === "object" && child !== null)) {
				waiting.push({ item: child, at: [...at, key] });
			}
		}
	}
	const isElsewhere = (item: unknown) => isLongText(item) || mediaParts.has(item);
	const rest = stringify(value, (_, item) => (isElsewhere(item) ? "" : item)) ?? "";
	return { texts, media, counted: mediaParts.has(value) ? [] : [rest] };
}

/** Whether a value inside a result is an output that may be cut. */
export function isLongText(value: unknown): value is string {
	return typeof value === "string" && value.length >= longFrom && !isBinary(value);
}

/** Base64 of an unknown kind (an image, what a provider encrypted): a part of it would be of no use to anyone. */
function isBinary(text: string): boolean {
	const beginning = text.slice(0, longFrom);
	if (/^data:[^,]*;base64,/.test(beginning)) return true;
	return /^[\w+/=-]+$/.test(beginning) && [/[a-z]/, /[A-Z]/, /\d/].every((kind) => kind.test(beginning));
}
