import { createHash } from "node:crypto";
import path from "node:path";
import { isJsonObject } from "../../engine/conversation/json.js";
/** A line of JSON without zeros and absent values, so that a year of them has room. */
export function writeLine(line) {
	const entries = Object.entries(line).filter(([, value]) => value !== undefined && value !== 0);
	return JSON.stringify(Object.fromEntries(entries.map(([name, value]) => [name, short(name, value)])));
}
/**
 * `undefined` for a line that was cut off or damaged, and for a kind that a newer version writes. What is optional and has
 * another form counts as absent.
 */
export function readLine(text) {
	let value;
	try {
		value = JSON.parse(text);
	} catch {
		return undefined;
	}
	if (!isJsonObject(value) || !isAmount(value.at) || value.at > latestTime) return undefined;
	switch (value.kind) {
		case "request":
			return withNumbers(value, ["input", "read", "write", "output", "left_out", "billed"]);
		case "ping":
			return withNumbers(value, ["billed"]);
		case "refusal":
			return withNumbers(value, []);
		case "break":
			return typeof value.cause === "string" ? withNumbers(value, ["tokens"]) : undefined;
		case "result":
			return withNumbers(value, ["chars_before", "chars_after"]);
		default:
			return undefined;
	}
}
/** A name in a request may hold anything. One that looks like no name of a model is hashed. */
export function modelName(name) {
	return /^[\w.:@/[\]-]{1,80}$/.test(name) ? name : `unnamed ${hashOf(name).slice(0, 8)}`;
}
/** The name of a subagent, which its program chooses. */
export const agentName = modelName;
const programs = {
	"claude-cli": "claude",
	"claude-code": "claude",
	codex_cli_rs: "codex",
	codex_exec: "codex",
	"codex-tui": "codex",
	geminicli: "gemini",
	"gemini-cli": "gemini",
	"copilot-cli": "copilot",
};
/** One name for a program, whether `launch`, a hook or a `User-Agent` header names it. */
export function programName(given) {
	const name = /^[a-z][\w.-]{1,40}(?=[/ ]|$)/i.exec(given ?? "")?.[0].toLowerCase();
	return name === undefined ? undefined : (programs[name] ?? name);
}
/** Names a folder. Equal folders have equal names. */
export function projectName(folder, { isPrivate }) {
	const absolute = path.resolve(folder);
	const hash = hashOf(absolute).slice(0, 10);
	const last = folderName(absolute);
	return isPrivate || last === "" ? hash : `${hash}/${last}`;
}
/** The last name of a folder on one line; empty for the root. */
export function folderName(folder) {
	const last = path.basename(path.resolve(folder)).replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, " ");
	return last.slice(0, 60).toWellFormed();
}
function hashOf(text) {
	return createHash("sha256").update(text).digest("hex");
}
/** Keeps sums right, also of requests that cost less than a cent. */
const digitsOfDollars = 5;
function short(name, value) {
	if (typeof value !== "number") return value;
	return name.startsWith("usd") ? Number(value.toPrecision(digitsOfDollars)) : Math.round(value);
}
/** The last time that a `Date` can hold. */
const latestTime = 8.64e15;
function isAmount(value) {
	return typeof value === "number" && value >= 0 && value <= Number.MAX_SAFE_INTEGER;
}
const isText = (value) => typeof value === "string";
/** What a line may have, and its form. */
const optional = new Map([
	...["unedited", "usd", "usd_unedited", "decisions"].map((name) => [name, isAmount]),
	...["program", "project", "model", "agent", "undecided"].map((name) => [name, isText]),
	["servers", (value) => Array.isArray(value) && value.every(isText)],
]);
function withNumbers(value, names) {
	const numbers = names.map((name) => [name, value[name] ?? 0]);
	if (!numbers.every(([, number]) => isAmount(number))) return undefined;
	const sound = { ...value, ...Object.fromEntries(numbers) };
	for (const [name, isSound] of optional) if (sound[name] !== undefined && !isSound(sound[name])) delete sound[name];
	return sound;
}
