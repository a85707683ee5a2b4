import { isDeepStrictEqual } from "node:util";
import {
	applyEdits,
	createScanner,
	type FormattingOptions,
	findNodeAtLocation,
	modify,
	type Node,
	type ParseError,
	parse,
	parseTree,
	visit,
} from "jsonc-parser";
import { isJsonObject, type JsonObject } from "../../engine/conversation/json.ts";
import type { Path } from "../../engine/conversation/paths.ts";
import { PalimpsestError } from "../../errors.ts";
import type { Span } from "./locate.ts";
import { tokenKinds } from "./read.ts";

/** A host's settings: JSON with comments and trailing commas; `{}` for an empty file. Throws `invalid_json`. */
export function readSettings(text: string): JsonObject {
	if (text.trim() === "") return {};
	const errors: ParseError[] = [];
	const value: unknown = parse(text, errors, { allowTrailingComma: true });
	if (errors.length > 0) throw refusedSettings(`it is not valid JSON (${placeOf(text, errors[0]?.offset ?? 0)})`);
	if (!isJsonObject(value)) throw refusedSettings("it does not hold an object");
	return value;
}

function placeOf(text: string, offset: number): string {
	const before = text.slice(0, offset).split("\n");
	return `line ${before.length}, column ${(before.at(-1)?.length ?? 0) + 1}`;
}

/** The error for settings that cannot be changed, with the `reason` after a colon. */
export function refusedSettings(reason: string, cause?: unknown): PalimpsestError {
	const message = `${refusal}${reason}${untouched}`;
	return new PalimpsestError("invalid_json", message, { cause });
}

const refusal = "The settings file cannot be changed: ";
const untouched = ". It was left unchanged.";

/** What is wrong with settings that were only read, from an error of this module. */
export function settingsProblem({ message }: Error): string {
	return message.replace(refusal, "").replace(untouched, "");
}

/** The value at a key of a settings file, or `undefined`. Throws as `enterJson`. */
export function entryInJson(text: string, key: readonly string[]): unknown {
	let at: unknown = readSettings(text);
	for (const [depth, name] of key.entries()) {
		if (!isJsonObject(at)) throw refusedSettings(`\`${key.slice(0, depth).join(".")}\` is not an object`);
		if (!Object.hasOwn(at, name)) return undefined;
		at = at[name];
	}
	return at;
}

/** Every other character stays; a new key goes first. Throws `invalid_json`, also for a parent that is not an object. */
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

/** Removes the value at a key and the objects that this leaves empty, without a comment. Throws as `enterJson`. */
export function removeFromJson(text: string, key: readonly string[]): string {
	if (entryInJson(text, key) === undefined) return text;
	const { left, removed } = withoutKey(text, key);
	const wanted = withoutMember(readSettings(text), removed);
	return requireSettings(left, { wanted, key });
}

/** Appends a value to a list, which is created if it is missing. Throws as `enterJson`. */
export function appendItem(text: string, list: readonly string[], value: unknown): string {
	const items = entryInJson(text, list);
	// The parser's own insertion would reformat other lines.
	if (items === undefined) return enterJson(text, list, [value]);
	if (!Array.isArray(items) || nodeAt(text, list).type !== "array") {
		throw refusedSettings(`\`${list.join(".")}\` is not a list, or appears twice`);
	}
	const how = { formattingOptions: styleOf(text), isArrayInsertion: true };
	const after = applyEdits(text, modify(text, [...list, items.length], value, how));
	return requireChange({ before: text, after, key: list, value: [...items, value] });
}

/** Where a value and its items or members are in a settings file. Throws as `enterJson`. */
export function spansAt(text: string, path: Path): { readonly span: Span; readonly items: readonly Span[] } {
	const spanOf = ({ offset, length }: Node): Span => ({ start: offset, end: offset + length });
	const node = nodeAt(text, path);
	return { span: spanOf(node), items: (node.children ?? []).map(spanOf) };
}

/** The first name on a path to an object, or of `members` in it, that appears twice beside itself. Readers of JSON disagree on it. */
export function memberTwice(text: string, path: readonly string[], members: readonly string[]): string | undefined {
	const isTwice = (at: readonly string[], name: string) => {
		const names = (nodeAt(text, at).children ?? []).map(({ children }) => children?.[0]?.value as unknown);
		return names.filter((one) => one === name).length > 1;
	};
	return path.find((name, depth) => isTwice(path.slice(0, depth), name)) ?? members.find((name) => isTwice(path, name));
}

/** Whether the object or list at a path holds nothing, not even a comment. */
export function isBlank(text: string, path: Path): boolean {
	const { offset, length } = nodeAt(text, path);
	return text.slice(offset + 1, offset + length - 1).trim() === "";
}

