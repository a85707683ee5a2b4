import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { lstat, mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { promisify } from "node:util";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { publint } from "publint";
import { formatMessage } from "publint/utils";
import { beforeAll, describe, expect, it } from "vitest";
import { findTasks } from "../src/commands/trial-tasks.ts";
import { agentConversation } from "./support/agent-conversation.ts";
import { packageFolder } from "./support/built-cli.ts";
import { cleanEnvironment, scratchFolder } from "./support/scratch-folder.ts";

const run = promisify(execFile);

interface Packed {
	readonly filename: string;
	readonly files: readonly { readonly path: string }[];
}

let folder: string;
let installed: string;
let packed: Packed;
const tarball = () => join(folder, packed.filename);
const asUser = () => ({ cwd: installed, env: cleanEnvironment(installed) });

// The build is there already; running it again would pull it from under other tests.
beforeAll(async () => {
	folder = await scratchFolder();
	const { stdout } = await run("npm", ["pack", "--ignore-scripts", "--json", "--pack-destination", folder], {
		cwd: packageFolder,
	});
	[packed] = JSON.parse(stdout) as [Packed];
	installed = join(folder, "empty");
	await mkdir(installed);
	await writeFile(join(installed, "package.json"), '{ "private": true }');
	const install = ["install", "--no-audit", "--no-fund", "--prefer-offline", tarball()];
	await run("npm", install, { cwd: installed });
	await writeFile(join(installed, "chat.json"), JSON.stringify(agentConversation(10)));
});

describe("the packed tarball", () => {
	it("contains only the files a user needs", () => {
		const paths = packed.files.map((file) => file.path);
		const allowed =
			/^(assets\/[\w.-]+|dist\/[\w./-]+\.(js|d\.ts)|dist\/THIRD-PARTY-LICENSES\.txt|docs\/[\w./-]+\.(md|png)|examples\/([\w-]+\.js|package\.json|trial\/[\w./-]+)|\.claude-plugin\/marketplace\.json|plugins\/claude-code\/[\w./-]+|README\.md|LICENSE|CHANGELOG\.md|mcp\.json\.example|package\.json)$/;
		expect(paths.filter((path) => !allowed.test(path))).toEqual([]);
		const needed = [
			"assets/replay.js",
			"assets/page.css",
			"dist/cli.js",
			"plugins/claude-code/hooks/palimpsest.js",
			"dist/index.js",
			"dist/index.d.ts",
			"package.json",
		];
		const beside = ["README.md", "LICENSE", "CHANGELOG.md", "mcp.json.example", "docs/policy.md"];
		expect(paths).toEqual(expect.arrayContaining([...needed, ...beside]));
	});

	it("describes itself", async () => {
		const manifest = JSON.parse(await readFile(join(installed, "node_modules/palimpsest-mcp/package.json"), "utf8"));
		expect(manifest).toMatchObject({
			name: "palimpsest-mcp",
			license: "MIT",
			type: "module",
			engines: { node: ">=20.19" },
			bin: { palimpsest: "dist/cli.js" },
			exports: { ".": { types: "./dist/index.d.ts", default: "./dist/index.js" } },
		});
		const { scripts, private: isPrivate } = manifest;
		expect(isPrivate).toBeUndefined();
		expect(Object.keys(scripts).filter((name) => /^(pre|post)?install$/.test(name))).toEqual([]);
	});

	it("passes publint", async () => {
		const bytes = await readFile(tarball());
		const whole = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength) as ArrayBuffer;
		const { messages, pkg } = await publint({ pack: { tarball: whole }, level: "suggestion", strict: true });
		expect(messages.map((message) => formatMessage(message, pkg))).toEqual([]);
	});

	it("has types that resolve for every way to import an ES module", async () => {
		const attw = join(packageFolder, "node_modules/@arethetypeswrong/cli/dist/index.js");
		const { stdout } = await run(process.execPath, [attw, tarball(), "--profile", "esm-only", "--format", "json"]);
		const { problems, analysis } = JSON.parse(stdout);
		expect(Object.keys(analysis.entrypoints)).toContain(".");
		const found = Object.values(problems ?? {}) as { kind: string; resolutionKind: string }[][];
		// What needs CommonJS, or a resolution that knows no exports, is what the profile leaves out.
		expect(found.flat().filter(({ resolutionKind }) => /^(?:node16-esm|bundler)$/.test(resolutionKind))).toEqual([]);
	});

	it("has types that compile without optional peers", async () => {
		const seen = new Set<string>();
		const named = await packagesOf(join(packageFolder, "dist/index.d.ts"), seen);
		const { dependencies } = JSON.parse(await readFile(join(packageFolder, "package.json"), "utf8"));
		expect(seen.size).toBeGreaterThan(20);
		expect(named).toContain("zod");
		expect(named.filter((name) => !Object.hasOwn(dependencies, name))).toEqual([]);
	});
});

