import { parse, stringify, TomlError } from "smol-toml";
import { isJsonObject } from "../engine/stringify.ts";
import { refusedSettings, withValue } from "../json-text/settings.ts";

type Table = Readonly<Record<string, unknown>>;

/**
 * The text of a TOML file with a table at a key, or without it where the value is `undefined`. The table is written at
 * the end, under its own header; all other lines stay as they are, comments too. What comes out is read again and
 * compared, since lines are moved that no parser kept track of.
 *
 * @throws PalimpsestError `invalid_json` for a text that is no TOML, or that holds the table in a form without headers
 * of its own.
 */
export function enterToml(text: string, key: readonly string[], value: Table | undefined): string {
	const before = read(text);
	const without = withoutTable(text, key);
	const eol = text.includes("\r\n") ? "\r\n" : "\n";
	const table = value === undefined ? "" : stringify(nested(key, value)).trimEnd().replaceAll("\n", eol);
	const kept = without.trimEnd();
	const after = value === undefined ? without : `${kept}${kept === "" ? "" : eol + eol}${table}${eol}`;
	const made = tableOf(after);
	if (made === undefined || JSON.stringify(sorted(made)) !== JSON.stringify(sorted(withValue(before, key, value)))) {
		throw refusedSettings(unfitForm(key));
	}
	return after;
}

/** Why valid TOML cannot be changed: an inline table takes no further members, and is no block of lines to take out. */
function unfitForm(key: readonly string[]): string {
	const [outer = "", ...inner] = key;
	const name = key.join(".");
	return `\`${outer}\`, or what stands in it, is written as an inline table or with dotted keys. Write it as tables under headers such as [${[outer, ...inner.slice(0, -1), "name"].join(".")}], or change \`${name}\` by hand`;
}

/** What stands at a key of a TOML text; `undefined` where nothing does. */
export function entryInToml(text: string, key: readonly string[]): unknown {
	return key.reduce<unknown>((at, name) => (isJsonObject(at) ? at[name] : undefined), read(text));
}

/**
 * Without the lines from a header of the table, or of one within it, to the next other header. Comments behind its last
 * key stay: they stand before what follows.
 */
function withoutTable(text: string, key: readonly string[]): string {
	const own = key.map((name) => `(?:${name}|"${name}")`).join("\\s*\\.\\s*");
	const isOwn = new RegExp(`^\\s*\\[\\s*${own}\\s*(?:\\.[^\\]]*)?\\]`);
	let inside = false;
	let comments: string[] = [];
	const kept: string[] = [];
	for (const line of text.split(/(?<=\n)/)) {
		if (/^\s*\[/.test(line)) {
			inside = isOwn.test(line);
			if (!inside) kept.push(...comments);
			comments = [];
		}
		if (!inside) kept.push(line);
		else if (/^\s*#/.test(line) || (comments.length > 0 && line.trim() === "")) comments.push(line);
		else comments = [];
	}
	return [...kept, ...comments].join("");
}

function nested(key: readonly string[], value: Table): Table {
	return key.reduceRight<Table>((inner, name) => ({ [name]: inner }), value);
}

function sorted(value: unknown): unknown {
	if (Array.isArray(value)) return value.map(sorted);
	if (value instanceof Date || !isJsonObject(value)) return String(value);
	return Object.fromEntries(
		Object.keys(value)
			.sort()
			.map((name) => [name, sorted(value[name])]),
	);
}

function read(text: string): Table {
	const table = tableOf(text);
	if (table === undefined) throw refusedSettings("it is not valid TOML");
	return table;
}

function tableOf(text: string): Table | undefined {
	try {
		return parse(text);
	} catch (error) {
		if (error instanceof TomlError) return undefined;
		throw error;
	}
}
