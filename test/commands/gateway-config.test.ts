import { writeFile } from "node:fs/promises";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { configuredServers } from "../../src/commands/gateway-config.ts";
import { scratchFolder } from "../support/scratch-folder.ts";

async function serversIn(text: string, { name = "mcp.json", environment = {} } = {}) {
	const file = path.join(await scratchFolder(), name);
	await writeFile(file, text);
	return configuredServers(file, environment);
}

const entry = { command: "npx", args: ["-y", "server"], env: { A: "1" } };
const read = { name: "a", kind: "command", command: "npx", args: ["-y", "server"], env: { A: "1" }, folder: undefined };

describe("the servers of a host's file", () => {
	it.each([
		["mcpServers", { mcpServers: { a: entry } }],
		["VS Code", { servers: { a: { type: "stdio", ...entry } } }],
		["settings of VS Code", { mcp: { servers: { a: entry } } }],
		["opencode", { mcp: { a: { type: "local", command: ["npx", "-y", "server"], environment: { A: "1" } } } }],
		["Zed", { context_servers: { a: { source: "custom", ...entry } } }],
	])("are read as %s writes them", async (_host, settings) => {
		expect(await serversIn(JSON.stringify(settings))).toEqual([read]);
	});

	it("are read from TOML, and those that are off are left out", async () => {
		const text = `[mcp_servers.a]\ncommand = "npx"\nargs = ["-y", "server"]\nenv = { A = "1" }\n[mcp_servers.b]\ncommand = "x"\nenabled = false\n`;
		expect(await serversIn(text, { name: "config.toml" })).toEqual([read]);
	});

	it("get the variables of the environment", async () => {
		const url = { url: `https://\${HOST}/mcp`, headers: { Authorization: `Bearer \${env:TOKEN}`, B: `\${NONE:-b}` } };
		const text = JSON.stringify({ mcpServers: { web: url } });
		expect(await serversIn(text, { environment: { HOST: "example.org", TOKEN: "t" } })).toEqual([
			{
				...{ name: "web", kind: "remote", url: new URL("https://example.org/mcp") },
				headers: { Authorization: "Bearer t", B: "b" },
			},
		]);
	});

	it.each([
		[{}, /no servers under mcpServers, servers/],
		[{ mcpServers: { a: { command: "x", args: null } } }, "ok"],
		[{ mcpServers: { a: { command: "https://example.org" } } }, /the entry a has no command/],
		[{ mcpServers: { a: { url: "ftp://example.org" } } }, /the entry a has no valid URL/],
		[{ mcpServers: { a: { command: "x", args: [1] } } }, /the entry a has a value that is no text/],
		[{ mcpServers: { a: entry, b: 1 } }, /the entry b is no object/],
		[{ mcpServers: { a: { command: `\${input:key}` } } }, /the entry a needs \$\{input:key\}/],
		[{ mcpServers: { a: { command: "x", disabled: true } } }, /no servers that are on/],
	])("are refused by name where they are odd: %j", async (settings, words) => {
		const reading = serversIn(JSON.stringify(settings));
		if (words === "ok") expect(await reading).toHaveLength(1);
		else await expect(reading).rejects.toThrow(words);
	});
});
