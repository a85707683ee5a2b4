import { existsSync } from "node:fs";
import { isDeepStrictEqual } from "node:util";
import { parse, stringify, TomlError } from "smol-toml";
import { isJsonObject, type JsonObject } from "../conversation/json.ts";
import { enterJson, entryInJson, refusedSettings, removeFromJson, withValue } from "../json-text/settings.ts";
import { valueAt } from "../policy/errors.ts";
import type { Host, HostSurroundings, ServerStart } from "./hosts.ts";
import { readIfThere } from "./settings-file.ts";

/** YAML would lose its comments. */
export type WritableHost = Host & { readonly format: "json" | "toml" };

export function isWritable(host: Host): host is WritableHost {
	return host.format !== "yaml";
}

/** Enters the server into a host's configuration; all else stays as it is. Throws `invalid_json`. */
export function enterServer(text: string, host: WritableHost, start: ServerStart): string {
	const entry = host.entry(start);
	return host.format === "json" ? enterJson(text, host.key, entry) : changeToml(text, host.key, entry);
}

export function removeServer(text: string, host: WritableHost): string {
	return host.format === "json" ? removeFromJson(text, host.key) : changeToml(text, host.key, undefined);
}

export function hasServer(text: string, { format, key }: WritableHost): boolean {
	if (format === "json") return entryInJson(text, key) !== undefined;
	return valueAt(readToml(text, "it is not valid TOML"), key) !== undefined;
}

export const entryByHand = ({ key, entry }: Host, start: ServerStart) => toYaml(below(key, entry(start)), "");

/** Scalars and lists are written as JSON, which YAML accepts. */
function toYaml(value: JsonObject, indent: string): string {
	const lines = Object.entries(value).map(([name, inner]) =>
		isJsonObject(inner) && Object.keys(inner).length > 0
			? `${indent}${name}:\n${toYaml(inner, `${indent}  `)}`
			: `${indent}${name}: ${JSON.stringify(inner)}\n`,
	);
	return lines.join("");
}

function below(key: readonly string[], value: unknown): JsonObject {
	return key.reduceRight<unknown>((inner, name) => ({ [name]: inner }), value) as JsonObject;
}

/** Those of the host's installed programs; if none is installed, the first, since the host may be installed later. */
export function presentFiles(host: Host, where: HostSurroundings): readonly string[] {
	const programs = host.programs?.(where) ?? [];
	const present = programs.filter(({ folder, file }) => existsSync(folder) || existsSync(file));
	if (present.length > 0) return present.map(({ file }) => file);
	const file = host.file(where);
	return file === undefined ? [] : [file];
}

export function hostStates(host: Host, where: HostSurroundings) {
	return Promise.all(presentFiles(host, where).map(async (file) => ({ file, state: await findState(host, file) })));
}

async function findState(host: Host, file: string) {
	try {
		const text = (await readIfThere(file))?.toString("utf8");
		if (text === undefined) return "no file";
		const isThere = isWritable(host) ? hasServer(text, host) : text.includes("palimpsest");
		return isThere ? "installed" : "not installed";
	} catch {
		return "unreadable";
	}
}

/** Sets or, with `undefined`, removes a table. Lines are moved without a parser, so the result is compared. */
function changeToml(text: string, key: readonly string[], value: unknown): string {
	const wanted = withValue(readToml(text, "it is not valid TOML"), key, value);
	const without = withoutTable(text, key);
	const eol = text.includes("\r\n") ? "\r\n" : "\n";
	const table = value === undefined ? "" : stringify(below(key, value)).trimEnd().replaceAll("\n", eol);
	const kept = without.trimEnd();
	const after = value === undefined ? without : `${kept}${kept === "" ? "" : eol + eol}${table}${eol}`;
	// An inline table accepts no further members and has no lines that could be removed.
	const [outer = "", ...inner] = key;
	const problem = `\`${outer}\`, or what stands in it, is written as an inline table or with dotted keys. Write it as tables under headers such as [${[outer, ...inner.slice(0, -1), "name"].join(".")}], or change \`${key.join(".")}\` by hand`;
	const left = readToml(after, problem);
	// A header without members may stay.
	const isGone = value === undefined && valueAt(left, key) === undefined;
	const got = isGone ? withValue(left, key, undefined) : left;
	if (isDeepStrictEqual(comparable(got), comparable(wanted))) return after;
	throw refusedSettings(problem);
}

/** Comments behind the last key of the table stay: they belong to the next table. */
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

/** Scalars as texts: numbers may be bigints, and dates are classes of the parser. */
function comparable(value: unknown): unknown {
	if (Array.isArray(value)) return value.map(comparable);
	if (value instanceof Date || !isJsonObject(value)) return String(value);
	return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, comparable(inner)]));
}

function readToml(text: string, problem: string): JsonObject {
	try {
		return parse(text);
	} catch (error) {
		throw error instanceof TomlError ? refusedSettings(problem) : error;
	}
}
