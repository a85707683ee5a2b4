import { mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { resolvePolicy } from "../../src/engine/policy/layers.ts";
import { localeNames, presetNames } from "../../src/engine/policy/names.ts";
import { hookTarget, withHook } from "../../src/hosts/hooks.ts";
import { serverHosts } from "../../src/hosts/hosts.ts";
import { enterServer, isWritable } from "../../src/hosts/install.ts";
import { serverStart } from "../../src/hosts/own-command.ts";
import { hookPolicy } from "../../src/hosts/shorten-result.ts";
import { bashResponse, claudeCodeEvent, logOf } from "../support/hook-events.ts";
import { hookHost } from "../support/hook-host.ts";
import { runCli } from "../support/run-cli.ts";
import { cleanEnvironment, scratchFolder } from "../support/scratch-folder.ts";

let home: string;
let project: string;
beforeEach(async () => {
	home = await scratchFolder();
	project = join(home, "project");
	await mkdir(project);
	const clean = { CLAUDE_PROJECT_DIR: "", GEMINI_PROJECT_DIR: "", CLAUDE_CONFIG_DIR: "", XDG_CONFIG_HOME: "" };
	for (const name of Object.keys(process.env)) if (name.startsWith("PALIMPSEST_")) vi.stubEnv(name, undefined);
	for (const [name, value] of Object.entries({ ...cleanEnvironment(home), ...clean })) vi.stubEnv(name, value);
	vi.spyOn(process, "cwd").mockReturnValue(project);
	return () => {
		vi.unstubAllEnvs();
		vi.restoreAllMocks();
	};
});

/** Enters the server in a host's file, in place of an earlier entry. */
async function enter(name: string, how: { inProject?: true; preset?: string; locale?: string } = {}) {
	const host = serverHosts.filter(isWritable).find((one) => one.name === name);
	const projectFolder = how.inProject && project;
	const file = host?.file({ platform: process.platform, homeFolder: home, environment: process.env, projectFolder });
	if (host === undefined || file === undefined) throw new Error(`${name} has no such file.`);
	await mkdir(dirname(file), { recursive: true });
	const start = serverStart({ preset: how.preset ?? "balanced", locale: how.locale, platform: process.platform });
	await writeFile(file, enterServer(await readFile(file, "utf8").catch(() => ""), host, start));
	return file;
}

const policyOf = async (host: string, locale?: string) =>
	(await hookPolicy({ policyFile: undefined, locale, host, warn: () => {} })).policy;
const languageOf = async (host: string, locale?: string) => (await policyOf(host, locale)).locale;

describe("the policy of a hook", () => {
	it("is the schema's default where nothing sets one", async () => {
		const { locale, on_archive_failure, archive, figures } = resolvePolicy([]);
		expect(await policyOf("claude-code")).toEqual({ locale, on_archive_failure, archive, figures });
	});

	it("speaks the reader's language, unless the server's entry names a locale or a preset of the source documents", async () => {
		vi.stubEnv("LC_ALL", "zh_CN.UTF-8");
		expect(await languageOf("claude-code")).toBe("zh");
		for (const preset of presetNames) {
			await enter("claude-code", { preset });
			expect(await languageOf("claude-code")).toBe(resolvePolicy([{ reader: "zh" }, { preset }]).locale);
		}
		await enter("claude-code", { locale: "fr" });
		expect(await languageOf("claude-code")).toBe("fr");
	});

	it("is the schema's default in the language of the server's entry", async () => {
		for (const preset of presetNames) {
			for (const locale of [undefined, ...localeNames]) {
				const entered = resolvePolicy([{ preset, ...(locale && { locale }) }]);
				await enter("claude-code", { preset, ...(locale && { locale }) });
				const { locale: spoken, on_archive_failure, archive, figures } = entered;
				expect(await policyOf("claude-code")).toEqual({ locale: spoken, on_archive_failure, archive, figures });
			}
		}
	});

	it("is refused where the server's entry has an unknown field", async () => {
		await enter("claude-code", { preset: "toString" });
		await expect(policyOf("claude-code")).rejects.toMatchObject({ code: "invalid_policy" });
		await enter("claude-code", { locale: "de" });
		await expect(policyOf("claude-code")).rejects.toMatchObject({ code: "invalid_policy" });
	});

	it("is the whole of it where a variable or a file sets one, but for variables that set none", async () => {
		for (const name of ["PALIMPSEST_ARCHIVE", "PALIMPSEST_NAMESPACE"]) vi.stubEnv(name, "none");
		expect(await policyOf("claude-code")).not.toHaveProperty("mask");
		vi.stubEnv("PALIMPSEST_LOCALE", "en");
		expect(await policyOf("claude-code")).toMatchObject({ locale: "en", mask: {} });
		vi.stubEnv("PALIMPSEST_LOCALE", "");
		await writeFile(join(project, "palimpsest.toml"), "");
		expect(await policyOf("claude-code")).toHaveProperty("mask");
	});
});

describe("the language of a hook", () => {
	it.each(["claude-code", "gemini-cli"])("comes from the server's entry in %s, of the project first", async (host) => {
		expect(await languageOf(host)).toBe("fr");
		await enter(host);
		expect(await languageOf(host)).toBe("en");
		await enter(host, { locale: "zh" });
		expect(await languageOf(host)).toBe("zh");
		await enter(host, { inProject: true, preset: "observation-masking" });
		expect(await languageOf(host)).toBe("fr");
	});

	it("comes from the project entry written by Claude Code's own command", async () => {
		const file = await enter("claude-code");
		const settings = JSON.parse(await readFile(file, "utf8"));
		const mcpServers = { palimpsest: { command: "npx", args: [], env: { PALIMPSEST_LOCALE: "zh" } } };
		await writeFile(file, JSON.stringify({ ...settings, projects: { [project]: { mcpServers } } }));
		expect(await languageOf("claude-code")).toBe("zh");
		vi.stubEnv("CLAUDE_PROJECT_DIR", join(home, "another"));
		expect(await languageOf("claude-code")).toBe("en");
	});

	it("comes from --locale first", async () => {
		await enter("claude-code", { locale: "zh" });
		expect(await languageOf("claude-code", "fr")).toBe("fr");
	});

	it("comes from the policy file when the entry names only a preset, as for the server", async () => {
		await writeFile(join(project, "palimpsest.toml"), 'locale = "zh"\n');
		await enter("claude-code");
		expect(await languageOf("claude-code")).toBe("zh");
		await enter("claude-code", { locale: "en" });
		expect(await languageOf("claude-code")).toBe("en");
	});

	it("is the default when the host's file is unreadable", async () => {
		await writeFile(join(home, ".claude.json"), "{ broken");
		expect(await languageOf("claude-code")).toBe("fr");
	});

	it("is the language of its notices", async () => {
		await enter("claude-code", { locale: "zh" });
		const input = claudeCodeEvent("Bash", { command: "npm test" }, bashResponse(logOf(4_000)));
		const { text, lines } = await runCli(["hook", "claude-code"], {
			folder: project,
			input,
			environment: { HOME: home, XDG_CONFIG_HOME: "", CLAUDE_PROJECT_DIR: "" },
		});
		expect([text.includes("[输出已缩短"), lines]).toEqual([true, []]);
	});

	it("comes from the server's entry in opencode, in opencode's working folder", async () => {
		await enter("opencode", { inProject: true, locale: "zh" });
		const file = join(home, "plugin.mjs");
		const target = hookTarget(hookHost("opencode"), { isForProject: true, mostChars: 16_000 });
		await writeFile(file, withHook(undefined, target));
		const { default: installed } = await import(pathToFileURL(file).href);
		vi.stubEnv("PALIMPSEST_ARCHIVE", "none");
		const output = { output: logOf(4_000) };
		await (await installed.server({ directory: project }))["tool.execute.after"]({ tool: "bash" }, output);
		expect(output.output).toContain("[输出已缩短");
	});
});
