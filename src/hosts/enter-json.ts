import { isDeepStrictEqual } from "node:util";
import { findNodeAtLocation, type Node, parseTree } from "jsonc-parser";
import { formattingOf, readSettings, refusedSettings } from "../hooks/settings-text.ts";
import { isJsonObject } from "../hooks/tool-event.ts";
import { withoutNode } from "../hooks/without-node.ts";
import { withValue } from "./with-value.ts";

/**
 * The text of a JSON file (comments allowed) with a value at a key, in the place of the one that is there, else before
 * the other members; every other character stays as it is. What comes out is read again and compared.
 *
 * @throws PalimpsestError `invalid_json` for a text that is none, or where something else stands on the way to the key.
 */
export function enterJson(text: string, key: readonly string[], value: unknown): string {
	const start = text.trim() === "" ? "{}\n" : text;
	const present = entryInJson(start, key);
	if (JSON.stringify(present) === JSON.stringify(value)) return text;
	if (present !== undefined) {
		const { offset, length } = nodeAt(start, key);
		return checked(start.slice(0, offset) + written(value, start, key.length) + start.slice(offset + length));
	}
	const depth = key.findLastIndex((_, index) => entryInJson(start, key.slice(0, index)) !== undefined);
	const [name = "", ...inner] = key.slice(depth);
	const nested = inner.reduceRight<unknown>((held, one) => ({ [one]: held }), value);
	return checked(enterFirst(start, { depth, holder: nodeAt(start, key.slice(0, depth)), name, value: nested }));

	function checked(after: string): string {
		return requireChange({ before: start, after, key, value });
	}
}

/**
 * The text without the value at a key, and without the objects that it leaves empty.
 *
 * @throws PalimpsestError as `enterJson`.
 */
export function removeFromJson(text: string, key: readonly string[]): string {
	if (entryInJson(text, key) === undefined) return text;
	return requireChange({ before: text, after: withoutKey(text, key), key, value: undefined });
}

function withoutKey(text: string, key: readonly string[]): string {
	const left = withoutNode(text, nodeAt(text, key));
	const parent = key.slice(0, -1);
	const holder = parent.length > 0 ? entryInJson(left, parent) : undefined;
	return isJsonObject(holder) && Object.keys(holder).length === 0 ? withoutKey(left, parent) : left;
}

/** A changed text that holds what the one before did, but for the value: a user's file is no place for a surprise. */
function requireChange(what: { before: string; after: string; key: readonly string[]; value: unknown }): string {
	const { before, after, key, value } = what;
	// As they are written: an entry may leave fields undefined.
	const wanted: unknown = JSON.parse(JSON.stringify(withValue(readSettings(before), key, value)));
	if (isDeepStrictEqual(readSettings(after), wanted)) return after;
	throw refusedSettings(`\`${key.join(".")}\` stands where it cannot be changed by itself`);
}

/**
 * What stands at a key of a JSON text; `undefined` where nothing does.
 *
 * @throws PalimpsestError as `enterJson`.
 */
export function entryInJson(text: string, key: readonly string[]): unknown {
	let at: unknown = readSettings(text);
	for (const [depth, name] of key.entries()) {
		if (!isJsonObject(at)) throw refusedSettings(`\`${key.slice(0, depth).join(".")}\` is no object`);
		if (!Object.hasOwn(at, name)) return undefined;
		at = at[name];
	}
	return at;
}

function nodeAt(text: string, key: readonly string[]): Node {
	const root = parseTree(text, [], { allowTrailingComma: true }) as Node;
	const node = findNodeAtLocation(root, [...key]);
	// It looks into the first of several members of one name, where readers of JSON take the last.
	if (!node) throw refusedSettings(`something on the way to \`${key.join(".")}\` is there twice`);
	return node;
}

function enterFirst(text: string, member: { holder: Node; depth: number; name: string; value: unknown }): string {
	const { holder, depth, name, value } = member;
	const { eol, unit } = styleOf(text);
	const inside = holder.offset + 1;
	const entry = `${eol}${unit.repeat(depth + 1)}${JSON.stringify(name)}: ${written(value, text, depth + 1)}`;
	const [first] = holder.children ?? [];
	const gap = first && text.slice(inside, first.offset);
	const inLine = `${gap}${JSON.stringify(name)}: ${JSON.stringify(value)}`;
	const isInLine = gap !== undefined && !gap.includes("\n");
	const isOpen = /^[ \t]*\r?\n/.test(text.slice(inside));
	const after = first ? "," : isOpen ? "" : eol + unit.repeat(depth);
	return text.slice(0, inside) + (isInLine ? inLine : entry) + after + text.slice(inside);
}

function written(value: unknown, text: string, depth: number): string {
	const { eol, unit } = styleOf(text);
	return JSON.stringify(value, null, unit).replaceAll("\n", eol + unit.repeat(depth));
}

function styleOf(text: string): { eol: string; unit: string } {
	const { insertSpaces, tabSize = 1, eol = "\n" } = formattingOf(text);
	return { eol, unit: insertSpaces ? " ".repeat(tabSize) : "\t" };
}