/** The packages that a declaration file names, and those that it imports; `seen` grows. */
async function packagesOf(file: string, seen: Set<string>): Promise<string[]> {
	if (seen.has(file)) return [];
	seen.add(file);
	const text = await readFile(file, "utf8");
	const targets = Array.from(text.matchAll(/(?:from|import\()\s*"([^"]+)"/g), ([, target = ""]) => target);
	const own = targets.filter((target) => target.startsWith("."));
	const inner = own.map((target) => packagesOf(resolve(dirname(file), target.replace(/\.[jt]s$/, ".d.ts")), seen));
	return [...targets.filter((target) => !target.startsWith(".")), ...(await Promise.all(inner)).flat()];
}

describe("installed into an empty folder", () => {
	it("runs as npx palimpsest", async () => {
		const { stdout } = await run("npx", ["--no-install", "palimpsest", "--help"], asUser());
		expect(stdout).toMatch(/^Usage: palimpsest /);
		const masked = await run(join(installed, "node_modules/.bin/palimpsest"), ["mask", "chat.json"], asUser());
		expect(JSON.parse(masked.stdout)).toHaveLength(agentConversation(10).length);
		expect(masked.stderr).toContain("masked 2 of 10 tool results");
	});

	it("serves MCP by its bin, which is a link", async () => {
		const bin = join(installed, "node_modules/.bin/palimpsest");
		if (process.platform !== "win32") expect((await lstat(bin)).isSymbolicLink()).toBe(true);
		const client = new Client({ name: "test", version: "1.0.0" });
		await client.connect(new StdioClientTransport({ command: bin, ...asUser() }));
		const { tools } = await client.listTools();
		const answer = await client.callTool({ name: "mask_conversation", arguments: { messages: agentConversation(10) } });
		await client.close();
		expect(tools.length).toBeGreaterThanOrEqual(3);
		expect(answer.structuredContent).toMatchObject({ report: { masked_tool_results: 2 } });
	});

	it("enters the package of npm in a host's configuration", async () => {
		const { stdout } = await run("npx", ["--no-install", "palimpsest", "install", "cursor", "--dry-run"], asUser());
		expect(stdout).toMatch(/"command": "npx",\n.*"args": \[\n.*"-y",\n.*"palimpsest-mcp"\n/);
	});

	it("serves MCP over HTTP", async () => {
		const bin = join(installed, "node_modules/.bin/palimpsest");
		const server = spawn(bin, ["serve", "--http", "127.0.0.1:0"], asUser());
		const [said] = await once(server.stderr, "data");
		const url = /http:\/\/[^/]+\/mcp/.exec(String(said))?.[0] ?? "";
		const client = new Client({ name: "test", version: "1.0.0" });
		await client.connect(new StreamableHTTPClientTransport(new URL(url)));
		const answer = await client.callTool({ name: "mask_conversation", arguments: { messages: agentConversation(90) } });
		await client.close();
		server.kill("SIGTERM");
		const [code] = await once(server, "exit");
		expect(answer.structuredContent).toMatchObject({ report: { masked_tool_results: 82 } });
		expect(code).toBe(0);
	});

	it("is imported as a library", async () => {
		const program = `
			import { readFileSync } from "node:fs";
			import { guard, mask, truncate } from "palimpsest-mcp";
			const { report } = await mask(JSON.parse(readFileSync("chat.json", "utf8")));
			console.log(report.masked_tool_results, typeof guard, (await truncate("a".repeat(60_000))).report.truncated);
		`;
		await writeFile(join(installed, "program.mjs"), program);
		const { stdout } = await run(process.execPath, ["program.mjs"], { cwd: installed });
		expect(stdout).toBe("2 function true\n");
	});

	it("loads a strategy from a package beside it that has an entry for `import` alone", async () => {
		const strategy = join(installed, "node_modules/own-strategy");
		await mkdir(strategy);
		await writeFile(join(strategy, "package.json"), '{ "type": "module", "exports": { "import": "./main.js" } }');
		await writeFile(join(strategy, "main.js"), "export const own = { compact: ({ history }) => history.slice(0, 2) };");
		const options = ["--set", "compaction.strategy=own-strategy#own", "chat.json"];
		const { stdout } = await run(join(installed, "node_modules/.bin/palimpsest"), ["compact", ...options], asUser());
		expect(JSON.parse(stdout)).toEqual(agentConversation(10).slice(0, 2));
	});

	it.skipIf(process.platform === "win32")("has the tasks of a trial, with checks that can be executed", async () => {
		const { tasks, notRun } = await findTasks(join(installed, "node_modules/palimpsest-mcp/examples/trial"));
		expect([tasks.length, notRun]).toEqual([3, []]);
	});

	it("does not export its internal files", async () => {
		const program = 'await import("palimpsest-mcp/dist/cli.js").catch((error) => process.stdout.write(error.code));';
		await writeFile(join(installed, "inner.mjs"), program);
		const { stdout } = await run(process.execPath, ["inner.mjs"], { cwd: installed });
		expect(stdout).toBe("ERR_PACKAGE_PATH_NOT_EXPORTED");
	});
});