/** Removes the value at a path with its key, one comma and the white space before it. Comments stay. */
export function withoutValue(text: string, path: Path): string {
	const node = nodeAt(text, path);
	const member = node.parent?.type === "property" ? node.parent : node;
	const [from, to] = [member.offset, member.offset + member.length];
	const start = text.slice(0, from).trimEnd().length;
	const joined = (rest: number, before = text.slice(0, start)) => before + behind(text, { start, from, rest });
	const comma = commaIn(text, to, (member.parent as Node).offset + (member.parent as Node).length);
	if (comma !== undefined) return joined(comma + 1);
	const siblings = member.parent?.children ?? [];
	const before = siblings[siblings.indexOf(member) - 1];
	const lone = before && commaIn(text, before.offset + before.length, from);
	return lone === undefined ? joined(to) : joined(to, text.slice(0, lone) + text.slice(lone + 1, start));
}

/** A configuration with a value at a key; if it is `undefined`, without the key and the objects that this leaves empty. */
export function withValue(table: JsonObject, [name = "", ...rest]: readonly string[], value: unknown): JsonObject {
	const { [name]: at, ...others } = table;
	const inner = rest.length === 0 ? value : withValue(isJsonObject(at) ? at : {}, rest, value);
	const isGone = inner === undefined || (rest.length > 0 && isJsonObject(inner) && Object.keys(inner).length === 0);
	return isGone ? others : { ...others, [name]: inner };
}

/** `removed`: the outermost key that went. */
function withoutKey(text: string, key: readonly string[]): { left: string; removed: readonly string[] } {
	const left = withoutValue(text, key);
	const parent = key.slice(0, -1);
	return parent.length > 0 && isBlank(left, parent) ? withoutKey(left, parent) : { left, removed: key };
}

function withoutMember(table: JsonObject, [name = "", ...rest]: readonly string[]): JsonObject {
	const { [name]: at, ...others } = table;
	return rest.length === 0 ? others : { ...others, [name]: withoutMember(at as JsonObject, rest) };
}

/** Refuses a text with other changes than the value. */
function requireChange(what: { before: string; after: string; key: readonly string[]; value: unknown }): string {
	const { before, after, key, value } = what;
	return requireSettings(after, { wanted: withValue(readSettings(before), key, value), key });
}

/** Returns the text if it holds the settings that a change of `key` was to make. */
function requireSettings(text: string, { wanted, key }: { wanted: JsonObject; key: readonly string[] }): string {
	if (hasPrototypeMember(text)) throw refusedSettings("it has a member `__proto__`; remove that member first");
	// Compared as JSON, since an entry may have fields that are `undefined`.
	if (isDeepStrictEqual(readSettings(text), JSON.parse(JSON.stringify(wanted)))) return text;
	throw refusedSettings(`\`${key.join(".")}\` cannot be changed on its own where it is`);
}

/** jsonc-parser sets the prototype by this name, so the member is in neither of the values that are compared. */
function hasPrototypeMember(text: string): boolean {
	let isThere = false;
	const onObjectProperty = (name: string) => {
		isThere ||= name === "__proto__";
	};
	visit(text, { onObjectProperty }, { allowTrailingComma: true });
	return isThere;
}

function nodeAt(text: string, path: Path): Node {
	const root = parseTree(text, [], { allowTrailingComma: true }) as Node;
	const node = findNodeAtLocation(root, [...path]);
	// jsonc-parser finds the first of several members of one name; readers of JSON take the last.
	if (!node) throw refusedSettings(`a key on the path to \`${path.join(".")}\` appears twice`);
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

function styleOf(text: string): FormattingOptions & { readonly eol: string; readonly unit: string } {
	const unit = /\n([ \t]+)\S/.exec(text)?.[1] ?? "  ";
	const isTab = unit.startsWith("\t");
	const eol = text.includes("\r\n") ? "\r\n" : "\n";
	return { insertSpaces: !isTab, tabSize: isTab ? 1 : unit.length, eol, unit: isTab ? "\t" : " ".repeat(unit.length) };
}

/** The text after a removed member. Another member on its line gets its own line: it may follow a comment now. */
function behind(text: string, { start, from, rest }: { start: number; from: number; rest: number }): string {
	const left = text.slice(rest);
	const blank = text.slice(start, from);
	return blank.includes("\n") && /^[ \t]*(?!\/\/)\S/.test(left) ? blank + left.trimStart() : left;
}

function commaIn(text: string, from: number, to: number): number | undefined {
	const scanner = createScanner(text.slice(from, to), true);
	return (scanner.scan() as number) === tokenKinds.comma ? from + scanner.getTokenOffset() : undefined;
}
