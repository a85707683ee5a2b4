import { access, lstat, mkdir, readFile, stat, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import { builtCli } from "../support/built-cli.ts";
import { runHere } from "../support/run-here.ts";
import { scratchFolder } from "../support/scratch-folder.ts";

let folder: string;
let settings: string;
beforeEach(async () => {
	folder = await scratchFolder();
	settings = join(folder, ".claude", "settings.json");
	await mkdir(join(folder, ".claude"));
});

// No folder of PATH has our command.
const environment = {
	PATH: "/nowhere",
	CLAUDE_CONFIG_DIR: "",
	XDG_CONFIG_HOME: "",
	PI_CODING_AGENT_DIR: "",
	CODEX_HOME: "",
	COPILOT_HOME: "",
};
const run = (...parameters: string[]) => runHere(["hook", ...parameters], { folder, environment });
const command = (host: string) => `${process.execPath} ${builtCli} hook ${host} --max-chars 16000`;
const entry = {
	matcher: "Bash|PowerShell|Grep|WebFetch|mcp__.*",
	hooks: [{ type: "command", command: command("claude-code"), timeout: 10 }],
};
const afterCompaction = { matcher: "compact", hooks: entry.hooks };
const isThere = (file: string) =>
	access(file).then(
		() => true,
		() => false,
	);

const commented = `{
    // my own settings
    "model": "opus",
    "hooks": {
        "PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "./guard.sh"}]}],
        "PostToolUse": [
            {
                "matcher": "Edit|Write",
                "hooks": [{"type": "command", "command": "npx prettier --write"}] // keep
            }
        ]
    },
    "permissions": {"allow": ["Bash(npm test:*)"],},
}
`;

describe("an installation for Claude Code", () => {
	it("creates a missing file, readable by its user only", async () => {
		const { code, text } = await run("install", "claude-code");
		expect(code).toBe(0);
		expect(JSON.parse(await readFile(settings, "utf8"))).toEqual({
			hooks: { PostToolUse: [entry], SessionStart: [afterCompaction] },
		});
		expect(text).toContain(`+     "PostToolUse": [`);
		if (process.platform !== "win32") expect((await stat(settings)).mode & 0o777).toBe(0o600);
	});

	it("adds to an existing file: comments, order and white space stay, and a backup is written next to it", async () => {
		await writeFile(settings, commented, { mode: 0o644 });
		const { code, text, lines } = await run("install", "claude-code");
		expect(code).toBe(0);
		const after = await readFile(settings, "utf8");
		const added = after.split("\n").filter((line) => !commented.split("\n").includes(line));
		expect(added.join("\n")).toContain(command("claude-code"));
		for (const line of commented.split("\n")) expect(after).toContain(line.replace(/^ {12}\}$/, ""));
		expect(text.split("\n").filter((line) => line.startsWith("+ ")).length).toBeGreaterThan(5);
		expect(lines).toEqual([`palimpsest: installed; the old file is ${settings}.before-palimpsest`]);
		expect(await readFile(`${settings}.before-palimpsest`, "utf8")).toBe(commented);
		expect((await stat(settings)).mode & 0o777).toBe(0o644);
	});

	it("is undone without removing comments of others", async () => {
		const hook = JSON.stringify(entry);
		const before = `{"hooks": {"PostToolUse": [\n  {"matcher": "A", "hooks": []}, // theirs\n  ${hook}, {"matcher": "B", "hooks": []}\n]}}\n`;
		await writeFile(settings, before);
		expect((await run("uninstall", "claude-code")).code).toBe(0);
		expect(await readFile(settings, "utf8")).toBe(before.replace(`${hook}, `, ""));
	});

	it("is undone without a trace", async () => {
		for (const before of [
			commented,
			commented.replaceAll("\n", "\r\n"),
			'{"model":"opus"}\n',
			"{}\n",
			`\uFEFF${commented}`,
		]) {
			await writeFile(settings, before);
			await run("install", "claude-code");
			expect(await readFile(settings, "utf8")).toContain("hook claude-code");
			expect((await run("uninstall", "claude-code")).code).toBe(0);
			const after = await readFile(settings, "utf8");
			expect(after.replace(/\s/g, "")).toBe(before.replace(/\s/g, ""));
			if (before.includes("PostToolUse")) expect(after).toBe(before);
		}
	});

	it("adds entries that an older version lacked, and leaves the hooks of others for that event", async () => {
		const theirs = { matcher: "startup", hooks: [{ type: "command", command: "./welcome.sh" }] };
		const before = { hooks: { PostToolUse: [entry], SessionStart: [theirs] } };
		await writeFile(settings, JSON.stringify(before));
		await run("install", "claude-code");
		const { hooks } = JSON.parse(await readFile(settings, "utf8"));
		expect(hooks).toEqual({ PostToolUse: [entry], SessionStart: [theirs, afterCompaction] });
		await run("uninstall", "claude-code");
		expect(JSON.parse(await readFile(settings, "utf8"))).toEqual({ hooks: { SessionStart: [theirs] } });
	});

	it("changes nothing the second time, and replaces an older entry of ours", async () => {
		await writeFile(settings, commented);
		await run("install", "claude-code");
		const once = await readFile(settings, "utf8");
		const again = await run("install", "claude-code");
		expect(again).toMatchObject({ code: 0, text: "", lines: [`palimpsest: ${settings}: nothing to change`] });
		await run("install", "claude-code", "--max-chars", "9000");
		const changed = await readFile(settings, "utf8");
		expect(changed).toBe(once.replaceAll("--max-chars 16000", "--max-chars 9000"));
	});

	it("is only shown with --dry-run", async () => {
		const { code, text, lines } = await run("install", "claude-code", "--dry-run");
		expect(code).toBe(0);
		expect(text).toContain(command("claude-code"));
		expect(lines).toEqual(["palimpsest: nothing was written (--dry-run)"]);
		expect(await isThere(settings)).toBe(false);
	});

	it("leaves a file that it cannot parse", async () => {
		for (const odd of ['{"model": ', "[]", '{"hooks": []}', '{"hooks": {"PostToolUse": {}}}']) {
			await writeFile(settings, odd);
			const { code, lines } = await run("install", "claude-code");
			expect(code).toBe(1);
			expect(lines).toEqual([expect.stringMatching(/^palimpsest: \[invalid_json\] .* It was left unchanged\.$/)]);
			expect(await readFile(settings, "utf8")).toBe(odd);
		}
	});

	it.skipIf(process.platform === "win32")("follows a link and keeps it", async () => {
		const dotfile = join(folder, "dotfiles.json");
		await writeFile(dotfile, commented);
		await symlink(dotfile, settings);
		await run("install", "claude-code");
		expect((await lstat(settings)).isSymbolicLink()).toBe(true);
		expect(await readFile(dotfile, "utf8")).toContain("hook claude-code");
	});

	it("is for the project with --project", async () => {
		const project = join(folder, "project");
		await mkdir(project);
		const { code } = await runHere(["hook", "install", "claude-code", "--project"], {
			folder: project,
			environment: { ...environment, HOME: folder },
		});
		expect(code).toBe(0);
		expect([await isThere(join(project, ".claude/settings.json")), await isThere(settings)]).toEqual([true, false]);
	});

	it("uses the command name when the shell finds this program by it", async () => {
		await mkdir(join(folder, "bin"));
		await symlink(builtCli, join(folder, "bin/palimpsest"));
		const found = { ...environment, PATH: join(folder, "bin") };
		const { text } = await runHere(["hook", "install", "claude-code", "--dry-run"], { folder, environment: found });
		expect(text).toContain('"palimpsest hook claude-code --max-chars 16000"');
	});
});

