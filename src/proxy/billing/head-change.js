import { whole } from "../../operations/window-words.js";
import { modelName } from "../../storage/figures/line.js";
/** The first change of a head in the order of a prompt, tools before the system prompt; `undefined` if nothing changed. */
export function headChange(before, now) {
	const tools = toolChanges(before.tools, now.tools);
	if (tools) return { cause: "tools", ...tools };
	const detail = systemChange(before, now);
	return detail === undefined ? undefined : { cause: "system", detail, servers: [] };
}
const mostNamed = 5;
/** The tools that came (+), went (−) or have another definition (~); `undefined` if all are the same, in the same order. */
function toolChanges(before, tools) {
	const hashes = new Map(before.map(({ name, hash }) => [name, hash]));
	const names = new Set(tools.map(({ name }) => name));
	const came = tools.filter(({ name }) => !hashes.has(name)).map(({ name }) => ["+", name]);
	const went = before.filter(({ name }) => !names.has(name)).map(({ name }) => ["-", name]);
	const other = tools.filter(({ name, hash }) => (hashes.get(name) ?? hash) !== hash).map(({ name }) => ["~", name]);
	const changes = [...came, ...went, ...other];
	if (changes.length === 0) {
		const isSame = tools.length === before.length && tools.every(({ name }, at) => name === before[at]?.name);
		return isSame ? undefined : { detail: `tools: the same ${whole(tools.length)} in another order`, servers: [] };
	}
	const named = changes.slice(0, mostNamed).map(([mark, name]) => `${mark}${toolName(name)}`);
	const more = changes.length > mostNamed ? [`${whole(changes.length - mostNamed)} more`] : [];
	const servers = new Set(changes.flatMap(([, name]) => serverOf(name) ?? []));
	return { detail: `tools: ${[...named, ...more].join(", ")}`, servers: [...servers].slice(0, mostNamed) };
}
/** A name in a request may hold anything: one that looks like no name is hashed. */
function toolName(name) {
	return modelName(name).replace(/^unnamed /, "unnamed-");
}
/** The MCP server of a tool, as Claude Code, Codex and others name them: `mcp__files__read`. */
function serverOf(name) {
	const server = /^mcp__(.+?)__./.exec(name)?.[1];
	return server === undefined ? undefined : toolName(server);
}
/** Where the system prompt differs; `undefined` if it is the same as far as it was kept. */
function systemChange(before, now) {
	if (before.system === now.system && before.systemChars === now.systemChars) return undefined;
	const [one, other] = [before.system, now.system];
	const start = commonChars(one, other, (text, at, length) => text.slice(at, at + length));
	const where = `system differs at ${whole(start)} of ${whole(now.systemChars)} characters`;
	const [rest, otherRest] = [one.slice(start), other.slice(start)];
	const end = commonChars(rest, otherRest, (text, at, length) =>
		text.slice(text.length - at - length, text.length - at),
	);
	const parts = [one.slice(start, one.length - end), other.slice(start, other.length - end)];
	const isNumber = parts.every((part) => /^[\d\s:.,/+TZ-]{0,40}$/.test(part)) && parts.some((part) => /\d/.test(part));
	return isNumber ? `${where}, in a number or a time` : where;
}
const piece = 512;
/** The length of the common start, or end, as `pieceOf` cuts pieces. Comparing pieces is faster than comparing characters. */
function commonChars(one, other, pieceOf) {
	const most = Math.min(one.length, other.length);
	let same = 0;
	for (let length = piece; length >= 1; length = Math.floor(length / 8)) {
		while (same + length <= most && pieceOf(one, same, length) === pieceOf(other, same, length)) same += length;
	}
	return same;
}
