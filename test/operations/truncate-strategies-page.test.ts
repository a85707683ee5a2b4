import { execFile } from "node:child_process";
import { mkdir, readFile, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { beforeAll, describe, expect, it } from "vitest";
import { agentConversation } from "../support/agent-conversation.ts";
import { packageFolder } from "../support/built-cli.ts";
import { cleanEnvironment, scratchFolder } from "../support/scratch-folder.ts";

const run = promisify(execFile);

const page = await readFile(join(packageFolder, "docs/compaction.md"), "utf8");

const messages = agentConversation(9);

/** A block of the page that names its file in its first line. */
function blockOf(file: string): string {
	const block = Array.from(page.matchAll(/```\w+\n([\s\S]*?)```/g), ([, text]) => text ?? "").find((text) =>
		[`// ${file}\n`, `# ${file}\n`].some((line) => text.startsWith(line)),
	);
	if (block === undefined) throw new Error(`Expected a block for ${file}.`);
	return block;
}

/** A user's project with both packages, ours by a link. */
let project: string;

beforeAll(async () => {
	project = await scratchFolder();
	await mkdir(join(project, "node_modules/my-package"), { recursive: true });
	await symlink(packageFolder, join(project, "node_modules/palimpsest-mcp"));
	const manifest = { name: "my-package", version: "1.0.0", type: "module", exports: "./index.js" };
	await writeFile(join(project, "node_modules/my-package/package.json"), JSON.stringify(manifest));
	for (const file of ["node_modules/my-package/index.js", "palimpsest.toml", "program.mjs"]) {
		await writeFile(join(project, file), blockOf(file));
	}
	await writeFile(join(project, "chat.json"), JSON.stringify(messages));
});

describe("the strategy of docs/compaction.md, from an installed package", () => {
	const note = { role: "user", content: "[12 messages were left out here.]" };
	const expected = [...messages.slice(0, 2), note, ...messages.slice(-6)];

	it("compacts for a client of the server configured by its policy file", async () => {
		const args = [join(project, "node_modules/palimpsest-mcp/dist/cli.js"), "serve", "--policy", "palimpsest.toml"];
		const transport = new StdioClientTransport({
			command: process.execPath,
			args,
			cwd: project,
			env: { ...cleanEnvironment(project), PALIMPSEST_LOG_LEVEL: "info" },
			stderr: "pipe",
		});
		let stderr = "";
		transport.stderr?.on("data", (chunk: Buffer) => {
			stderr += chunk.toString("utf8");
		});
		const client = new Client({ name: "test", version: "1.0.0" });
		await client.connect(transport);
		const call = (given: unknown) =>
			client.callTool({ name: "compact_conversation", arguments: { messages: given, force: true } });
		const once = (await call(messages)).structuredContent as { messages: unknown[]; report: object };
		const twice = (await call(once.messages)).structuredContent;
		await client.close();
		expect(once.messages).toEqual(expected);
		expect(once.report).toMatchObject({ strategy: "my-package#DropMiddle", result: "rewritten" });
		expect(twice).toMatchObject({ report: { result: "unchanged" } });
		expect(stderr).toContain("DropMiddle leaves out 12 messages");
	});

	it("compacts for a program", async () => {
		const { stdout } = await run(process.execPath, ["program.mjs"], { cwd: project });
		expect(JSON.parse(stdout)).toEqual({ messages: expected.length, result: "rewritten" });
	});

	it("is refused before serving when the package has no such export", async () => {
		const env = { ...cleanEnvironment(project), PALIMPSEST_COMPACTION_STRATEGY: "my-package#DropMidle" };
		const cli = join(project, "node_modules/palimpsest-mcp/dist/cli.js");
		const refused = run(process.execPath, [cli, "serve", "--policy", "palimpsest.toml"], { cwd: project, env });
		refused.child.stdin?.end();
		await expect(refused).rejects.toThrow(/Did you mean DropMiddle\?/);
	});
});