it("adds AfterTool for Gemini CLI", async () => {
	const file = join(folder, ".gemini", "settings.json");
	expect((await run("install", "gemini-cli")).code).toBe(0);
	const hook = { name: "palimpsest", type: "command", command: command("gemini-cli"), timeout: 10_000 };
	const matcher = "run_shell_command|grep_search|search_file_content|web_fetch|mcp_.*";
	expect(JSON.parse(await readFile(file, "utf8"))).toEqual({ hooks: { AfterTool: [{ matcher, hooks: [hook] }] } });
	expect((await run("uninstall", "gemini-cli")).code).toBe(0);
	expect(JSON.parse(await readFile(file, "utf8"))).toEqual({});
});

it("adds PostToolUse for Codex to the hooks of others, says that it has to be trusted, and is undone", async () => {
	const file = join(folder, ".codex", "hooks.json");
	await mkdir(join(folder, ".codex"));
	const theirs = { matcher: "Bash", hooks: [{ type: "command", command: "./log.sh" }] };
	const before = `${JSON.stringify({ hooks: { PostToolUse: [theirs], Stop: [] } }, null, 2)}\n`;
	await writeFile(file, before);
	const { code, lines } = await run("install", "codex");
	expect([code, lines.at(-1)]).toEqual([0, expect.stringContaining("before you trust it: open /hooks")]);
	const hook = { type: "command", command: command("codex"), timeout: 10 };
	expect(JSON.parse(await readFile(file, "utf8")).hooks).toEqual({
		PostToolUse: [theirs, { matcher: "^(Bash|mcp__.*)$", hooks: [hook] }],
		Stop: [],
	});
	expect((await run("install", "codex")).lines).toEqual([`palimpsest: ${file}: nothing to change`]);
	expect((await run("uninstall", "codex")).code).toBe(0);
	expect(await readFile(file, "utf8")).toBe(before);
});

