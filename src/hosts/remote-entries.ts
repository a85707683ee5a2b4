import { isJsonObject, type JsonObject } from "../engine/conversation/json.ts";
import type { Splice } from "../formats/json-text/edit.ts";
import type { Span } from "../formats/json-text/locate.ts";
import { memberTwice, spansAt } from "../formats/json-text/settings.ts";
import { listOf, objectOf, stringAt } from "../formats/json-text/value.ts";
import { checked, enteredServers, type Named, refusedEntry, type Wrapping, wordsOf } from "./gateway-entries.ts";
import type { WritableHost } from "./host.ts";

const addressMembers = ["url", "serverUrl", "httpUrl"] as const;
/** What lets a host sign in by itself, which it does for an address alone. */
const signIn = /oauth|^auth$|^authorization$|authprovider|bearer|client_?id|client_?secret/i;

/** Whether an entry with a command had an address before `wrapRemote`. */
export const wasRemote = (entry: JsonObject): boolean => wordsOf(entry).includes("--was");

/**
 * Lets a server at an address start behind the gateway: a command takes the place of the address, and the headers are the
 * variables of its environment. `unwrapRemote` brings back every byte. Throws `invalid_json`.
 */
export function wrapRemote(text: string, how: Wrapping): string {
	const { host, name, start, options } = how;
	const { entry, key, member } = placesOf(text, how);
	const odd = Object.keys(entry).find((one) => signIn.test(one));
	if (odd !== undefined) throw refusedEntry(name, `the host signs in by \`${odd}\``);
	const { inOneList, variables, type } = shapeOf(host);
	if (Object.hasOwn(entry, variables)) throw refusedEntry(name, `it has an address and \`${variables}\``);
	const headers = Object.keys(objectOf(entry.headers));
	const before = stringAt(entry, "type");
	const was = [member, ...(before === undefined ? [] : [before])].join(",");
	const ofHeaders = headers.flatMap((one) => ["--header", `${one}=${one}`]);
	const added = [...start.args, "gateway", ...options, ...ofHeaders, "--was", was];
	const address = spansAt(text, [...key, member]).span;
	const raw = text.slice(address.start, address.end);
	const written = (words: readonly string[]) => words.map((word) => JSON.stringify(word)).join(", ");
	const value = inOneList
		? `[${written([start.command, ...added])}, ${raw}]`
		: `${JSON.stringify(start.command)}, "args": [${written(added)}, ${raw}]`;
	const url = stringAt(entry, member) ?? "";
	const { [member]: _, headers: given, ...others } = entry;
	const wanted = {
		...others,
		...(inOneList ? { command: [start.command, ...added, url] } : { command: start.command, args: [...added, url] }),
		...(before !== undefined && { type }),
		...(given !== undefined && { [variables]: given }),
	};
	const splices = [
		{ ...keySpan(text, { key, member, name }), replacement: '"command"' },
		{ ...address, replacement: value },
		...(before === undefined ? [] : [{ ...spansAt(text, [...key, "type"]).span, replacement: JSON.stringify(type) }]),
		...(given === undefined
			? []
			: [{ ...keySpan(text, { key, member: "headers", name }), replacement: JSON.stringify(variables) }]),
	];
	const after = checked(text, inOrder(splices), { host, name, entry: wanted });
	if (unwrapRemote(after, how) === text) return after;
	throw refusedEntry(name, "`uninstall` could not bring it back as it is");
}

/** Takes `wrapRemote` back. Throws `invalid_json`. */
export function unwrapRemote(text: string, { host, name }: Named): string {
	const { entry, key } = placesOf(text, { host, name });
	const { inOneList, variables } = shapeOf(host);
	const words = wordsOf(entry);
	const [member = "", type] = (words[words.indexOf("--was") + 1] ?? "").split(",");
	const command = spansAt(text, [...key, "command"]);
	const list = inOneList ? command : spansAt(text, [...key, "args"]);
	const between = inOneList ? "" : text.slice(command.span.end, list.span.start);
	const address = list.items.at(-1);
	if (!address || !addressMembers.some((one) => one === member) || !/^(?:\s*,\s*"args"\s*:\s*)?$/.test(between))
		throw refusedEntry(name, "it has changed since the gateway was put before its address");
	const hasHeaders = words.includes("--header") || Object.hasOwn(entry, variables);
	const { command: _command, args: _args, [variables]: given, ...others } = entry;
	const wanted = {
		...{ ...others, [member]: words.at(-1) },
		...(type !== undefined && { type }),
		...(hasHeaders && { headers: given }),
	};
	const splices = [
		{ ...keySpan(text, { key, member: "command", name }), replacement: JSON.stringify(member) },
		{ start: command.span.start, end: list.span.end, replacement: text.slice(address.start, address.end) },
		...(type === undefined ? [] : [{ ...spansAt(text, [...key, "type"]).span, replacement: JSON.stringify(type) }]),
		...(hasHeaders ? [{ ...keySpan(text, { key, member: variables, name }), replacement: '"headers"' }] : []),
	];
	return checked(text, inOrder(splices), { host, name, entry: wanted });
}

const inOrder = (splices: readonly Splice[]) => splices.toSorted((a, b) => a.start - b.start);

/** How a host writes an entry with a command. */
function shapeOf(host: WritableHost) {
	const entry = objectOf(host.entry({ command: "x", args: [], env: { A: "1" } }));
	const variables = Object.hasOwn(entry, "environment") ? "environment" : "env";
	return { inOneList: Array.isArray(entry.command), variables, type: stringAt(entry, "type") ?? "stdio" } as const;
}

function placesOf(text: string, { host, name }: Named) {
	if (host.format !== "json") throw refusedEntry(name, "an address in TOML has to be changed by hand");
	const entry = enteredServers(text, host).find((one) => one.name === name)?.entry;
	const key = [...host.key.slice(0, -1), name];
	if (!isJsonObject(entry)) throw refusedEntry(name, "it is no object");
	const members = [...addressMembers, "command", "args", "type", "headers", "env", "environment"];
	const twice = memberTwice(text, key, members);
	if (twice !== undefined) throw refusedEntry(name, `\`${twice}\` appears twice`);
	const named = addressMembers.filter((one) => stringAt(entry, one) !== undefined);
	if (named.length > 1) throw refusedEntry(name, "it has two addresses");
	const headers = entry.headers ?? {};
	if (!isJsonObject(headers) || Object.values(headers).some((value) => typeof value !== "string"))
		throw refusedEntry(name, "its `headers` are no texts");
	if (Object.keys(headers).some((header) => !/^[\w-]+$/.test(header))) throw refusedEntry(name, "it has an odd header");
	if (named[0] !== undefined && !/^https?:/i.test(stringAt(entry, named[0]) ?? ""))
		throw refusedEntry(name, "its address is not one of the web");
	return { entry, key, member: named[0] ?? "url", words: listOf(entry.args) };
}

/** Of a member's name, quotes included. */
function keySpan(
	text: string,
	{ key, member, name }: { readonly key: readonly string[]; readonly member: string; readonly name: string },
): Span {
	const { start } = spansAt(text, [...key, member]).span;
	const found = /"(?:[^"\\]|\\.)*"(?=\s*:\s*$)/.exec(text.slice(Math.max(0, start - 200), start));
	if (!found) throw refusedEntry(name, `a comment is beside its \`${member}\``);
	const from = Math.max(0, start - 200) + found.index;
	return { start: from, end: from + found[0].length };
}
