import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { beforeEach, describe, expect, it } from "vitest";
import { bashResponse, claudeCodeEvent, geminiCliEvent, logOf } from "../support/hook-events.ts";
import { runCli } from "../support/run-cli.ts";
import { scratchFolder } from "../support/scratch-folder.ts";

const long = logOf(4_000);

const notices = { fr: "[Sortie abrégée", en: "[Output shortened", zh: "[输出已缩短" };

const clean = { CLAUDE_PROJECT_DIR: "", GEMINI_PROJECT_DIR: "", CLAUDE_CONFIG_DIR: "", XDG_CONFIG_HOME: "" };

let home: string;

let project: string;

beforeEach(async () => {
	home = await scratchFolder();
	project = join(home, "project");
	await mkdir(project);
});

/** Runs a command in the project. */
const run = (parameters: readonly string[], input = "", environment: Record<string, string> = {}) =>
	runCli(parameters, { folder: project, input, environment: { ...clean, HOME: home, ...environment } });

const events = {
	"claude-code": () => claudeCodeEvent("Bash", { command: "npm test" }, bashResponse(long)),
	"gemini-cli": () => geminiCliEvent("run_shell_command", { command: "npm test" }, { llmContent: long }),
};

/** The language of the notice that a host's hook writes. */
async function languageOf(host: keyof typeof events, more: readonly string[] = [], environment = {}) {
	const { text, lines } = await run(["hook", host, ...more], events[host](), environment);
	expect(lines).toEqual([]);
	return languageIn(text);
}

const languageIn = (text: string) => Object.entries(notices).find(([, notice]) => text.includes(notice))?.[0];

describe("the language of a hook", () => {
	it("is French by default", async () => {
		expect(await languageOf("claude-code")).toBe("fr");
	});

	it.each(["claude-code", "gemini-cli"] as const)("is that of the server's entry in %s", async (host) => {
		await run(["install", host]);
		expect(await languageOf(host)).toBe("en");
		await run(["install", host, "--locale", "zh"]);
		expect(await languageOf(host)).toBe("zh");
		await run(["install", host, "--project", "--preset", "observation-masking"]);
		expect(await languageOf(host)).toBe("fr");
	});

	it("is that of the project entry written by Claude Code's own command", async () => {
		await run(["install", "claude-code"]);
		const file = join(home, ".claude.json");
		const settings = JSON.parse(await readFile(file, "utf8"));
		const mcpServers = { palimpsest: { command: "npx", args: [], env: { PALIMPSEST_LOCALE: "zh" } } };
		await writeFile(file, JSON.stringify({ ...settings, projects: { [project]: { mcpServers } } }));
		expect(await languageOf("claude-code")).toBe("zh");
		const elsewhere = { CLAUDE_PROJECT_DIR: join(home, "another") };
		expect(await languageOf("claude-code", [], elsewhere)).toBe("en");
	});

	it("is that of --locale before any other", async () => {
		await run(["install", "claude-code", "--locale", "zh"]);
		expect(await languageOf("claude-code", ["--locale", "fr"])).toBe("fr");
	});

	it("is that of the policy file when the entry names only a preset, as for the server", async () => {
		await writeFile(join(project, "palimpsest.toml"), 'locale = "zh"\n');
		await run(["install", "claude-code"]);
		expect(await languageOf("claude-code")).toBe("zh");
		await run(["install", "claude-code", "--locale", "en"]);
		expect(await languageOf("claude-code")).toBe("en");
	});

	it("is the default when the host's file is unreadable", async () => {
		await writeFile(join(home, ".claude.json"), "{ broken");
		expect(await languageOf("claude-code")).toBe("fr");
	});

	it("is that of the server's entry in opencode, in opencode's working folder", async () => {
		await run(["install", "opencode", "--project", "--locale", "zh"]);
		await run(["hook", "install", "opencode", "--project"]);
		const plugin = join(project, ".opencode", "plugins", "palimpsest.js");
		const copy = join(home, "plugin.mjs");
		await writeFile(copy, await readFile(plugin, "utf8"));
		const { default: installed } = await import(pathToFileURL(copy).href);
		process.env.PALIMPSEST_ARCHIVE = "none";
		const output = { output: long };
		await (await installed.server({ directory: project }))["tool.execute.after"]({ tool: "bash" }, output);
		delete process.env.PALIMPSEST_ARCHIVE;
		expect(languageIn(output.output)).toBe("zh");
	});
});

describe("palimpsest hook install --locale", () => {
	it("installs the hook with it, and replaces the entry when it changes", async () => {
		await run(["hook", "install", "claude-code", "--locale", "zh"]);
		const file = join(home, ".claude", "settings.json");
		const command = async () => JSON.parse(await readFile(file, "utf8")).hooks.PostToolUse[0].hooks[0].command;
		expect(await command()).toMatch(/ hook claude-code --max-chars 16000 --locale zh$/);
		await run(["hook", "install", "claude-code", "--locale", "en"]);
		expect(await command()).toMatch(/ --locale en$/);
		expect((await run(["hook", "uninstall", "claude-code"])).code).toBe(0);
		expect(await readFile(file, "utf8")).not.toContain("palimpsest");
	});

	it("applies to the plugin for opencode too", async () => {
		expect((await run(["hook", "opencode", "--locale", "zh"])).text).toContain('"locale":"zh"');
	});

	it("accepts only known languages", async () => {
		for (const parameters of [["install", "claude-code"], ["opencode"]]) {
			const { code, lines } = await run(["hook", ...parameters, "--locale", "de"]);
			expect([code, lines.join()]).toEqual([2, expect.stringContaining('unknown --locale "de"')]);
		}
	});
});
