import { existsSync } from "node:fs";
import { parse, stringify, TomlError } from "smol-toml";
import { isJsonObject } from "../conversation/json.ts";
import { enterJson, entryInJson, refusedSettings, removeFromJson, withValue } from "../json-text/settings.ts";
import type { Host, HostSurroundings, ServerStart } from "./hosts.ts";
import { readIfThere } from "./settings-file.ts";

/** The lines that a user puts into a YAML configuration, the server's entry with the keys above it. */
export function entryByHand({ key, entry }: Host, start: ServerStart): string {
	const nested = key.reduceRight<unknown>((inner, name) => ({ [name]: inner }), entry(start));
	return yamlOf(nested as Readonly<Record<string, unknown>>, "");
}

/** Scalars and lists as JSON, which YAML takes. */
function yamlOf(value: Readonly<Record<string, unknown>>, indent: string): string {
	const lines = Object.entries(value).map(([name, inner]) =>
		typeof inner === "object" && inner !== null && !Array.isArray(inner) && Object.keys(inner).length > 0
			? `${indent}${name}:\n${yamlOf(inner as Readonly<Record<string, unknown>>, `${indent}  `)}`
			: `${indent}${name}: ${JSON.stringify(inner)}\n`,
	);
	return lines.join("");
}

/** Whether a host knows the server by one of its files; `no file` where the host is not on this machine. */
export type HostState = "no file" | "installed" | "not installed" | "unreadable";

/**
 * The configuration files of a host's programs that are on this machine. Where none is known to be there, the first file:
 * the host may be installed later.
 */
export function presentFiles(host: Host, where: HostSurroundings): readonly string[] {
	const programs = host.programs?.(where) ?? [];
	const present = programs.filter(({ folder, file }) => existsSync(folder) || existsSync(file));
	if (present.length > 0) return present.map(({ file }) => file);
	const file = host.file(where);
	return file === undefined ? [] : [file];
}

/** Looks into each configuration file of a host's programs that are on this machine. */
export function hostStates(
	host: Host,
	where: HostSurroundings,
): Promise<readonly { readonly file: string; readonly state: HostState }[]> {
	return Promise.all(presentFiles(host, where).map(async (file) => ({ file, state: await stateOf(host, file) })));
}

async function stateOf(host: Host, file: string): Promise<HostState> {
	try {
		const text = (await readIfThere(file))?.toString("utf8");
		if (text === undefined) return "no file";
		const isThere = isWritable(host) ? hasServer(text, host) : text.includes("palimpsest");
		return isThere ? "installed" : "not installed";
	} catch {
		return "unreadable";
	}
}

/** Whether a host's configuration is one that we can change without harm; YAML would lose its comments. */
export function isWritable(host: Host): host is WritableHost {
	return host.format !== "yaml";
}

/** A host whose configuration can be written to. */
export type WritableHost = Host & { readonly format: "json" | "toml" };

/**
 * The text of a host's configuration with the server entered, in the place of an entry of ours that is there; all else
 * stays as it is.
 *
 * @throws PalimpsestError `invalid_json` for a text that is not what the host reads.
 */
export function enterServer(text: string, host: WritableHost, start: ServerStart): string {
	const entry = host.entry(start);
	return host.format === "json"
		? enterJson(text, host.key, entry)
		: enterToml(text, host.key, entry as Readonly<Record<string, unknown>>);
}

/** The text without our entry. */
export function removeServer(text: string, host: WritableHost): string {
	return host.format === "json" ? removeFromJson(text, host.key) : enterToml(text, host.key, undefined);
}

/** Whether the server is entered there. */
export function hasServer(text: string, host: WritableHost): boolean {
	return (host.format === "json" ? entryInJson(text, host.key) : entryInToml(text, host.key)) !== undefined;
}

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
