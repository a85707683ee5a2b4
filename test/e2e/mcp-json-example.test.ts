import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { describe, expect, it } from "vitest";

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
	it("starts the server as written, after a build", async () => {
		const { command, args, env = {} } = mcpServers.palimpsest as ServerEntry;
		const client = new Client({ name: "test", version: "1" });
		await client.connect(new StdioClientTransport({ command, args, env, cwd: root, stderr: "ignore" }));
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

	it("shows the form for the published package, as the README does", () => {
		const { name, bin } = JSON.parse(readFileSync(resolve(root, "package.json"), "utf8"));
		expect(Object.values(mcpServers)).toContainEqual(expect.objectContaining({ command: "npx", args: ["-y", name] }));
		expect(Object.keys(bin)).toEqual(["palimpsest"]);
		const block = /```json\n(\{\n {2}"mcpServers"[\s\S]*?)```/.exec(
			readFileSync(resolve(root, "README.md"), "utf8"),
		)?.[1];
		expect(JSON.parse(block ?? "").mcpServers.palimpsest).toMatchObject({ command: "npx", args: ["-y", name] });
	});
});
