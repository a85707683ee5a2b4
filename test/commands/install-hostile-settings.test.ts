import { execFileSync } from "node:child_process";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import { runHere } from "../support/run-here.ts";
import { scratchFolder } from "../support/scratch-folder.ts";

let folder: string;
beforeEach(async () => {
	folder = await scratchFolder();
});
const environment = { XDG_CONFIG_HOME: "", XDG_STATE_HOME: "", CODEX_HOME: "", CLAUDE_CONFIG_DIR: "" };
const run = (line: string) => runHere(line.split(" "), { folder, environment });

const depth = 20_000;
const deepLists = `{"a":${"[".repeat(depth)}${"]".repeat(depth)}}`;
const deepObjects = `{"mcpServers":${'{"x":'.repeat(depth)}1${"}".repeat(depth)}}`;
const deepHooks = `{"hooks":${'{"PostToolUse":'.repeat(depth)}1${"}".repeat(depth)}}`;
const deepToml = `a = ${"[".repeat(depth)}${"]".repeat(depth)}\n`;
const inlineTable = 'mcp_servers = { other = { command = "x" } }\n';

async function put(name: string, text: string): Promise<string> {
	const file = join(folder, name);
	await mkdir(dirname(file), { recursive: true });
	await writeFile(file, text);
	return file;
}

async function putPipe(name: string): Promise<string> {
	const file = join(folder, name);
	await mkdir(dirname(file), { recursive: true });
	execFileSync("mkfifo", [file]);
	return file;
}

/** A refusal that names the file, soon. A command takes some 0.3 s to start, and as often longer where others run beside. */
async function refusal(line: string, file: string): Promise<string> {
	const before = performance.now();
	const { code, text, lines } = await run(line);
	expect(performance.now() - before).toBeLessThan(10_000);
	expect([code, text, lines.length]).toEqual([1, "", 1]);
	expect(lines[0]).toContain(file);
	return lines[0] ?? "";
}

describe("unchangeable settings are refused at once and stay unchanged", () => {
	it.each([
		["install claude-code", ".claude.json", deepLists, /\[invalid_json\] .*nested too deep/],
		["uninstall claude-code", ".claude.json", deepObjects, /\[invalid_json\] .*nested too deep/],
		["install cursor", ".cursor/mcp.json", deepObjects, /\[invalid_json\] .*nested too deep/],
		["hook install claude-code", ".claude/settings.json", deepHooks, /\[invalid_json\] .*nested too deep/],
		["hook uninstall claude-code", ".claude/settings.json", deepLists, /\[invalid_json\] .*nested too deep/],
		["hook install gemini-cli", ".gemini/settings.json", deepLists, /\[invalid_json\] .*nested too deep/],
		["install codex", ".codex/config.toml", deepToml, /\[invalid_json\] .*not valid TOML/],
		[
			"install codex",
			".codex/config.toml",
			inlineTable,
			/\[invalid_json\] .*`mcp_servers`.* inline table .*\[mcp_servers\.name\]/,
		],
	])("%s, of %s", async (line, name, text, words) => {
		const file = await put(name, text);
		expect(await refusal(line, file)).toMatch(words);
		expect(await readFile(file, "utf8")).toBe(text);
	});

	it.runIf(process.platform !== "win32").each([
		["install claude-code", ".claude.json"],
		["uninstall claude-code", ".claude.json"],
		["install codex", ".codex/config.toml"],
		["hook install claude-code", ".claude/settings.json"],
		["hook install opencode", ".config/opencode/plugins/palimpsest.js"],
		["hook uninstall gemini-cli", ".gemini/settings.json"],
	])("%s, where %s is a named pipe", async (line, name) => {
		const file = await putPipe(name);
		expect(await refusal(line, file)).toMatch(/\[unreadable_file\] Cannot read .*: it is not a regular file\.$/);
	});

	it.runIf(process.platform !== "win32")("the list of hosts and the doctor do not wait for a named pipe", async () => {
		await putPipe(".gemini/settings.json");
		expect((await run("install")).text).toMatch(/^gemini-cli +unreadable/m);
		expect((await run("doctor")).text).toContain("gemini");
	});
});
