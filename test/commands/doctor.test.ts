import { once } from "node:events";
import { chmod, mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { type AddressInfo, createServer } from "node:net";
import { dirname, join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import { packageFolder } from "../support/built-cli.ts";
import { runCli } from "../support/run-cli.ts";
import { runHere } from "../support/run-here.ts";
import { scratchFolder } from "../support/scratch-folder.ts";

let folder: string;
beforeEach(async () => {
	folder = await scratchFolder();
});
const environment = {
	XDG_CONFIG_HOME: "",
	XDG_STATE_HOME: "",
	PALIMPSEST_ARCHIVE: "",
	CLAUDE_CONFIG_DIR: "",
	CODEX_HOME: "",
	COPILOT_HOME: "",
	PI_CODING_AGENT_DIR: "",
};
const free = ["--http", "127.0.0.1:0"];

async function write(name: string, text: string): Promise<void> {
	await mkdir(join(folder, dirname(name)), { recursive: true });
	await writeFile(join(folder, name), text);
}

async function examine(...parameters: string[]) {
	const { code, text } = await runHere(["doctor", "--json", ...parameters], { folder, environment });
	const { findings } = JSON.parse(text) as {
		findings: readonly {
			readonly name: string;
			readonly state: string;
			readonly found: string;
			readonly advice?: string;
		}[];
	};
	return { code, of: (name: string) => findings.find((finding) => finding.name === name), findings };
}

describe("palimpsest doctor", () => {
	it("reports a new machine as healthy except for a missing host, and leaves nothing in the archive", async () => {
		const { code, findings, of } = await examine(...free);
		expect(code).toBe(0);
		expect(findings.map(({ name, state }) => `${name} ${state}`)).toEqual([
			"node ok",
			"policy ok",
			"archive ok",
			"tokenizer ok",
			expect.stringMatching(/^prices (?:ok|warning)$/),
			"port ok",
			"hosts warning",
		]);
		expect(of("hosts")?.advice).toContain("palimpsest install");
		const archive = join(folder, ".local", "state", "palimpsest", "archive");
		const left = await readdir(archive, { recursive: true, withFileTypes: true });
		expect(left.filter((entry) => entry.isFile()).map(({ name }) => name)).toEqual([]);
	});

	it("finds a host that has the server configured", async () => {
		await runHere(["install", "claude-code"], { folder, environment });
		expect((await examine(...free)).of("hosts")).toMatchObject({ state: "ok", found: "claude-code: installed" });
	});

	const ownPlugins = [
		["claude-code", ".claude/settings.json", '{ "enabledPlugins": { "palimpsest@palimpsest": true } }', "server"],
		["codex", ".codex/config.toml", '[plugins."palimpsest@palimpsest"]\nenabled = true\n', "server"],
		["gemini-cli", ".gemini/extensions/palimpsest/gemini-extension.json", '{ "name": "palimpsest" }', "server"],
		["opencode", ".config/opencode/opencode.json", '{ "plugin": ["palimpsest-mcp"] }', "hook"],
		["pi", ".pi/agent/settings.json", '{ "packages": ["npm:palimpsest-mcp"] }', "hook"],
	] as const;

	it.each(ownPlugins)(
		"sees the plugin that %s has installed, which install does not double",
		async (host, file, text, brings) => {
			await write(file, text);
			const of = async () => (await examine(...free)).of("hosts");
			expect(await of()).toMatchObject({
				found: expect.stringContaining(`${host} with our plugin: installed`),
				state: "ok",
			});
			const command = brings === "server" || host === "pi" ? ["install", host] : ["hook", "install", host];
			const { code, lines } = await runHere(command, { folder, environment });
			expect([code, lines.join()]).toEqual([
				0,
				expect.stringMatching(/ has our plugin, which brings the .*: nothing to install/),
			]);
			expect(await readFile(join(folder, file), "utf8")).toBe(text);
			const off = text.replace("true", "false").replace(/palimpsest(?=-mcp|" \}$)/, "another");
			await write(file, off);
			expect((await of())?.found).not.toContain("with our plugin");
		},
	);

	it("says whether Claude Code's mod or its hook is at work, as the list of hosts does", async () => {
		await write(".claude/settings.json", ownPlugins[0][2]);
		const found = async () => (await examine(...free)).of("hosts")?.found;
		const listed = async () => (await runHere(["install"], { folder, environment })).text;
		expect(await found()).toContain("claude-code with our plugin: installed, its hook at work");
		expect(await listed()).toMatch(/^claude-code\s+plugin .* its hook at work/m);
		await write(".local/state/palimpsest/figures/2026-11-29.10a1f8a2.jsonl", "");
		expect(await found()).toContain("claude-code with our plugin: installed, its mod last at work at 20");
		expect(await listed()).toMatch(/^claude-code\s+plugin .* its mod last at work/m);
	});

	it("warns where a host has both the plugin and an entry of ours", async () => {
		await runHere(["install", "claude-code"], { folder, environment });
		await write(".claude/settings.json", ownPlugins[0][2]);
		const found = (await examine(...free)).of("hosts");
		expect(found).toMatchObject({
			state: "warning",
			advice: expect.stringContaining("palimpsest uninstall claude-code"),
		});
	});

	it("names the place in a file of a host that is not valid JSON or TOML", async () => {
		await write(".cursor/mcp.json", '{\n  "mcpServers": { oops }\n}');
		await write(".codex/config.toml", "[a]\nb = = 1\n");
		await write(".claude/settings.json", '{ "hooks": [ }');
		const { code, of } = await examine(...free);
		expect([code, of("hosts")?.state]).toEqual([1, "failed"]);
		for (const [file, place] of [
			[".cursor/mcp.json", "line 2, column 19"],
			[".codex/config.toml", "line 2, column 5"],
			[".claude/settings.json", "line 1, column 14"],
		])
			expect(of("hosts")?.found).toMatch(
				new RegExp(`${join(folder, file as string)}: it is not valid \\w+ \\(${place}\\)`),
			);
		const { code: refused, lines } = await runHere(["install", "cursor"], { folder, environment });
		expect([refused, lines.join()]).toEqual([1, expect.stringContaining("(line 2, column 19)")]);
	});

	const broken = JSON.stringify({ command: "no-such-program", args: ["serve"] });
	it.each([
		["claude-code", ".claude.json", `{ "mcpServers": { "palimpsest": ${broken} } }`, "there is no such command"],
		["cursor", ".cursor/mcp.json", `{ "mcpServers": { "palimpsest": { "command": "" } } }`, "it cannot be run"],
		[
			"codex",
			".codex/config.toml",
			'[mcp_servers.palimpsest]\ncommand = "node"\nargs = ["-e", "process.exit(3)"]\n',
			"it ended with exit code 3",
		],
		[
			"opencode",
			".config/opencode/opencode.json",
			'{ "mcp": { "palimpsest": { "type": "local", "command": ["no-such-program"] } } } // mine',
			"there is no such command",
		],
	])("says that the server of %s fails where its entry in %s does not start", async (host, name, text, reason) => {
		await write(name, text);
		const { code, of } = await examine(...free);
		expect([code, of("hosts")]).toEqual([
			1,
			{
				name: "hosts",
				state: "failed",
				found: `${host}: fails (${reason})`,
				advice: `palimpsest install ${host} adds a command that starts.`,
			},
		]);
	});

	it("says which of several entries fail, in the order of the hosts", async () => {
		await runHere(["install", "cursor"], { folder, environment });
		await write(".gemini/settings.json", `{ "mcpServers": { "palimpsest": ${broken} } }`);
		await write(".copilot/mcp-config.json", '{ "mcpServers": { "palimpsest": { "url": "https://example.org/mcp" } } }');
		const { found } = (await examine(...free)).of("hosts") ?? {};
		expect(found).toBe(
			"cursor: installed, gemini-cli: fails (there is no such command), copilot-cli: installed, not started",
		);
	});

	it("starts hooks and looks for the modules of plugins", async () => {
		for (const host of ["claude-code", "gemini-cli", "copilot-cli", "opencode", "pi"])
			expect((await runHere(["hook", "install", host], { folder, environment })).code).toBe(0);
		const parts = ["claude-code hook", "copilot-cli hook", "gemini-cli hook", "opencode plugin", "pi plugin"];
		const works = (await examine(...free)).of("hosts");
		expect(works?.state).toBe("ok");
		for (const part of parts) expect(works?.found).toContain(`${part}: installed`);
		const files = [
			".claude/settings.json",
			".copilot/hooks/palimpsest.json",
			".gemini/settings.json",
			".config/opencode/plugins/palimpsest.js",
			".pi/agent/extensions/palimpsest.js",
		];
		for (const file of files) {
			const text = await readFile(join(folder, file), "utf8");
			await write(file, text.replaceAll(packageFolder, join(folder, "moved")));
		}
		const { code, of } = await examine(...free);
		expect([code, of("hosts")?.state]).toEqual([1, "failed"]);
		for (const part of parts) expect(of("hosts")?.found).toContain(`${part}: fails (`);
	});

	it("says which policy commands have, and which the proxy, the gateway and plugins have", async () => {
		const { of } = await examine();
		expect(of("policy")?.found).toMatch(
			/Preset observation-masking: [\s\S]*Wording: fr\.\nProxy, .* preset balanced\. Wording: en\./,
		);
		await write("palimpsest.toml", 'preset = "balanced"\nlocale = "zh"\n');
		const { of: named } = await examine();
		expect(named("policy")?.found).toMatch(/Preset balanced: .*Wording: zh\.$/);
	});

	it("reports an unusable policy and continues", async () => {
		await writeFile(join(folder, "palimpsest.toml"), "[mask]\nwindow_turn = 3\n");
		const { code, of } = await examine(...free);
		expect(code).toBe(1);
		expect(of("policy")).toMatchObject({ state: "failed" });
		expect(of("policy")?.found).toContain("window_turns");
		expect(of("archive")?.state).toBe("ok");
	});

	it("does not mistake an address that this machine lacks for one of our servers", async () => {
		const { code, of } = await examine("--http", "192.0.2.1:8765");
		expect(code).toBe(0);
		expect(of("port")).toMatchObject({
			state: "warning",
			found: "cannot listen at 192.0.2.1:8765: EADDRNOTAVAIL",
			advice: expect.stringMatching(/^Choose an address of this machine/),
		});
	});

	it.skipIf(process.getuid?.() === 0)("reports an archive that is not writable", async () => {
		const locked = join(folder, "locked");
		await mkdir(locked);
		await chmod(locked, 0o500);
		const { code, of } = await examine(...free, "--archive", join(locked, "archive"));
		expect([code, of("archive")?.state]).toEqual([1, "failed"]);
	});

	it("reports a missing archive, and one that keeps nothing", async () => {
		const gone = await examine(...free, "--archive", "redis://127.0.0.1:1");
		expect([gone.code, gone.of("archive")?.state]).toEqual([1, "failed"]);
		const none = await examine(...free, "--archive", "none");
		expect([none.code, none.of("archive")?.state]).toEqual([0, "warning"]);
	});

	it("reports a port in use", async () => {
		const server = createServer().listen(0, "127.0.0.1");
		await once(server, "listening");
		const { port } = server.address() as AddressInfo;
		const { of } = await examine("--http", `127.0.0.1:${port}`);
		server.close();
		expect(of("port")).toMatchObject({ state: "warning", found: `127.0.0.1:${port} is taken` });
	});

	it("prints lines for people", async () => {
		const { text } = await runHere(["doctor", ...free], { folder, environment });
		expect(text.split("\n").filter((line) => /^(ok|warning|FAILED) /.test(line))).toHaveLength(7);
	});

	it("reports a Node.js that is too old", async () => {
		const old = 'Object.defineProperty(process, "versions", { value: { ...process.versions, node: "18.20.4" } });';
		const options = { NODE_OPTIONS: `--import data:text/javascript,${encodeURIComponent(old)}` };
		const { code, text } = await runCli(["doctor", ...free], { folder, environment: { ...environment, ...options } });
		expect([code, text]).toEqual([1, expect.stringContaining("FAILED   node       Node.js 18.20.4\n")]);
	});
});
