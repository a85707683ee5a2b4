import fc from "fast-check";
import { parse } from "smol-toml";
import { describe, expect, it } from "vitest";
import { readSettings } from "../../src/formats/json-text/settings.ts";
import { enteredServers, unwrapServer, wrapServer } from "../../src/hosts/gateway-entries.ts";
import type { WritableHost } from "../../src/hosts/host.ts";
import { serverHosts } from "../../src/hosts/hosts.ts";

const hostNamed = (name: string) => serverHosts.find((host) => host.name === name) as WritableHost;
const [desktop, codex, opencode] = [hostNamed("claude-desktop"), hostNamed("codex"), hostNamed("opencode")];
const start = { command: "npx", args: ["-y", "palimpsest-mcp"], env: {} };
const wrap = (text: string, host: WritableHost, name = "fs") =>
	wrapServer(text, { host, name, start, options: ["--recall", "server"] });
const before = ["-y", "palimpsest-mcp", "gateway", "--recall", "server"];

interface Entry {
	readonly command?: string;
	readonly args?: readonly string[];
}

const entryIn = (text: string) => (readSettings(text).mcpServers as { readonly fs: Entry }).fs;

describe("an entry behind the gateway", () => {
	it.each([
		[
			"arguments",
			'{ "command" : "n\\u006fde", "args":[ "a b",\n\t"--", "c"] , "env": {"KEY": "secret"} }',
			["node", "a b", "--", "c"],
		],
		["arguments close to the brackets", '{"command":"node","args":["x"]}', ["node", "x"]],
		["an empty list of arguments", '{"args": [ ], "command": "node"}', ["node"]],
		["arguments before the command", '{"args": ["x"], "command": "node", "type": "stdio"}', ["node", "x"]],
		[
			"comments and a comma at the end",
			'{\n// why\n"command": "node", // here\n"args": [\n/* one */ "x", "y",\n],}',
			["node", "x", "y"],
		],
	])("starts the same command, and comes back to the byte: one with %s", (_what, entry, words) => {
		const text = `{\n  "mcpServers": {"other": {"command":"x"}, "fs": ${entry}},\n "more": 1e3 }`;
		const wrapped = wrap(text, desktop);
		const { command, args, ...others } = entryIn(wrapped);
		expect([command, ...(args ?? [])]).toEqual(["npx", ...before, ...(words.length === 1 ? ["--"] : []), ...words]);
		const { command: _command, args: _args, ...same } = entryIn(text);
		expect(others).toEqual(same);
		expect(enteredServers(wrapped, desktop).map(({ kind }) => kind)).toEqual(["command", "gateway"]);
		expect(unwrapServer(wrapped, { host: desktop, name: "fs" })).toBe(text);
	});

	it("has arguments only if it had some", () => {
		const text = '{"mcpServers":{"fs":{"command":"node","env":{}}}}';
		const wrapped = wrap(text, desktop);
		expect(JSON.parse(wrapped).mcpServers.fs.args).toEqual([...before, "node"]);
		expect(unwrapServer(wrapped, { host: desktop, name: "fs" })).toBe(text);
	});

	it("comes back with the same values after its host has rewritten the file", () => {
		fc.assert(
			fc.property(fc.string(), fc.option(fc.array(fc.string()), { nil: undefined }), (command, args) => {
				const entry = { command, ...(args && { args }), env: { A: "1" } };
				const text = JSON.stringify({ mcpServers: { fs: entry } });
				const anew = JSON.stringify(JSON.parse(wrap(text, desktop)), null, 4);
				expect(JSON.parse(unwrapServer(anew, { host: desktop, name: "fs" })).mcpServers.fs).toEqual(entry);
				expect(unwrapServer(wrap(text, desktop), { host: desktop, name: "fs" })).toBe(text);
			}),
		);
	});

	it("may have its command in one list with the arguments", () => {
		const text = '{"mcp": {"fs": {"type": "local", "command": [ "node", "x" ], "enabled": true}}}';
		const wrapped = wrap(text, opencode);
		expect(JSON.parse(wrapped).mcp.fs.command).toEqual(["npx", ...before, "node", "x"]);
		expect(unwrapServer(wrapped, { host: opencode, name: "fs" })).toBe(text);
	});

	it.each([
		[
			"a list over several lines",
			"command = 'node' # mine\nargs = [\n  \"x\", # first\n  'y',\n]\n[mcp_servers.fs.env]\nKEY = \"secret\"\n",
		],
		["no list", 'command = "node" # mine\nstartup_timeout_sec = 5\n'],
		["an empty list", 'args = [ ]\ncommand = "node"'],
	])("comes back to the byte in TOML: one with %s", (_what, body) => {
		const text = `model = "x"\n\n[mcp_servers."fs"]\n${body}\n[mcp_servers.other]\ncommand = "y"\n`;
		const wrapped = wrap(text, codex);
		const { fs, other } = parse(wrapped).mcp_servers as Record<string, { command: string; args: string[] }>;
		expect(fs?.command).toBe("npx");
		expect(fs?.args.slice(0, 5)).toEqual(before);
		expect(other).toEqual({ command: "y" });
		expect(unwrapServer(wrapped, { host: codex, name: "fs" })).toBe(text);
	});

	it.each([
		[
			"options and no --",
			["gateway", "--only", "a", "--no-recall", "--log=json", "npx", "-y", "x"],
			["npx", "-y", "x"],
		],
		["arguments and no --", ["gateway", "npx", "x", "--", "y"], ["npx", "x", "--", "y"]],
		["more options and arguments", ["gateway", "--max-tokens", "300", "--", "npx", "x"], ["npx", "x"]],
	])("comes back if a person has written it: one with %s", (_what, words, [command, ...args]) => {
		const text = JSON.stringify({ mcpServers: { fs: { command: "palimpsest", args: words } } });
		expect(entryIn(unwrapServer(text, { host: desktop, name: "fs" }))).toEqual({ command, args });
		const inOneList = JSON.stringify({ mcp: { fs: { command: ["palimpsest", ...words] } } });
		const back = readSettings(unwrapServer(inOneList, { host: opencode, name: "fs" })).mcp;
		expect(back).toEqual({ fs: { command: [command, ...args] } });
	});

	it.each([
		["an address behind the gateway", { command: "palimpsest", args: ["gateway", "https://example.org/mcp"] }],
		["no command behind the gateway", { command: "palimpsest", args: ["gateway"] }],
	])("stays if it has %s", (reason, entry) => {
		const text = JSON.stringify({ mcpServers: { fs: entry } });
		expect(() => unwrapServer(text, { host: desktop, name: "fs" })).toThrow(reason);
	});

	it("stays if its arguments are no list", () => {
		const text = '{"mcpServers":{"fs":{"command":"node","args":null}}}';
		expect(() => wrap(text, desktop)).toThrow("its `args` are not a list");
	});

	it.each([
		["an inline table", 'mcp_servers = { fs = { command = "node" } }'],
		["dotted keys", '[mcp_servers]\nfs.command = "node"\n'],
		["a text of several lines", '[mcp_servers.fs]\ncommand = """node"""\n'],
	])("is refused in TOML where its place is not known: %s", (_what, text) => {
		expect(() => wrap(text, codex)).toThrow(/It was left unchanged/);
	});
});

describe("the servers of a host", () => {
	it("are distinguished", () => {
		const entries = {
			palimpsest: { command: "anything" },
			ours: { command: "npx", args: ["-y", "palimpsest-mcp"] },
			notes: { command: "npx", args: ["-y", "server", "/home/me/palimpsest"] },
			web: { url: "https://example.org/mcp" },
			odd: {},
		};
		const found = enteredServers(JSON.stringify({ mcpServers: entries }), desktop);
		expect(found.map(({ name, kind }) => [name, kind])).toEqual([
			["palimpsest", "own"],
			["ours", "own"],
			["notes", "command"],
			["web", "remote"],
			["odd", "unknown"],
		]);
	});
});
