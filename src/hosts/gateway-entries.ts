import { isDeepStrictEqual } from "node:util";
import { isJsonObject, type JsonObject } from "../engine/conversation/json.ts";
import { valueAt } from "../engine/policy/errors.ts";
import { PalimpsestError } from "../errors.ts";
import { applySplices, type Splice } from "../formats/json-text/edit.ts";
import type { Span } from "../formats/json-text/locate.ts";
import { entryInJson, memberTwice, readSettings, spansAt, withValue } from "../formats/json-text/settings.ts";
import { listOf, objectOf, stringAt } from "../formats/json-text/value.ts";
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
export function wordsOf({ command, args }: JsonObject): readonly string[] {
	const words = Array.isArray(command) ? command : [command, ...listOf(args)];
	return words.every((word) => typeof word === "string") ? words : [];
}

export interface Wrapping extends Named {
	readonly start: ServerStart;
	/** Options of `palimpsest gateway`. */
	readonly options: readonly string[];
}

/**
 * Lets a server start behind the gateway. Only the command and the start of its arguments change, so that `unwrapServer`
 * brings back every byte; an entry of which it could not is refused. Throws `invalid_json`.
 */
export function wrapServer(text: string, how: Wrapping): string {
	const { host, name } = how;
	const after = wrapped(text, how);
	const isFound = enteredServers(after, host).some((one) => one.name === name && one.kind === "gateway");
	if (isFound && unwrapServer(after, how) === text) return after;
	throw refusedEntry(name, "`uninstall` could not bring it back as it is");
}

function wrapped(text: string, { host, name, start, options }: Wrapping): string {
	const { entry, command, list } = placesOf(text, { host, name });
	const words = wordsOf(entry);
	if (isAddress(words[0])) throw refusedEntry(name, "its command is an address");
	const isInOneList = Array.isArray(entry.command);
	// The `--` marks an entry that had an empty list of arguments, so that it comes back. Others have none: some programs that
	// read a host's file take it for their own.
	const isMarked = words[0]?.startsWith("-") || (!isInOneList && words.length === 1);
	const added = [...start.args, "gateway", ...options, ...(list && isMarked ? ["--"] : [])];
	const raw = text.slice(command.start, command.end);
	const written = (all: readonly string[]) => all.map((word) => JSON.stringify(word)).join(", ");
	const items = list?.items.length ?? 0;
	const comma = items === 0 ? "" : /^[\r\n]/.test(text.slice((list?.span.start ?? 0) + 1)) ? "," : ", ";
	const replaced = { ...command, replacement: JSON.stringify(start.command) };
	if (isInOneList) {
		const all = [start.command, ...added];
		const splice = insertion(command.start + 1, written(all) + comma);
		return checked(text, [splice], { host, name, entry: { ...entry, command: [...all, ...words] } });
	}
	const after = { ...entry, command: start.command, args: [...added, ...words] };
	if (list) {
		const splice = insertion(list.span.start + 1, `${written(added)}, ${raw}${comma}`);
		return checked(text, inOrder(replaced, splice), { host, name, entry: after });
	}
	const all = `[${written(added)}, ${raw}]`;
	const member = host.format === "json" ? `, "args": ${all}` : `\nargs = ${all}`;
	return checked(text, [replaced, insertion(command.end, member)], { host, name, entry: after });
}

/** The options of a wrapped entry that `install` did not write, and the name of the entry. */
export function ownOptions(entry: JsonObject): readonly string[] {
	const words = wordsOf(entry);
	const options = words.slice(words.indexOf("gateway") + 1, serverAt(words)).filter((word) => word !== "--");
	const kept: string[] = [];
	for (let at = 0; at < options.length; ) {
		const word = options[at] as string;
		const count = isAlone(word) ? 1 : 2;
		if (!installed.test(word)) kept.push(...options.slice(at, at + count));
		at += count;
	}
	return kept;
}

const installed = /^--(?:recall|set|archive|defer|header|was)(?:=|$)/;
const isAlone = (word: string) => word === "--no-recall" || word.includes("=");

