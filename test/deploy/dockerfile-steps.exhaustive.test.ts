import { spawn } from "node:child_process";
import { once } from "node:events";
import { cp, mkdir, readdir, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import { expect, it, vi } from "vitest";
import { agentConversation } from "../support/agent-conversation.ts";
import { packageFolder } from "../support/built-cli.ts";
import { patience } from "../support/patience.ts";
import { scratchFolder } from "../support/scratch-folder.ts";
import { carryOut } from "./carry-out.ts";
import { copiedIn, readDockerfile, type Stage, wordsOf } from "./read-dockerfile.ts";

const [build, server] = readDockerfile(await readFile(join(packageFolder, "deploy/Dockerfile"), "utf8")) as [
	Stage,
	Stage,
];
const token = "a1".repeat(16);

/** Every file under a folder with its size and the time of its last change. */
async function everyFile(folder: string): Promise<string[]> {
	const entries = await readdir(folder, { recursive: true, withFileTypes: true });
	const files = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
	return Promise.all(files.map(async (file) => `${file} ${(await stat(file)).size} ${(await stat(file)).mtimeMs}`));
}

// Steps that need no Docker: what is not run is Docker's own part, and the images of Node.
it("builds and serves, step by step, and writes only to its archive", async () => {
	const folder = await scratchFolder();
	const [made, app, elsewhere] = [join(folder, "build"), join(folder, "app"), join(folder, "elsewhere")];
	for (const one of [made, app, elsewhere]) await mkdir(one);
	await carryOut(build, made);
	for (const { sources, target } of copiedIn(server)) {
		for (const source of sources) {
			const name = source.replace("/app/", "");
			expect(source).toBe(`/app/${name}`);
			expect(target).toMatch(name === "package.json" ? /^\.\/$/ : /^\.\//);
			await cp(join(made, name), join(app, name), { recursive: true, verbatimSymlinks: true });
		}
	}
	const modules = await readdir(join(app, "node_modules"));
	expect(modules).toEqual(expect.arrayContaining(["prom-client", "express", "piscina"]));
	expect(modules).not.toContain("vitest");
	await stat(join(app, "node_modules/@redis/client"));

	const tokens = join(folder, "tokens");
	await writeFile(tokens, `alice:${token}\n`, { mode: 0o600 });
	const [node, cli] = wordsOf(server, "ENTRYPOINT");
	expect([node, cli]).toEqual(["node", "/app/dist/cli.js"]);
	const given = wordsOf(server, "CMD").map((word) =>
		word.replace(/^0\.0\.0\.0:\d+$/, "127.0.0.1:0").replace("/run/secrets/palimpsest_tokens", tokens),
	);
	const archive = join(folder, "archive");
	const home = { HOME: elsewhere, TMPDIR: elsewhere, PALIMPSEST_ARCHIVE: archive, NODE_ENV: "production" };
	const before = await everyFile(app);
	const child = spawn(process.execPath, [join(app, "dist/cli.js"), ...given], {
		cwd: app,
		env: { PATH: process.env.PATH, ...home },
		stdio: ["ignore", "ignore", "pipe"],
	});
	const closed = once(child, "close");
	let told = "";
	child.stderr.on("data", (chunk: Buffer) => {
		told += chunk.toString("utf8");
	});
	const metrics = await vi.waitUntil(() => /"metrics at (http:[^"]+)"/.exec(told)?.[1], patience);
	const [url = ""] = /http:\/\/[^\s/]+(?=\/mcp)/.exec(told) ?? [];
	const client = new Client({ name: "test", version: "1.0.0" });
	const requestInit = { headers: { Authorization: `Bearer ${token}` } };
	await client.connect(new StreamableHTTPClientTransport(new URL(`${url}/mcp`), { requestInit }) as Transport);
	const messages = agentConversation(300);
	const { structuredContent } = await client.callTool({ name: "mask_conversation", arguments: { messages } });
	expect(structuredContent).toMatchObject({ report: { masked_tool_results: 292 } });
	await client.close();
	expect(await (await fetch(metrics)).text()).toContain(
		'palimpsest_calls_total{tool="mask_conversation",outcome="ok"} 1',
	);
	child.kill("SIGTERM");
	expect((await closed)[0], told).toBe(0);
	expect(await everyFile(app)).toEqual(before);
	expect(await everyFile(elsewhere)).toEqual([]);
	expect((await everyFile(archive)).length).toBeGreaterThan(200);
}, 600_000);
