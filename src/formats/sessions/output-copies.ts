import type { Path } from "../../engine/path.ts";
import type { TextNode } from "../../engine/transcript.ts";
import { isJsonObject } from "../json-values.ts";

/** Strings from this length on are output, whatever they say: no status, path or title is as long. */
const longText = 300;
/** Shorter strings than this are states and names, which a viewer of the session needs. */
const shortText = 24;
/** How deep, and over how many values, copies are looked for: records are untrusted. */
const deepest = 8;
const mostValues = 20_000;

/** Types of objects that hold the data of an image. */
const mediaTypes: readonly unknown[] = ["image", "base64"];

/** What copies of an output are looked for in. */
export interface CopySearch {
	/** What the record keeps beside the message. */
	readonly value: unknown;
	readonly path: Path;
	/** The output as the model is sent it. */
	readonly texts: readonly TextNode[];
	/** Strings that the call itself holds: a record that repeats them gives nothing of the output away. */
	readonly ofTheCall: ReadonlySet<unknown>;
}

/**
 * The strings beside a result that hold its output a second time, so that what is masked is not left readable next to
 * its placeholder. A string is a copy where at least half of its lines are lines of the output (line numbers aside), or
 * where it is long: a whole file of which the output shows a part, an output before it was cut. Images and what
 * repeats the call's arguments are none.
 */
export function outputCopies({ value, path, texts, ofTheCall }: CopySearch): TextNode[] {
	const copies: TextNode[] = [];
	let lines: ReadonlySet<string> | undefined;
	const isCopy = (text: string) => {
		if (text.length < shortText || ofTheCall.has(text) || text.startsWith("data:")) return false;
		if (text.length >= longText) return true;
		lines ??= linesOf(texts);
		return sharesLines(text, lines);
	};
	const pending: { value: unknown; path: Path }[] = [{ value, path }];
	for (let seen = 0; pending.length > 0 && seen < mostValues; seen += 1) {
		const next = pending.pop() as { value: unknown; path: Path };
		if (typeof next.value === "string") {
			if (isCopy(next.value)) copies.push({ path: next.path, text: next.value });
		} else if (next.path.length - path.length < deepest) {
			pending.push(...childrenOf(next.value, next.path).reverse());
		}
	}
	return copies;
}

function childrenOf(value: unknown, path: Path): { value: unknown; path: Path }[] {
	if (Array.isArray(value)) {
		return value.slice(0, mostValues).map((item: unknown, index) => ({ value: item, path: [...path, index] }));
	}
	if (!isJsonObject(value) || mediaTypes.includes(value.type)) return [];
	return Object.entries(value)
		.slice(0, mostValues)
		.map(([key, item]) => ({ value: item, path: [...path, key] }));
}

function linesOf(texts: readonly TextNode[]): ReadonlySet<string> {
	const lines = new Set<string>();
	for (const { text } of texts) {
		for (const line of text.split("\n")) {
			lines.add(line.trim());
			// Tools that read files number their lines: "    12→text" or "12<tab>text".
			lines.add(line.replace(/^\s*\d+[→\t]/, "").trim());
		}
	}
	return lines;
}

function sharesLines(text: string, lines: ReadonlySet<string>): boolean {
	const own = text.split("\n").flatMap((line) => line.trim() || []);
	return own.length > 0 && own.filter((line) => lines.has(line)).length * 2 >= own.length;
}