/** Takes `wrapServer` back, also where a person has changed the entry or written it. Throws `invalid_json`. */
export function unwrapServer(text: string, { host, name }: Named): string {
	const { entry, command, list } = placesOf(text, { host, name });
	const { args: given, ...others } = entry;
	const inOneList = Array.isArray(entry.command);
	const words = inOneList ? listOf(entry.command) : listOf(given);
	const at = serverAt(words);
	const [server, ...args] = words.slice(at);
	if (!list || typeof server !== "string") throw refusedEntry(name, "it has no command behind the gateway");
	if (args.length === 0 && isAddress(server)) throw refusedEntry(name, "it has an address behind the gateway");
	if (inOneList) {
		const splice = {
			start: list.span.start + 1,
			end: behind(text, { name, items: list.items, index: at - 1 }),
			replacement: "",
		};
		return checked(text, [splice], { host, name, entry: { ...entry, command: [server, ...args] } });
	}
	const place = list.items[at] as Span;
	const replaced = { ...command, replacement: text.slice(place.start, place.end) };
	const between = text.slice(command.end, list.span.start);
	if (words[at - 1] !== "--" && args.length === 0 && /^(?:,\s*"args"\s*:\s*|\s*args\s*=\s*)$/.test(between)) {
		const splice = { start: command.end, end: list.span.end, replacement: "" };
		return checked(text, inOrder(replaced, splice), { host, name, entry: { ...others, command: server } });
	}
	const splice = {
		start: list.span.start + 1,
		end: behind(text, { name, items: list.items, index: at }),
		replacement: "",
	};
	return checked(text, inOrder(replaced, splice), { host, name, entry: { ...others, command: server, args } });
}

const isAddress = (word: unknown) => typeof word === "string" && /^https?:/i.test(word);

/** Where the command is in the words that start the gateway: behind `--`, or behind the options. */
function serverAt(words: readonly unknown[]): number {
	let at = words.indexOf("gateway") + 1;
	while (at < words.length - 1) {
		const word = String(words[at]);
		if (word === "--") return at + 1;
		if (!word.startsWith("-")) break;
		at += isAlone(word) ? 1 : 2;
	}
	return at;
}

export interface Named {
	readonly host: WritableHost;
	readonly name: string;
}

function placesOf(text: string, { host, name }: Named) {
	const found = enteredServers(text, host).find((one) => one.name === name);
	const key = [...host.key.slice(0, -1), name];
	const twice = host.format === "json" && found ? memberTwice(text, key, ["command", "args"]) : undefined;
	if (twice !== undefined) throw refusedEntry(name, `\`${twice}\` appears twice`);
	const spans = (member: string) => {
		if (!found || !Object.hasOwn(found.entry, member)) return undefined;
		return host.format === "json" ? spansAt(text, [...key, member]) : tomlSpans(text, key, member);
	};
	const command = spans("command");
	if (found && Object.hasOwn(found.entry, "args") && !Array.isArray(found.entry.args))
		throw refusedEntry(name, "its `args` are not a list");
	if (!found || !command) throw refusedEntry(name, "its command cannot be changed in place");
	return {
		entry: found.entry,
		command: command.span,
		list: Array.isArray(found.entry.command) ? command : spans("args"),
	};
}

const insertion = (at: number, replacement: string): Splice => ({ start: at, end: at, replacement });

const inOrder = (...splices: readonly Splice[]) => splices.toSorted((a, b) => a.start - b.start);

/** Where the item after one begins, with the blanks before it. */
function behind(
	text: string,
	{ name, items, index }: { readonly name: string; readonly items: readonly Span[]; readonly index: number },
): number {
	const { end } = items[index] as Span;
	if (items[index + 1] === undefined) return end;
	const comma = /^\s*, ?/.exec(text.slice(end));
	if (!comma) throw refusedEntry(name, "a comment is between its arguments");
	return end + comma[0].length;
}

/** Refuses a text with other changes than those of the entry. */
export function checked(
	text: string,
	splices: readonly Splice[],
	{ host, name, entry }: Named & { readonly entry: JsonObject },
) {
	const after = applySplices(text, splices);
	const read = (one: string) => (host.format === "json" ? readSettings(one) : readToml(one, "it is not valid TOML"));
	const wanted = withValue(read(text), [...host.key.slice(0, -1), name], entry);
	if (isDeepStrictEqual(comparable(read(after)), comparable(wanted))) return after;
	throw refusedEntry(name, "its command cannot be changed on its own where it is");
}

export function refusedEntry(name: string, reason: string): PalimpsestError {
	const message = `The entry of \`${name}\` cannot be changed: ${reason}. It was left unchanged.`;
	return new PalimpsestError("invalid_json", message);
}
