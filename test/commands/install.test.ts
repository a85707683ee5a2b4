import { mkdir, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import { builtCli } from "../support/built-cli.ts";
import { runHere } from "../support/run-here.ts";
import { scratchFolder } from "../support/scratch-folder.ts";

let folder: string;
beforeEach(async () => {
	folder = await scratchFolder();
});
// No folder of PATH has our command, and none of the user's own settings count.
const environment = {
	PATH: "/nowhere",
	XDG_CONFIG_HOME: "",
	XDG_STATE_HOME: "",
	CODEX_HOME: "",
	COPILOT_HOME: "",
	PI_CODING_AGENT_DIR: "",
};
const ofCline = { CLINE_DIR: "", CLINE_DATA_DIR: "", CLINE_MCP_SETTINGS_PATH: "" };
const run = (...parameters: string[]) => runHere(parameters, { folder, environment: { ...environment, ...ofCline } });

const commented = '{\n  // mine\n  "mcpServers": { "other": { "command": "x" } }\n}\n';

describe("palimpsest install", () => {
	it("shows the difference, writes it, and keeps existing entries", async () => {
		const file = join(folder, ".mcp.json");
		await writeFile(file, commented);
		const { code, text, lines } = await run("install", "claude-code", "--project");
		expect(code).toBe(0);
		expect(text).toContain('"palimpsest": {"type":"stdio"');
		const written = await readFile(file, "utf8");
		expect(written).toContain("// mine");
		expect(JSON.parse(written.replace("// mine", "")).mcpServers).toEqual({
			other: { command: "x" },
			palimpsest: {
				type: "stdio",
				command: process.execPath,
				args: [builtCli],
				env: { PALIMPSEST_PRESET: "balanced" },
			},
		});
		expect(await readFile(`${file}.before-palimpsest`, "utf8")).toBe(commented);
		expect(lines.join("\n")).toMatch(/the old file is .*\n.*Start a new session/);
		expect((await run("install", "claude-code", "--project")).lines.join()).toContain("nothing to change");
		await run("uninstall", "claude-code", "--project");
		expect(await readFile(file, "utf8")).toBe(commented);
	});

	it("--plugin lets Claude Code install the plugin, and says what it would run", async () => {
		const { text } = await run("install", "claude-code", "--plugin", "--dry-run");
		const [added = "", installed] = text.split("\n");
		expect(installed).toBe("claude plugin install palimpsest@palimpsest");
		const marketplace = /^claude plugin marketplace add (\S+)$/.exec(added)?.[1] ?? "";
		expect(JSON.parse(await readFile(join(marketplace, ".claude-plugin/marketplace.json"), "utf8")).name).toBe(
			"palimpsest",
		);
		const { code, lines } = await run("install", "claude-code", "--plugin");
		expect([code, lines.join()]).toEqual([1, expect.stringContaining("Expected the command claude on the PATH")]);
		expect((await run("install", "codex", "--plugin")).code).toBe(2);
		expect(await readdir(folder)).toEqual([]);
	});

	it("never overwrites a backup, and makes none twice", async () => {
		const file = join(folder, ".mcp.json");
		const copies = async () => (await readdir(folder)).filter((name) => name.includes("before-palimpsest")).toSorted();
		await writeFile(file, commented);
		await run("install", "claude-code", "--project");
		const installed = await readFile(file, "utf8");
		await run("install", "claude-code", "--project", "--preset", "context-guard");
		expect(await copies()).toEqual([".mcp.json.before-palimpsest", ".mcp.json.before-palimpsest-2"]);
		expect(await readFile(`${file}.before-palimpsest-2`, "utf8")).toBe(installed);
		await writeFile(file, commented);
		await run("install", "claude-code", "--project");
		expect(await copies()).toHaveLength(2);
		await writeFile(file, "{}");
		await run("install", "claude-code", "--project");
		expect(await copies()).toHaveLength(3);
		expect(await readFile(`${file}.before-palimpsest`, "utf8")).toBe(commented);
		expect(await readFile(`${file}.before-palimpsest-3`, "utf8")).toBe("{}");
	});

	it("removes each backup that differs from the file, once we are out, only by what is ours", async () => {
		const left = async (folder: string) => (await readdir(folder)).filter((name) => name.includes("before-palimpsest"));
		const file = join(folder, ".mcp.json");
		await writeFile(file, commented);
		for (const preset of ["balanced", "context-guard"])
			await run("install", "claude-code", "--project", "--preset", preset);
		expect(await left(folder)).toHaveLength(2);
		await run("uninstall", "claude-code", "--project");
		expect([await left(folder), await readFile(file, "utf8")]).toEqual([[], commented]);

		const settings = join(folder, ".claude", "settings.json");
		await mkdir(dirname(settings), { recursive: true });
		await writeFile(settings, '{ "theme": 1 }');
		await run("hook", "install", "claude-code", "--project");
		await run("install", "claude-code", "--statusline", "--project");
		await run("hook", "uninstall", "claude-code", "--project");
		await run("uninstall", "claude-code", "--statusline", "--project");
		expect([await left(dirname(settings)), JSON.parse(await readFile(settings, "utf8"))]).toEqual([[], { theme: 1 }]);
	});

	it("removes a backup where uninstalling makes the file the same as it, and no other", async () => {
		const file = join(folder, ".mcp.json");
		const copies = async () => (await readdir(folder)).filter((name) => name.includes("before-palimpsest")).toSorted();
		await writeFile(file, commented);
		await run("install", "claude-code", "--project");
		const uninstalled = await run("uninstall", "claude-code", "--project");
		expect(uninstalled.lines.join()).not.toContain("the old file");
		expect([await copies(), await readFile(file, "utf8")]).toEqual([[], commented]);
		await run("install", "claude-code", "--project");
		await writeFile(file, (await readFile(file, "utf8")).replace("// mine", "// changed since"));
		await run("uninstall", "claude-code", "--project");
		expect(await copies()).toHaveLength(2);
		expect(await readFile(`${file}.before-palimpsest`, "utf8")).toBe(commented);
	});

	it("refuses a file that is not UTF-8, which it would write back changed", async () => {
		const file = join(folder, ".mcp.json");
		const latin = Buffer.from('{"mcpServers": {}, "name": "caf\u00e9"}', "latin1");
		await writeFile(file, latin);
		const { code, lines } = await run("install", "claude-code", "--project");
		expect([code, lines.join()]).toEqual([1, expect.stringContaining("[unreadable_file]")]);
		expect(await readFile(file)).toEqual(latin);
	});

	it("writes nothing on a dry run", async () => {
		const { code, text } = await run("install", "cursor", "--dry-run");
		expect([code, text.includes(builtCli)]).toEqual([0, true]);
		expect(await readdir(folder)).toEqual([]);
	});

	it("refuses an archive that would keep the server from starting", async () => {
		for (const where of ["somewhere", ""]) {
			const { code, text, lines } = await run("install", "cursor", "--archive", where);
			expect([code, text, lines.join()]).toEqual([1, "", expect.stringContaining("Expected the archive to be files")]);
		}
		expect(await readdir(folder)).toEqual([]);
	});

	it("writes the absolute path of an archive folder, since hosts start the server anywhere; a project's own path stays relative", async () => {
		const archiveIn = async (...file: string[]) =>
			JSON.parse(await readFile(join(folder, ...file), "utf8")).mcpServers.palimpsest.env.PALIMPSEST_ARCHIVE;
		await run("install", "cursor", "--archive", "./kept");
		expect(await archiveIn(".cursor", "mcp.json")).toBe(join(folder, "kept"));
		await run("install", "claude-code", "--project", "--archive", "./kept");
		expect(await archiveIn(".mcp.json")).toBe("./kept");
	});

	it("writes and prints the name of a Redis without its password, also over an older entry with it", async () => {
		const [file, archive] = [join(folder, ".mcp.json"), "redis://joe:pa55word@127.0.0.1:1/1?x=pa55word"];
		await writeFile(file, JSON.stringify({ mcpServers: { palimpsest: { env: { PALIMPSEST_ARCHIVE: archive } } } }));
		const said: string[] = [];
		for (const more of [["--dry-run"], []]) {
			const { code, text, lines } = await run("install", "claude-code", "--project", "--archive", archive, ...more);
			expect(code).toBe(0);
			said.push(text, ...lines);
		}
		expect(said.join("\n")).not.toContain("pa55word");
		const { env } = JSON.parse(await readFile(file, "utf8")).mcpServers.palimpsest;
		expect(env.PALIMPSEST_ARCHIVE).toBe("saved:redis://127.0.0.1:1/1");
		const saved = join(folder, ".local", "state", "palimpsest", "addresses");
		if (process.platform === "linux") expect(await readdir(saved)).toHaveLength(1);
	});

	it("sets preset, language, archive, and the running program", async () => {
		const parameters = ["--preset", "context-guard", "--locale", "zh", "--archive", "/srv/originals", "--local"];
		await run("install", "gemini-cli", ...parameters);
		const { mcpServers } = JSON.parse(await readFile(join(folder, ".gemini", "settings.json"), "utf8"));
		expect(mcpServers.palimpsest).toEqual({
			command: process.execPath,
			args: [builtCli],
			env: { PALIMPSEST_PRESET: "context-guard", PALIMPSEST_LOCALE: "zh", PALIMPSEST_ARCHIVE: "/srv/originals" },
		});
	});

	it.skipIf(process.platform === "win32")(
		"enters this checkout, also where the PATH has another palimpsest",
		async () => {
			const bin = join(folder, "bin");
			await mkdir(bin);
			const withPath = { folder, environment: { ...environment, ...ofCline, PATH: bin } };
			const entered = async () => {
				await runHere(["install", "cursor"], withPath);
				await runHere(["hook", "install", "claude-code"], withPath);
				const { mcpServers } = JSON.parse(await readFile(join(folder, ".cursor/mcp.json"), "utf8"));
				const { hooks } = JSON.parse(await readFile(join(folder, ".claude/settings.json"), "utf8"));
				const [hook = ""] = hooks.PostToolUse[0].hooks[0].command.split(" hook ");
				return [[mcpServers.palimpsest.command, ...mcpServers.palimpsest.args].join(" "), hook];
			};
			const byPath = `${process.execPath} ${builtCli}`;
			await writeFile(join(bin, "palimpsest"), "#!/bin/sh\n", { mode: 0o755 });
			expect(await entered()).toEqual([byPath, byPath]);
			await rm(join(bin, "palimpsest"));
			await symlink(builtCli, join(bin, "palimpsest"));
			expect(await entered()).toEqual(["palimpsest", "palimpsest"]);
		},
	);

	it("offers the tools that are chosen", async () => {
		await run("install", "codex", "--tools", "recall_original, truncate_output");
		const file = join(folder, ".codex", "config.toml");
		expect(await readFile(file, "utf8")).toContain('PALIMPSEST_TOOLS = "truncate_output,recall_original"');
		const { code, lines } = await run("install", "cursor", "--tools", "recall_orignal");
		expect([code, lines.join()]).toEqual([1, expect.stringContaining("Did you mean recall_original?")]);
	});

	it("leaves YAML to the user because it would lose comments", async () => {
		const { code, text, lines } = await run("install", "goose");
		expect(code).toBe(0);
		expect(text).toMatch(/^extensions:\n {2}palimpsest:\n[\s\S]*cmd: "/);
		expect(lines.join()).toContain("config.yaml");
		expect(await readdir(folder)).toEqual([]);
	});

	it("lists the hosts and marks those that have the server configured", async () => {
		await run("install", "codex");
		const { text } = await run("install");
		expect(text).toMatch(/^codex +installed +.*config\.toml$/m);
		expect(text).toMatch(/^cursor +no file/m);
	});

	it.each([
		[["install", "clude-code"], "Did you mean claude-code?"],
		[["install", "windsurf", "--project"], "has no configuration for one project"],
		[["install", "cursor", "--preset", "balancd"], 'unknown --preset "balancd". Did you mean balanced?'],
		[["install", "cursor", "--locale", "de"], 'unknown --locale "de"'],
		[["uninstall", "emacs"], "Known: claude-desktop"],
	])("refuses %j", async (parameters, expected) => {
		const { code, lines } = await run(...parameters);
		expect(code).toBe(2);
		expect(lines.join()).toContain(expected);
		expect(await readdir(folder)).toEqual([]);
	});

	it("leaves an unreadable file unchanged", async () => {
		await mkdir(join(folder, ".cursor"));
		const file = join(folder, ".cursor", "mcp.json");
		await writeFile(file, "{ broken");
		const { code, lines } = await run("install", "cursor");
		expect([code, await readFile(file, "utf8")]).toEqual([1, "{ broken"]);
		expect(lines.join()).toContain("left unchanged");
	});
});

describe.skipIf(process.platform !== "linux")("palimpsest install cline", () => {
	const name = "cline_mcp_settings.json";
	const extension = () => join(folder, ".config/Code/User/globalStorage/saoudrizwan.claude-dev");
	const ofExtension = () => join(extension(), "settings", name);
	const ofCommand = () => join(folder, ".cline/data/settings", name);
	const isIn = async (file: string) => (await readFile(file, "utf8").catch(() => "none")).includes(builtCli);
	const installed = async () => [await isIn(ofExtension()), await isIn(ofCommand())];

	it("configures the command line when only its folder exists", async () => {
		await mkdir(join(folder, ".cline"));
		expect((await run("install", "cline")).code).toBe(0);
		expect(await installed()).toEqual([false, true]);
		const { mcpServers } = JSON.parse(await readFile(ofCommand(), "utf8"));
		expect(mcpServers.palimpsest).toMatchObject({ command: process.execPath, disabled: false });
	});

	it("configures the extension when the command line is missing", async () => {
		await run("install", "cline");
		expect(await installed()).toEqual([true, false]);
	});

	it("configures both when both exist, names each file, and is undone in both", async () => {
		await mkdir(extension(), { recursive: true });
		await mkdir(join(folder, ".cline/data/settings"), { recursive: true });
		await writeFile(ofCommand(), commented);
		const { code, text, lines } = await run("install", "cline");
		expect([code, await installed()]).toEqual([0, [true, true]]);
		for (const file of [ofExtension(), ofCommand()]) {
			expect(text).toContain(`${file}\n`);
			expect(lines.filter((line) => line.includes(`installed in ${file}`))).toHaveLength(1);
		}
		expect((await run("install")).text.match(/^cline +installed /gm)).toHaveLength(2);
		const again = await run("install", "cline");
		expect(again.lines.filter((line) => line.includes("nothing to change"))).toHaveLength(2);
		expect((await run("uninstall", "cline")).code).toBe(0);
		expect(await installed()).toEqual([false, false]);
		expect(await readFile(ofCommand(), "utf8")).toBe(commented);
	});

	it("changes neither when one is unreadable", async () => {
		await mkdir(extension(), { recursive: true });
		await mkdir(join(folder, ".cline/data/settings"), { recursive: true });
		await writeFile(ofCommand(), "{ broken");
		const { code, lines } = await run("install", "cline");
		expect([code, lines.join()]).toEqual([1, expect.stringContaining("left unchanged")]);
		expect([await installed(), await readFile(ofCommand(), "utf8")]).toEqual([[false, false], "{ broken"]);
	});

	it("uses the file that the command line is set to use", async () => {
		const file = join(folder, "elsewhere.json");
		await writeFile(file, "{}");
		const { code } = await runHere(["install", "cline"], {
			folder,
			environment: { ...environment, ...ofCline, CLINE_MCP_SETTINGS_PATH: file },
		});
		expect([code, await isIn(file), await installed()]).toEqual([0, true, [false, false]]);
	});
});

describe("palimpsest install for a host that loads a plugin", () => {
	const plugin = (name: string) => readFile(join(folder, name), "utf8").catch(() => undefined);

	it("enters the server and the plugin in opencode, and takes both out again", async () => {
		const name = ".config/opencode/plugins/palimpsest.js";
		await mkdir(join(folder, ".config/opencode"), { recursive: true });
		const settings = join(folder, ".config/opencode/opencode.json");
		const before = '{\n  // mine\n  "theme": "dark"\n}\n';
		await writeFile(settings, before);
		expect((await run("install", "opencode", "--locale", "zh")).code).toBe(0);
		expect(await readFile(settings, "utf8")).toContain("PALIMPSEST_LOCALE");
		expect(await plugin(name)).toContain('"locale":"zh"');
		expect((await run("uninstall", "opencode")).code).toBe(0);
		expect(await readFile(settings, "utf8")).toBe(before);
		expect(await plugin(name)).toBeUndefined();
	});

	it("enters the plugin alone in pi, which has no MCP", async () => {
		const name = ".pi/agent/extensions/palimpsest.js";
		const shown = await run("install", "pi", "--dry-run");
		expect([shown.code, shown.text.includes("+ export default"), await plugin(name)]).toEqual([0, true, undefined]);
		expect((await run("install", "pi")).lines.join()).toContain("Start pi again.");
		expect(await plugin(name)).toContain("dist/pi-extension.js");
		expect((await run("install")).text).toMatch(/^pi +installed +.*palimpsest\.js$/m);
		expect((await run("uninstall", "pi")).code).toBe(0);
		expect(await plugin(name)).toBeUndefined();
	});
});