it("enters the hook of Codex where CODEX_HOME or the project has it", async () => {
	const elsewhere = join(folder, "elsewhere");
	const parameters = ["hook", "install", "codex"];
	await runHere(parameters, { folder, environment: { ...environment, CODEX_HOME: elsewhere } });
	await run("install", "codex", "--project");
	for (const file of [join(elsewhere, "hooks.json"), join(folder, ".codex", "hooks.json")]) {
		expect(await readFile(file, "utf8")).toContain("hook codex");
	}
});

it("writes a file of its own for Copilot CLI, and removes only that file", async () => {
	const file = join(folder, ".copilot", "hooks", "palimpsest.json");
	expect((await run("install", "copilot-cli")).code).toBe(0);
	const line = command("copilot-cli");
	const hook = { type: "command", bash: line, powershell: `& ${line}`, timeoutSec: 10 };
	expect(JSON.parse(await readFile(file, "utf8"))).toEqual({ version: 1, hooks: { postToolUse: [hook] } });
	expect((await run("uninstall", "copilot-cli")).code).toBe(0);
	expect(await isThere(file)).toBe(false);
	await run("install", "copilot-cli", "--project");
	expect(await isThere(join(folder, ".github", "hooks", "palimpsest.json"))).toBe(true);
	await writeFile(file, '{"version":1,"hooks":{}}');
	expect((await run("uninstall", "copilot-cli")).lines).toEqual([`palimpsest: ${file}: nothing to change`]);
});

it.each([
	["opencode", ".config/opencode/plugins/palimpsest.js"],
	["pi", ".pi/agent/extensions/palimpsest.js"],
])("writes the plugin file for %s, and removes only that file", async (host, name) => {
	const file = join(folder, name);
	expect((await run("install", host, "--max-chars", "9000")).code).toBe(0);
	const text = await readFile(file, "utf8");
	expect(text).toContain('"mostChars":9000');
	if (host === "opencode") expect((await run("opencode", "--max-chars", "9000")).text).toBe(text);
	expect((await run("uninstall", host)).code).toBe(0);
	expect(await isThere(file)).toBe(false);
	await writeFile(file, "// somebody else's");
	expect((await run("uninstall", host)).lines).toEqual([`palimpsest: ${file}: nothing to change`]);
});

it("refuses a limit that the hook would refuse in every call", async () => {
	for (const parameters of [["install", "claude-code"], ["opencode"]]) {
		const { code, text, lines } = await run(...parameters, "--max-chars", "0");
		expect([code, text, lines[0]]).toEqual([
			2,
			"",
			expect.stringContaining("expected a whole number, 1 or more for --max-chars"),
		]);
	}
	expect(await isThere(settings)).toBe(false);
});

it("shows changed lines with three lines around them, for every kind of line end", async () => {
	const between = Array.from({ length: 9 }, (_, index) => `    "Event${index}": [],`);
	const hooks = ['    "PostToolUse": [],', ...between, '    "SessionStart": []'];
	await writeFile(settings, ["{", '  "hooks": {', ...hooks, "  }", "}"].join("\r\n"));
	const shown = (await run("install", "claude-code", "--dry-run")).text.split("\n").slice(1, -1);
	const starts = shown.map((line) => line.slice(0, 2)).join("");
	expect(starts).toMatch(/^(?: {2}){2}- (?:\+ )+(?: {2}){3} {2}(?: {2}){3}- (?:\+ )+(?: {2}){2}$/);
	expect(shown.filter((line) => line === "  …")).toHaveLength(1);
});

describe("--locale", () => {
	it("is in the entry, which is replaced when it changes", async () => {
		await run("install", "claude-code", "--locale", "zh");
		const command = async () => JSON.parse(await readFile(settings, "utf8")).hooks.PostToolUse[0].hooks[0].command;
		expect(await command()).toMatch(/ hook claude-code --max-chars 16000 --locale zh$/);
		await run("install", "claude-code", "--locale", "en");
		expect(await command()).toMatch(/ --locale en$/);
	});

	it("is in the plugin for opencode, and accepts only known languages", async () => {
		expect((await run("opencode", "--locale", "zh")).text).toContain('"locale":"zh"');
		const { code, lines } = await run("opencode", "--locale", "de");
		expect([code, lines.join()]).toEqual([2, expect.stringContaining('unknown --locale "de"')]);
	});
});

it("refuses unknown hosts", async () => {
	const { code, lines } = await run("install", "emacs");
	expect([code, lines[0]]).toEqual([
		2,
		expect.stringContaining("expected one of claude-code, codex, copilot-cli, gemini-cli, opencode, pi"),
	]);
});
