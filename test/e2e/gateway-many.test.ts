import { writeFile } from "node:fs/promises";
import path from "node:path";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { describe, expect, it, onTestFinished } from "vitest";
import { builtCli } from "../support/built-cli.ts";
import { cleanEnvironment, scratchFolder } from "../support/scratch-folder.ts";

const smallServer = path.resolve(import.meta.dirname, "../mcp/gateway/small-server.js");

describe("palimpsest gateway --config", () => {
	it("offers the servers of a host's file, cuts their results, and goes on when one dies", async () => {
		const cwd = await scratchFolder();
		const small = (more: object) => ({ command: process.execPath, args: [smallServer], ...more });
		const file = path.join(cwd, "mcp.json");
		const mcpServers = {
			...{ one: small({ env: { SMALL_SERVER: `\${TOKEN_OF_TEST}` } }), two: small({}) },
			...{ gone: { command: "/nowhere/server" }, off: { ...small({}), disabled: true } },
		};
		await writeFile(file, `// The servers of a host.\n${JSON.stringify({ mcpServers })}`);
		const env = { ...cleanEnvironment(cwd), PALIMPSEST_ARCHIVE: "files", TOKEN_OF_TEST: "secret" };
		const args = [builtCli, "gateway", "--config", file];
		const client = new Client({ name: "test", version: "1.0.0" });
		await client.connect(new StdioClientTransport({ command: process.execPath, args, cwd, env, stderr: "ignore" }));
		onTestFinished(() => client.close());
		const call = async (name: string, given: Record<string, unknown> = {}) => {
			const { content } = (await client.callTool({ name, arguments: given })) as { content: { text: string }[] };
			return content.map(({ text }) => text).join("\n");
		};
		const names = (await client.listTools()).tools.map(({ name }) => name);
		expect(names).toEqual(expect.arrayContaining(["one_echo", "two_echo", "recall_original"]));
		expect(names.filter((name) => !/^(?:one|two)_/.test(name))).toEqual(["recall_original"]);
		expect(JSON.parse(await call("one_surroundings"))[0]).toBe("secret");
		expect(JSON.parse(await call("two_surroundings"))[0]).toBe(null);
		const cut = await call("two_lines", { count: 5_000 });
		const [, ref] = /ref=([a-z0-9]{12})\] Intact/.exec(cut) ?? [];
		expect(await call("recall_original", { ref, lines: "4999" })).toContain("\nline 4999: word");
		await expect(call("one_die", { code: 3 })).rejects.toThrow(/The server one has ended with exit code 3/);
		expect(await call("two_echo", { a: 1 })).toBe('{"a":1}');
	});
});
