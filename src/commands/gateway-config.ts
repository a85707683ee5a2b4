import { createHash } from "node:crypto";
import path from "node:path";
import { isJsonObject, type JsonObject } from "../engine/conversation/json.ts";
import { PalimpsestError } from "../errors.ts";
import { entryInJson } from "../formats/json-text/settings.ts";
import { listOf, objectOf, stringAt } from "../formats/json-text/value.ts";
import { readToml } from "../hosts/toml.ts";
import type { ServerEntry } from "../mcp/gateway/serve-many.ts";
import { readRegularFile } from "../storage/files/access.ts";

/** Where hosts keep their servers. */
const tables = [
	["mcpServers"],
	["servers"],
	["mcp", "servers"],
	["mcp"],
	["context_servers"],
	["mcp_servers"],
] as const;
/** In bytes. */
const largestFile = 10_000_000;

/** A name of a configuration that says nothing of its folder. Another file may have an entry of the same name. */
export const nameOfFile = (file: string) => createHash("sha256").update(file).digest("hex").slice(0, 8);

/**
 * The servers in a host's own configuration, without those that are off. Throws PalimpsestError `invalid_json` or
 * `unreadable_file`, also for an entry that is no server.
 */
export async function configuredServers(
	file: string,
	environment: Readonly<Record<string, string | undefined>>,
): Promise<readonly ServerEntry[]> {
	const text = (await readRegularFile(file, largestFile)).toString().replace(/^\uFEFF/, "");
	const isToml = path.extname(file) === ".toml";
	const toml = isToml ? readToml(text, `${file} is not valid TOML`) : undefined;
	const table = tables
		.map((key) => (toml ? key.reduce<unknown>((at, name) => objectOf(at)[name], toml) : entryInJson(text, key)))
		.find((found) => isJsonObject(found) && Object.values(found).some(isServer));
	if (!isJsonObject(table)) throw refused(file, `no servers under ${tables.map((key) => key.join(".")).join(", ")}`);
	const servers = Object.entries(table).flatMap(([name, entry]): readonly ServerEntry[] => {
		if (!isJsonObject(entry)) throw refused(file, `the entry ${name} is no object`);
		if (entry.disabled === true || entry.enabled === false) return [];
		return [serverOf(name, entry, { file, environment })];
	});
	if (servers.length > 0) return servers;
	throw refused(file, "no servers that are on");
}

const isServer = (entry: unknown) =>
	isJsonObject(entry) && ["command", "url", "serverUrl", "httpUrl"].some((member) => Object.hasOwn(entry, member));

interface Where {
	readonly file: string;
	readonly environment: Readonly<Record<string, string | undefined>>;
}

function serverOf(name: string, entry: JsonObject, { file, environment }: Where): ServerEntry {
	const fill = (text: unknown): string => {
		if (typeof text !== "string") throw refused(file, `the entry ${name} has a value that is no text`);
		return text.replace(/\$\{(?:env:)?(\w+)(?::-([^}]*))?\}|\$\{([^}]*)\}/g, (_, variable, usual, other) => {
			if (variable === "workspaceFolder") return process.cwd();
			const value = other === undefined ? (environment[variable] ?? usual) : undefined;
			if (value !== undefined) return value;
			throw refused(file, `the entry ${name} needs \${${other ?? variable}}, which is not in the environment`);
		});
	};
	const texts = (member: unknown) =>
		Object.fromEntries(Object.entries(objectOf(member)).map(([key, value]) => [key, fill(value)]));
	const url = ["url", "serverUrl", "httpUrl"].map((member) => stringAt(entry, member)).find(Boolean);
	if (url !== undefined) {
		const filled = fill(url);
		if (!/^https?:/i.test(filled) || !URL.canParse(filled)) throw refused(file, `the entry ${name} has no valid URL`);
		return { name, kind: "remote", url: new URL(filled), headers: texts(entry.headers ?? entry.http_headers) };
	}
	const words = Array.isArray(entry.command) ? entry.command : [entry.command, ...listOf(entry.args)];
	const [command = "", ...args] = words.map(fill);
	if (command === "" || /^https?:/i.test(command)) throw refused(file, `the entry ${name} has no command`);
	const folder = entry.cwd === undefined ? undefined : fill(entry.cwd);
	return { name, kind: "command", command, args, env: texts(entry.env ?? entry.environment), folder };
}

function refused(file: string, reason: string): PalimpsestError {
	return new PalimpsestError("invalid_json", `Expected ${file} to hold the MCP servers of a host: ${reason}.`);
}
