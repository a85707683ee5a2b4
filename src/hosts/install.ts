import { isUtf8 } from "node:buffer";
import { existsSync } from "node:fs";
import { chmod, constants, copyFile, mkdir, readdir, readFile, realpath, rm, stat } from "node:fs/promises";
import path from "node:path";
import { isDeepStrictEqual } from "node:util";
import { stringify } from "smol-toml";
import { isJsonObject, type JsonObject } from "../engine/conversation/json.ts";
import { valueAt } from "../engine/policy/errors.ts";
import { PalimpsestError } from "../errors.ts";
import {
	enterJson,
	entryInJson,
	readSettings,
	refusedSettings,
	removeFromJson,
	settingsProblem,
	withValue,
} from "../formats/json-text/settings.ts";
import { fileProblem, readRegularFile, writeNewFile } from "../storage/files/access.ts";
import { type EnteredServer, enteredServers } from "./gateway-entries.ts";
import type { HostSurroundings, OwnPlugin, ServerHost, ServerStart, WritableHost } from "./host.ts";
import { comparable, readToml } from "./toml.ts";

export function isWritable(host: ServerHost): host is WritableHost {
	return host.format !== "yaml";
}

/** Adds the server to a host's configuration; all else stays unchanged. Throws `invalid_json`. */
export function enterServer(text: string, host: WritableHost, start: ServerStart): string {
	const entry = host.entry(start);
	return host.format === "json" ? enterJson(text, host.key, entry) : changeToml(text, host.key, entry);
}

export function removeServer(text: string, host: WritableHost): string {
	return host.format === "json" ? removeFromJson(text, host.key) : changeToml(text, host.key, undefined);
}

function serverEntry(text: string, { format, key }: WritableHost): unknown {
	if (format === "json") return entryInJson(text, key);
	return valueAt(readToml(text, "it is not valid TOML"), key);
}

export const entryByHand = ({ key, entry }: ServerHost, start: ServerStart) => toYaml(below(key, entry(start)), "");

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

/** The files of the host's installed programs; if none is installed, the first, since the host may be installed later. */
export function presentFiles(host: ServerHost, where: HostSurroundings): readonly string[] {
	const programs = host.programs?.(where) ?? [];
	const present = programs.filter(({ folder, file }) => existsSync(folder) || existsSync(file));
	if (present.length > 0) return present.map(({ file }) => file);
	const file = host.file(where);
	return file === undefined ? [] : [file];
}

interface HostState {
	readonly file: string;
	readonly state: "installed" | "not installed" | "no file" | "unreadable";
	/** What is wrong with an unreadable file. */
	readonly problem?: string;
	/** As the host has it; `undefined` in a file that is not read (YAML). */
	readonly entry?: unknown;
	readonly servers: readonly EnteredServer[];
}

export function hostStates(host: ServerHost, where: HostSurroundings): Promise<readonly HostState[]> {
	return Promise.all(presentFiles(host, where).map(async (file) => ({ file, ...(await findState(host, file)) })));
}

async function findState(host: ServerHost, file: string): Promise<Omit<HostState, "file">> {
	try {
		const text = (await readIfThere(file))?.toString("utf8").replace(/^\uFEFF/, "");
		if (text === undefined) return { state: "no file", servers: [] };
		if (!isWritable(host)) return { state: text.includes("palimpsest") ? "installed" : "not installed", servers: [] };
		const entry = serverEntry(text, host);
		const servers = enteredServers(text, host);
		return entry === undefined ? { state: "not installed", servers } : { state: "installed", entry, servers };
	} catch (error) {
		return { state: "unreadable", problem: settingsProblem(error as Error), servers: [] };
	}
}

