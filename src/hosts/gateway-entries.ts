import { isDeepStrictEqual } from "node:util";
import { isJsonObject, type JsonObject } from "../conversation/json.ts";
import { applySplices, type Splice } from "../json-text/edit.ts";
import type { Span } from "../json-text/locate.ts";
import { entryInJson, readSettings, refusedSettings, spansAt, withValue } from "../json-text/settings.ts";
import { listOf, objectOf, stringAt } from "../json-text/value.ts";
import { valueAt } from "../policy/errors.ts";
import type { ServerStart, WritableHost } from "./host.ts";
import { comparable, readToml, tomlSpans } from "./toml.ts";

/** A server in a host's configuration. */
export interface EnteredServer {
	readonly name: string;
	/** `own`: it is ours. `remote`: an address, whose sign-in belongs to the host. `gateway`: it starts behind the gateway. */
	readonly kind: "command" | "gateway" | "own" | "remote" | "unknown";
	readonly entry: JsonObject;
}

export function enteredServers(text: string, host: WritableHost): readonly EnteredServer[] {
	const { format, key } = host;
	const holder = key.slice(0, -1);
	const table = format === "json" ? entryInJson(text, holder) : valueAt(readToml(text, "it is not valid TOML"), holder);
	return Object.entries(objectOf(table)).flatMap(([name, entry]) =>
		isJsonObject(entry) ? [{ name, kind: kindOf(name, entry), entry }] : [],
	);
}

function kindOf(name: string, entry: JsonObject): EnteredServer["kind"] {
	const words = wordsOf(entry);
	if (words.length === 0) {
		const isRemote = ["url", "serverUrl", "httpUrl"].some((member) => stringAt(entry, member) !== undefined);
		return isRemote ? "remote" : "unknown";
	}
	const gateway = words.indexOf("gateway");
	if (gateway > 0 && words.slice(0, gateway).some((word, index) => isOurs(word, index) || ourScript.test(word)))
		return "gateway";
	return name === "palimpsest" || words.some(isOurs) ? "own" : "command";
}

/** Another argument may be a folder of this name. */
function isOurs(word: string, index: number): boolean {
	return index === 0 ? /(?:^|[\\/])palimpsest(?:-mcp)?(?:\.cmd)?$/.test(word) : /^palimpsest-mcp(?:@.*)?$/.test(word);
}

/** The script of a checkout, or of an installation that is started by its path. */
const ourScript = /[\\/]dist[\\/]cli\.js$/;

/** The command and its arguments, which some hosts have in one list. */
function wordsOf({ command, args }: JsonObject): readonly string[] {
	const words = Array.isArray(command) ? command : [command, ...listOf(args)];
	return words.every((word) => typeof word === "string") ? words : [];
}

/**
 * Lets a server start behind the gateway. Only the command and the start of its arguments change, so that `unwrapServer`
 * brings back every byte. Throws `invalid_json`.
 */
export function wrapServer(
	text: string,
	{ host, name, start, options }: Named & { readonly start: ServerStart; readonly options: readonly string[] },
): string {
	const { entry, command, list } = placesOf(text, { host, name });
	const before = [...start.args, "gateway", ...options];
	const raw = text.slice(command.start, command.end);
	const words = (all: readonly string[]) => all.map((word) => JSON.stringify(word)).join(", ");
	const comma = list?.items.length === 0 ? "" : ",";
	const replaced = { ...command, replacement: JSON.stringify(start.command) };
	if (Array.isArray(entry.command)) {
		const added = [start.command, ...before, "--"];
		const splice = insertion(command.start + 1, words(added) + comma);
		return checked(text, [splice], { host, name, entry: { ...entry, command: [...added, ...entry.command] } });
	}
	const moved = String(entry.command);
	if (list) {
		const splice = insertion(list.span.start + 1, `${words([...before, "--"])}, ${raw}${comma}`);
		const args = [...before, "--", moved, ...listOf(entry.args)];
		const after = { ...entry, command: start.command, args };
		return checked(text, inOrder(replaced, splice), { host, name, entry: after });
	}
	// Without `--`, there were no arguments.
	const all = `[${words(before)}, ${raw}]`;
	const member = host.format === "json" ? `, "args": ${all}` : `\nargs = ${all}`;
	const after = { ...entry, command: start.command, args: [...before, moved] };
	return checked(text, [replaced, insertion(command.end, member)], { host, name, entry: after });
}

