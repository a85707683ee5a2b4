import { parse, TomlError } from "smol-toml";
import { isJsonObject, type JsonObject } from "../engine/conversation/json.ts";
import type { Span } from "../formats/json-text/locate.ts";
import { refusedSettings } from "../formats/json-text/settings.ts";

/** Scalars as texts: numbers may be bigints, and dates are classes of the parser. */
export function comparable(value: unknown): unknown {
	if (Array.isArray(value)) return value.map(comparable);
	if (value instanceof Date || !isJsonObject(value)) return String(value);
	return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, comparable(inner)]));
}

export function readToml(text: string, problem: string): JsonObject {
	try {
		return parse(text);
	} catch (error) {
		if (!(error instanceof TomlError)) throw error;
		throw refusedSettings(`${problem} (line ${error.line}, column ${error.column})`);
	}
}

interface ValueSpans {
	readonly span: Span;
	/** The items of a list. */
	readonly items: readonly Span[];
}

/** On one line. */
const text = /"(?!"")(?:[^"\\\n]|\\.)*"|'(?!'')[^'\n]*'/y;
const between = /(?:[\s,]|#[^\n]*)*/y;

/** Where a string or a list of strings is in the table under a header such as [mcp_servers.name]; `undefined` for other forms. */
export function tomlSpans(toml: string, key: readonly string[], member: string): ValueSpans | undefined {
	const body = tableBody(toml, key);
	if (!body) return undefined;
	const name = new RegExp(`^[ \\t]*(?:${escaped(member)}|"${escaped(member)}")[ \\t]*=[ \\t]*`, "m");
	const found = name.exec(toml.slice(body.start, body.end));
	if (!found) return undefined;
	const start = body.start + found.index + found[0].length;
	if (toml[start] !== "[") {
		const end = endOf(text, toml, start);
		return end === undefined ? undefined : { span: { start, end }, items: [] };
	}
	const items: Span[] = [];
	for (let at = start + 1; ; ) {
		at = endOf(between, toml, at) as number;
		if (toml[at] === "]") return { span: { start, end: at + 1 }, items };
		const end = endOf(text, toml, at);
		if (end === undefined) return undefined;
		items.push({ start: at, end });
		at = end;
	}
}

function tableBody(toml: string, key: readonly string[]): Span | undefined {
	const names = key.map((name) => `(?:${escaped(name)}|"${escaped(name)}"|'${escaped(name)}')`).join("\\s*\\.\\s*");
	const header = new RegExp(`^[ \\t]*\\[\\s*${names}\\s*\\][^\\n]*\\n?`, "m").exec(toml);
	if (!header) return undefined;
	const start = header.index + header[0].length;
	const next = /^[ \t]*\[/m.exec(toml.slice(start));
	return { start, end: next ? start + next.index : toml.length };
}

function endOf(form: RegExp, toml: string, at: number): number | undefined {
	form.lastIndex = at;
	return form.test(toml) ? form.lastIndex : undefined;
}

const escaped = (name: string) => name.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