/** Whether the host has installed our plugin itself. A file that cannot be read says nothing. */
export async function hasOwnPlugin({ file, isOn }: OwnPlugin, where: HostSurroundings): Promise<boolean> {
	try {
		const name = file(where);
		const text = (await readIfThere(name))?.toString("utf8").replace(/^\uFEFF/, "");
		if (text === undefined) return false;
		return isOn(name.endsWith(".toml") ? readToml(text, "it is not valid TOML") : readSettings(text));
	} catch {
		return false;
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
	const problem = `\`${outer}\`, or a table in it, is written as an inline table or with dotted keys. Write it as tables under headers such as [${[outer, ...inner.slice(0, -1), "name"].join(".")}], or change \`${key.join(".")}\` by hand`;
	const left = readToml(after, problem);
	// A header without members may stay.
	const isGone = value === undefined && valueAt(left, key) === undefined;
	const got = isGone ? withValue(left, key, undefined) : left;
	if (isDeepStrictEqual(comparable(got), comparable(wanted))) return after;
	throw refusedSettings(problem);
}

/** Comments after the last key of the table stay: they belong to the next table. */
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

const byteOrderMark = "\uFEFF";

const mostBytes = 256 * 1024 * 1024;

/** Writes nothing. Throws `unreadable_file`, also for a file that is not UTF-8, and `invalid_json`. */
export async function planChange(file: string, change: (text?: string) => string | undefined) {
	const bytes = await readIfThere(file);
	if (bytes && !isUtf8(bytes)) {
		throw new PalimpsestError("unreadable_file", `Cannot change ${file}: it is not UTF-8. Save it as UTF-8 first.`);
	}
	const before = bytes?.toString("utf8");
	const mark = before?.startsWith(byteOrderMark) ? byteOrderMark : "";
	try {
		const after = change(before?.slice(mark.length));
		return { before, after: after === undefined ? undefined : mark + after };
	} catch (error) {
		// The parsers and the comparison of values recurse once per level.
		if (error instanceof RangeError) {
			const message = `${file} cannot be changed: it is nested too deep to be read. It was left unchanged.`;
			throw new PalimpsestError("invalid_json", message, { cause: error });
		}
		if (!(error instanceof PalimpsestError)) throw error;
		throw new PalimpsestError(error.code, `${file}: ${error.message}`, { cause: error });
	}
}

/** Throws `unreadable_file`, also for a named pipe, which could block for ever, and `payload_too_large`. */
async function readIfThere(file: string): Promise<Buffer | undefined> {
	try {
		return await readRegularFile(file, mostBytes);
	} catch (error) {
		const { code } = ((error as Error).cause ?? {}) as NodeJS.ErrnoException;
		if (code === "ENOENT") return undefined;
		if (!(error instanceof PalimpsestError) || code !== undefined) throw error;
		throw new PalimpsestError(error.code, error.message.replace(/ Name a file, or - .*$/, ""), { cause: error });
	}
}

/**
 * Writes all or nothing, and keeps permissions and links. Returns the path of a copy; there is none where a removal makes
 * the file as it was before, and the copies of that go too. Throws `unwritable_file`.
 */
export async function carryOutChange(
	file: string,
	change: Awaited<ReturnType<typeof planChange>> & { readonly withoutUs?: WithoutUs | undefined },
) {
	const { before, after, withoutUs } = change;
	try {
		const target = await realpath(file).catch(() => file);
		const same = withoutUs && after !== undefined ? await copiesOf(target, { text: after, withoutUs }) : [];
		const isKept = before !== undefined && after !== undefined && same.length === 0;
		const backup = isKept ? await keepCopy(target) : undefined;
		if (after === undefined) {
			await rm(target, { force: true });
			return undefined;
		}
		await mkdir(path.dirname(target), { recursive: true });
		const mode = before === undefined ? undefined : (await stat(target)).mode & 0o777;
		await writeNewFile({ file: target, text: after, overwrite: true });
		if (mode !== undefined) await chmod(target, mode);
		for (const copy of same) await rm(copy, { force: true });
		return backup;
	} catch (cause) {
		throw new PalimpsestError("unwritable_file", `Cannot write ${file}: ${fileProblem(cause)}.`, { cause });
	}
}

function copyName(file: string, number: number): string {
	return `${file}.before-palimpsest${number === 1 ? "" : `-${number}`}`;
}

/** Settings without anything of ours. Throws `invalid_json`. */
type WithoutUs = (text: string) => string | undefined;

/** The copies of a file that hold `text`, and besides at most what is ours. */
async function copiesOf(
	file: string,
	{ text, withoutUs }: { readonly text: string; readonly withoutUs: WithoutUs },
): Promise<string[]> {
	const names: readonly string[] = await readdir(path.dirname(file)).catch(() => []);
	const copies = names
		.map((_, index) => copyName(file, index + 1))
		.filter((copy) => names.includes(path.basename(copy)));
	const texts = await Promise.all(copies.map((copy) => readIfThere(copy).catch(() => undefined)));
	const isLeft = (copy: string): boolean => {
		try {
			return copy === text || withoutUs(copy) === text;
		} catch {
			return false;
		}
	};
	return copies.filter((_, index) => {
		const copy = texts[index];
		return copy !== undefined && isUtf8(copy) && isLeft(copy.toString("utf8"));
	});
}

/** Copies a file into its own folder, under the first name that is free or holds the same bytes. */
async function keepCopy(file: string): Promise<string> {
	const bytes = await readFile(file);
	for (let number = 1; ; number += 1) {
		const copy = copyName(file, number);
		try {
			await copyFile(file, copy, constants.COPYFILE_EXCL);
			return copy;
		} catch (error) {
			if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
			const there = await readIfThere(copy).catch(() => undefined);
			if (there?.equals(bytes)) return copy;
		}
	}
}
