import { readFileSync } from "node:fs";
import { mkdir, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { parse as parseJson } from "jsonc-parser";
import { parse as parseToml } from "smol-toml";
import { beforeAll, describe, expect, it } from "vitest";
import { parse as parseYaml } from "yaml";
import type { ServerHost } from "../../src/hosts/host.ts";
import { serverHosts as hosts } from "../../src/hosts/hosts.ts";
import { enterServer, entryByHand, isWritable } from "../../src/hosts/install.ts";
import { serverStart } from "../../src/hosts/own-command.ts";
import { builtCli, packageFolder } from "../support/built-cli.ts";
import { cleanEnvironment, scratchFolder } from "../support/scratch-folder.ts";

const page = readFileSync(join(packageFolder, "docs/hosts.md"), "utf8");
type Configuration = Record<string, unknown>;
const parsers: Record<string, (text: string) => Configuration> = {
	json: (text) => parseJson(text),
	jsonc: (text) => parseJson(text),
	toml: parseToml,
	yaml: (text) => parseYaml(text),
};
const parse = (format: string, text: string) => parsers[format]?.(text) ?? {};
const start = serverStart({ preset: "balanced", platform: "linux" });

/** The blocks of the page, by the heading above each. */
const blocks = new Map(
	page.split(/^##+ /m).flatMap((section) => {
		const block = /^```(json|jsonc|toml|yaml)\n([\s\S]*?)^```$/m.exec(section);
		if (!block) return [];
		const title = section.slice(0, section.indexOf("\n"));
		return [[title, parse(block[1] ?? "", block[2] ?? "")] as const];
	}),
);
const pattern = blocks.get("The server's entry") ?? {};

/** The rows of the table of entries: source, file, key, and what the entry has beside the pattern. */
const rows = new Map(
	Array.from(
		page.matchAll(/^\| \[([^\]]+)\]\((https:[^)]+)\) \|(.*)\| `(\w+)` \|([^|]*)\|[^|]*\|$/gm),
		([, title = "", source = "", , key = "", more = ""]) => {
			const members = Array.from(more.matchAll(/`([^`]+)`/g), ([, code]) => code);
			return [title, { source, key, more: JSON.parse(`{${members.join()}}`) }] as const;
		},
	),
);

const titleIn = (titles: Iterable<string>, host: ServerHost) => [...titles].find((one) => host.title.startsWith(one));

/** The configuration that the page shows for a host: its own block, or the pattern as its row changes it. */
function configurationOf(host: ServerHost): Configuration {
	const own = blocks.get(titleIn(blocks.keys(), host) ?? "");
	if (own) return own;
	const { key, more } = rows.get(titleIn(rows.keys(), host) ?? "") ?? { key: "", more: {} };
	return { [key]: { palimpsest: { ...(entryIn(pattern, ["mcpServers", "palimpsest"]) as object), ...more } } };
}

const entryIn = (configuration: unknown, key: readonly string[]) =>
	key.reduce<unknown>((at, name) => (at as Record<string, unknown>)[name], configuration);

/** What hosts name the same thing. */
interface Entry {
	readonly command?: string | readonly string[];
	readonly cmd?: string;
	readonly args?: readonly string[];
	readonly env?: Readonly<Record<string, string>>;
	readonly environment?: Readonly<Record<string, string>>;
	readonly envs?: Readonly<Record<string, string>>;
}

let folder: string;

// As after an installation, which package.long.test.ts makes.
beforeAll(async () => {
	folder = await scratchFolder();
	const programs = join(folder, "node_modules/.bin");
	await mkdir(programs, { recursive: true });
	await symlink(builtCli, join(programs, "palimpsest-mcp"));
	await writeFile(join(folder, "package.json"), '{ "private": true }');
});

/** Starts the server as a host would, where npx finds the package that is installed. */
async function toolsOf(command: string, args: readonly string[], env: Readonly<Record<string, string>>) {
	const client = new Client({ name: "test", version: "1.0.0" });
	const environment = { ...cleanEnvironment(folder), ...env };
	await client.connect(new StdioClientTransport({ command, args: [...args], env: environment, cwd: folder }));
	const { tools } = await client.listTools();
	const { contents } = await client.readResource({ uri: "policy://current" });
	await client.close();
	const [current] = contents;
	return { tools: tools.length, policy: JSON.parse(current && "text" in current ? current.text : "").policy };
}

describe("the page on hosts", () => {
	it("has a row or a block for every host, and none for anything else", () => {
		const titles = [...rows.keys(), ...blocks.keys()].filter((title) => title !== "The server's entry");
		expect(titles.filter((title) => !hosts.some((host) => host.title.startsWith(title)))).toEqual([]);
		expect(titles).toHaveLength(hosts.length);
		const without = hosts.filter((host) => titleIn(titles, host) === undefined);
		expect(without.map(({ name }) => name)).toEqual([]);
	});

	it("names the source of each entry", () => {
		const missing = hosts.filter(({ source }) => !page.includes(`(${source})`) && !page.includes(`<${source}>`));
		expect(missing.map(({ name }) => name)).toEqual([]);
	});

	it.each(hosts.map((host) => [host.title, host] as const))("shows the installed entry in %s", (_, host) => {
		const configuration = configurationOf(host);
		expect(entryIn(configuration, host.key)).toEqual(host.entry(start));
		const written = isWritable(host) ? enterServer("", host, start) : entryByHand(host, start);
		expect(parse(host.format, written)).toEqual(configuration);
	});

	const starts = new Map(
		hosts.map((host) => {
			const entry = entryIn(configurationOf(host), host.key) as Entry;
			const [program = "", ...first] = [entry.command ?? entry.cmd ?? []].flat();
			const env = entry.env ?? entry.environment ?? entry.envs ?? {};
			const start = { program, words: [...first, ...(entry.args ?? [])], env };
			return [JSON.stringify(start), start] as const;
		}),
	);

	// The blocks of most hosts start it by the same words.
	it.each([...starts])("starts the server by %s", async (_, { program, words, env }) => {
		const { tools, policy } = await toolsOf(program, words, env);
		expect(tools).toBeGreaterThanOrEqual(4);
		expect(policy).toMatchObject({ preset: "balanced", locale: "en" });
	});

	it("has install links that match the blocks", () => {
		const ofCode = new URL(/\[Install\]\((https:\/\/vscode[^)]*)\)/.exec(page)?.[1] ?? "");
		expect(JSON.parse(ofCode.searchParams.get("config") ?? "")).toEqual({ type: "stdio", ...start });
		const ofCursor = new URL(/\[Install\]\((https:\/\/cursor[^)]*)\)/.exec(page)?.[1] ?? "");
		const config = Buffer.from(ofCursor.searchParams.get("config") ?? "", "base64").toString("utf8");
		expect(JSON.parse(config)).toEqual(start);
		expect([ofCode, ofCursor].map((link) => link.searchParams.get("name"))).toEqual(["palimpsest", "palimpsest"]);
		const ofCommand = /^code --add-mcp '(.*)'$/m.exec(page)?.[1] ?? "";
		expect(JSON.parse(ofCommand)).toEqual({ name: "palimpsest", type: "stdio", ...start });
		const ofGoose = new URL(/`(goose:\/\/[^`]*)`/.exec(page)?.[1] ?? "");
		const { searchParams } = ofGoose;
		expect([searchParams.get("cmd"), searchParams.getAll("arg")]).toEqual([start.command, start.args]);
	});
});
