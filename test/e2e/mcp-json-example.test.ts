import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { beforeAll, describe, expect, it } from "vitest";
import { cleanEnvironment, scratchFolder } from "../support/scratch-folder.ts";

const root = resolve(import.meta.dirname, "../..");

interface ServerEntry {
	readonly command: string;
	readonly args: string[];
	readonly env?: Record<string, string>;
}

const { mcpServers } = JSON.parse(readFileSync(resolve(root, "mcp.json.example"), "utf8")) as {
	mcpServers: Record<string, ServerEntry>;
};

describe("mcp.json.example", () => {
	let home: string;
	let environment: Record<string, string>;

	// README: "`npm ci && npm link` puts the command on your PATH". The link alone: a build would pull `dist` from under other tests.
	beforeAll(async () => {
		home = await scratchFolder();
		const { PALIMPSEST_ARCHIVE: _, ...clean } = cleanEnvironment(home);
		environment = { ...clean, PATH: `${join(home, "bin")}:${process.env.PATH}` };
		await promisify(execFile)("npm", ["link", "--ignore-scripts", "--offline", "--no-audit", "--no-fund"], {
			cwd: root,
			env: { ...process.env, npm_config_prefix: home },
		});
	});

	it("starts the server of the linked checkout from any folder", async () => {
		const { command, args, env = {} } = mcpServers["palimpsest-from-checkout"] as ServerEntry;
		const client = new Client({ name: "test", version: "1" });
		const entry = { command, args, env: { ...environment, ...env }, cwd: home, stderr: "ignore" } as const;
		await client.connect(new StdioClientTransport(entry));
		const { tools } = await client.listTools();
		const { contents } = await client.readResource({ uri: "policy://current" });
		await client.close();
		expect(tools.map((tool) => tool.name)).toEqual([
			"mask_conversation",
			"guard_context",
			"truncate_output",
			"compact_conversation",
			"recall_original",
		]);
		const [content] = contents;
		expect(content && "text" in content && JSON.parse(content.text).policy.locale).toBe("en");
	});

	// npx looks for a command of that name on the machine before it asks the registry.
	it("starts the linked checkout by npx as well, before the package is on npm", async () => {
		const elsewhere = await scratchFolder();
		const run = promisify(execFile)("npx", ["--offline", "-y", "palimpsest-mcp", "--version"], {
			cwd: elsewhere,
			env: { ...environment, npm_config_prefix: home },
		});
		const { version } = JSON.parse(readFileSync(resolve(root, "package.json"), "utf8"));
		expect((await run).stdout.trim()).toBe(version);
	});

	it("shows the form for the published package like the README", () => {
		const { name } = JSON.parse(readFileSync(resolve(root, "package.json"), "utf8"));
		expect(mcpServers.palimpsest).toMatchObject({ command: "npx", args: ["-y", name] });
		const block = /```json\n(\{\n {2}"mcpServers"[\s\S]*?)```/.exec(
			readFileSync(resolve(root, "README.md"), "utf8"),
		)?.[1];
		expect(JSON.parse(block ?? "").mcpServers.palimpsest).toMatchObject({ command: "npx", args: ["-y", name] });
	});
});