/** Takes `wrapServer` back. Throws `invalid_json`. */
export function unwrapServer(text: string, { host, name }: Named): string {
	const { entry, command, list } = placesOf(text, { host, name });
	const { args: given, ...others } = entry;
	const args = listOf(given);
	if (!list) throw refusedSettings(`\`${name}\` has no list of arguments`);
	if (Array.isArray(entry.command)) {
		const last = entry.command.indexOf("--");
		const splice = { start: list.span.start + 1, end: behind(text, list.items, last), replacement: "" };
		return checked(text, [splice], { host, name, entry: { ...entry, command: entry.command.slice(last + 1) } });
	}
	const dashes = args.indexOf("--");
	const at = dashes === -1 ? args.length - 1 : dashes + 1;
	const place = list.items[at] as Span;
	const replaced = { ...command, replacement: text.slice(place.start, place.end) };
	const original = { ...others, command: args[at] };
	if (dashes === -1) {
		const member = /^(?:,\s*"args"\s*:\s*|\s*args\s*=\s*)$/.test(text.slice(command.end, list.span.start));
		if (!member) throw refusedSettings(`the arguments of \`${name}\` are no longer behind its command`);
		const splice = { start: command.end, end: list.span.end, replacement: "" };
		return checked(text, inOrder(replaced, splice), { host, name, entry: original });
	}
	const splice = { start: list.span.start + 1, end: behind(text, list.items, at), replacement: "" };
	const after = { ...original, args: args.slice(at + 1) };
	return checked(text, inOrder(replaced, splice), { host, name, entry: after });
}

interface Named {
	readonly host: WritableHost;
	readonly name: string;
}

function placesOf(text: string, { host, name }: Named) {
	const found = enteredServers(text, host).find((one) => one.name === name);
	const key = [...host.key.slice(0, -1), name];
	const spans = (member: string) => {
		if (!found || !Object.hasOwn(found.entry, member)) return undefined;
		return host.format === "json" ? spansAt(text, [...key, member]) : tomlSpans(text, key, member);
	};
	const command = spans("command");
	if (!found || !command) throw refusedSettings(`\`${key.join(".")}\` has no command that can be changed in place`);
	return {
		entry: found.entry,
		command: command.span,
		list: Array.isArray(found.entry.command) ? command : spans("args"),
	};
}

const insertion = (at: number, replacement: string): Splice => ({ start: at, end: at, replacement });

const inOrder = (...splices: readonly Splice[]) => splices.toSorted((a, b) => a.start - b.start);

/** Where the item after one begins, with the blanks before it. */
function behind(text: string, items: readonly Span[], index: number): number {
	const { end } = items[index] as Span;
	if (items[index + 1] === undefined) return end;
	const comma = /^\s*,/.exec(text.slice(end));
	if (!comma) throw refusedSettings("a comment is between the arguments of a server");
	return end + comma[0].length;
}

/** Refuses a text with other changes than those of the entry. */
function checked(
	text: string,
	splices: readonly Splice[],
	{ host, name, entry }: Named & { readonly entry: JsonObject },
) {
	const after = applySplices(text, splices);
	const read = (one: string) => (host.format === "json" ? readSettings(one) : readToml(one, "it is not valid TOML"));
	const wanted = withValue(read(text), [...host.key.slice(0, -1), name], entry);
	if (isDeepStrictEqual(comparable(read(after)), comparable(wanted))) return after;
	throw refusedSettings(`the command of \`${name}\` cannot be changed on its own where it is`);
}
