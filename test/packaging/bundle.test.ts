import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { unpackExtension } from "@anthropic-ai/mcpb";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { beforeAll, describe, expect, it } from "vitest";
import { agentConversation } from "../support/agent-conversation.ts";
import { isWhole } from "../support/breadth.ts";
import { packageFolder } from "../support/built-cli.ts";
import { cleanEnvironment, scratchFolder } from "../support/scratch-folder.ts";

const run = promisify(execFile);

let unpacked: string;
let manifest: {
	readonly version: string;
	readonly icon: string;
	readonly tools: readonly { readonly name: string }[];
	readonly user_config: Record<string, { readonly default?: string; readonly description: string }>;
	readonly server: { readonly mcp_config: { command: string; args: string[]; env: Record<string, string> } };
};

// The build is there already; running it again would pull it from under other tests.
beforeAll(async () => {
	// What is packed is installed anew: `npm run test:all` does so. The server is that of the build.
	if (!isWhole) {
		unpacked = packageFolder;
		manifest = JSON.parse(await readFile(join(packageFolder, "deploy/bundle/manifest.json"), "utf8"));
		return;
	}
	const { stdout } = await run(process.execPath, ["scripts/bundle.js"], { cwd: packageFolder });
	const bundle = stdout.trim().split("\n").at(-1) ?? "";
	unpacked = join(await scratchFolder(), "extension");
	await unpackExtension({ mcpbPath: bundle, outputDir: unpacked, silent: true });
	manifest = JSON.parse(await readFile(join(unpacked, "manifest.json"), "utf8"));
});

/** Starts the server as Claude Desktop does: what has neither a setting nor a default stays as it is written. */
async function startWith(settings: Record<string, string>): Promise<Client> {
	const fill = (text: string) =>
		text
			.replaceAll("$" + "{__dirname}", unpacked)
			.replace(/\$\{user_config\.(\w+)\}/g, (name, key) => settings[key] ?? manifest.user_config[key]?.default ?? name);
	const { args, env } = manifest.server.mcp_config;
	const filled = Object.fromEntries(Object.entries(env).map(([name, value]) => [name, fill(value)]));
	const client = new Client({ name: "test", version: "1.0.0" });
	const home = await scratchFolder();
	await client.connect(
		new StdioClientTransport({
			command: process.execPath,
			args: args.map(fill),
			env: { ...cleanEnvironment(home), XDG_STATE_HOME: home, ...filled },
		}),
	);
	return client;
}

describe("the bundle for Claude Desktop", () => {
	it.runIf(isWhole)("has the version of the package and the tools of the server", async () => {
		expect(manifest.version).toBe(JSON.parse(await readFile(join(packageFolder, "package.json"), "utf8")).version);
		const client = await startWith({});
		const { tools } = await client.listTools();
		await client.close();
		expect(manifest.tools.map(({ name }) => name)).toEqual(tools.map(({ name }) => name));
	});

	it("has an icon of 512 pixels", async () => {
		const icon = await readFile(join(isWhole ? unpacked : join(packageFolder, "deploy/bundle"), manifest.icon));
		expect([icon.toString("latin1", 1, 4), icon.readUInt32BE(16), icon.readUInt32BE(20)]).toEqual(["PNG", 512, 512]);
	});

	it("starts without settings, with their defaults", async () => {
		const client = await startWith({});
		const { contents } = await client.readResource({ uri: "policy://current" });
		await client.close();
		const [current] = contents;
		const text = current && "text" in current ? current.text : "";
		expect(JSON.parse(text)).toMatchObject({ policy: { preset: "balanced", locale: "en" } });
	});

	it("uses the user's settings: preset, language, archive folder and windows", async () => {
		const archive = join(await scratchFolder(), "originals");
		const client = await startWith({
			preset: "observation-masking",
			locale: "fr",
			archive_folder: archive,
			window_turns: "2",
			context_window: "32000",
		});
		const { contents } = await client.readResource({ uri: "policy://current" });
		const messages = agentConversation(6);
		const masked = await client.callTool({ name: "mask_conversation", arguments: { messages } });
		await client.close();
		const [current] = contents;
		expect(JSON.parse(current && "text" in current ? current.text : "")).toMatchObject({
			policy: {
				preset: "observation-masking",
				locale: "fr",
				mask: { window_turns: 2 },
				guard: { context_window_override: 32_000 },
			},
		});
		expect(masked.structuredContent).toMatchObject({ report: { masked_tool_results: 4 } });
		const ref = /réf=(\w+)/.exec(JSON.stringify(masked.structuredContent))?.[1] ?? "";
		const { stdout } = await run(
			process.execPath,
			[join(unpacked, "dist/cli.js"), "recall", ref, "--archive", archive],
			{ env: cleanEnvironment(unpacked) },
		);
		expect(JSON.stringify(messages)).toContain(JSON.stringify(stdout.trimEnd()).slice(1, 40));
	});
});
