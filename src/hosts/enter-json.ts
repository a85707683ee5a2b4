import { createScanner, findNodeAtLocation, type Node, parseTree } from "jsonc-parser";
import { formattingOf, readSettings, refusedSettings } from "../hooks/settings-text.ts";
import { isJsonObject } from "../hooks/tool-event.ts";

/** As jsonc-parser names it; its enumeration is none that can be imported. */
const commaToken = 5;

/**
 * The text of a JSON file (comments allowed) with a value at a key, in the place of the one that is there, else before
 * the other members; every other character stays as it is.
 *
 * @throws PalimpsestError `invalid_json` for a text that is none, or where something else stands on the way to the key.
 */
export function enterJson(text: string, key: readonly string[], value: unknown): string {
	const start = text.trim() === "" ? "{}\n" : text;
	const present = entryInJson(start, key);
	if (JSON.stringify(present) === JSON.stringify(value)) return text;
	if (present !== undefined) {
		const { offset, length } = nodeAt(start, key);
		return start.slice(0, offset) + written(value, start, key.length) + start.slice(offset + length);
	}
	const depth = key.findLastIndex((_, index) => entryInJson(start, key.slice(0, index)) !== undefined);
	const [name = "", ...inner] = key.slice(depth);
	const nested = inner.reduceRight<unknown>((held, one) => ({ [one]: held }), value);
	return enterFirst(start, { depth, holder: nodeAt(start, key.slice(0, depth)), name, value: nested });
}

/** The text without the value at a key, and without the objects that it leaves empty. */
export function removeFromJson(text: string, key: readonly string[]): string {
	if (entryInJson(text, key) === undefined) return text;
	const left = withoutMember(text, nodeAt(text, key).parent as Node);
	const parent = key.slice(0, -1);
	const holder = parent.length > 0 ? entryInJson(left, parent) : undefined;
	return isJsonObject(holder) && Object.keys(holder).length === 0 ? removeFromJson(left, parent) : left;
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
	return findNodeAtLocation(root, [...key]) as Node;
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

/** Without a member, the white space before it, and the comma that it leaves over. */
function withoutMember(text: string, member: Node): string {
	const [from, to] = [member.offset, member.offset + member.length];
	const start = text.slice(0, from).trimEnd().length;
	const comma = commaIn(text, to, (member.parent as Node).offset + (member.parent as Node).length);
	if (comma !== undefined) return text.slice(0, start) + text.slice(comma + 1);
	const siblings = member.parent?.children ?? [];
	const before = siblings[siblings.indexOf(member) - 1];
	const lone = before && commaIn(text, before.offset + before.length, from);
	if (lone === undefined) return text.slice(0, start) + text.slice(to);
	return text.slice(0, lone) + text.slice(lone + 1, start) + text.slice(to);
}

/** Where the next token is a comma: its place. */
function commaIn(text: string, from: number, to: number): number | undefined {
	const scanner = createScanner(text.slice(from, to), true);
	return (scanner.scan() as number) === commaToken ? from + scanner.getTokenOffset() : undefined;
}

function written(value: unknown, text: string, depth: number): string {
	const { eol, unit } = styleOf(text);
	return JSON.stringify(value, null, unit).replaceAll("\n", eol + unit.repeat(depth));
}

function styleOf(text: string): { eol: string; unit: string } {
	const { insertSpaces, tabSize = 1, eol = "\n" } = formattingOf(text);
	return { eol, unit: insertSpaces ? " ".repeat(tabSize) : "\t" };
}
