import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { armsOf, programOf, setupHash, warnOfHooks } from "../../src/commands/trial-setup.ts";
import { launchedPrograms } from "../../src/hosts/hosts.ts";
import { runHere } from "../support/run-here.ts";
import { scratchFolder } from "../support/scratch-folder.ts";

const headless = launchedPrograms.filter((program) => program.headless).map(({ name }) => name);

describe("programOf", () => {
	it.each(headless)("runs %s on a prompt without all permissions, and the user's arguments win", (program) => {
		const { parametersFor, readsPrompt } = programOf({ program }, ["--model", "m"]);
		const words = parametersFor("Do it.\nNow.");
		expect(words.filter((word) => word === "Do it.\nNow.")).toHaveLength(1);
		expect(words.slice(-2)).toEqual(["--model", "m"]);
		expect(words.join(" ")).not.toMatch(/danger|yolo|bypass|full-access|allow-all|skip-permissions|--auto\b/i);
		expect(readsPrompt).toBe(false);
	});

	it("puts the prompt where the user's arguments say, without reading anything in it", () => {
		const { parametersFor } = programOf({ program: "kimi" }, ["--prompt={prompt}", "{prompt}"]);
		expect(parametersFor("$& {prompt} $1")).toEqual(["--prompt=$& {prompt} $1", "$& {prompt} $1"]);
	});

	it("gives any other program the prompt on its standard input", () => {
		const options = { program: "my-agent", env: ["OPENAI_BASE_URL={proxy}/v1"] };
		const { parametersFor, readsPrompt } = programOf(options, ["--quiet"]);
		expect([parametersFor("Do it."), readsPrompt]).toEqual([["--quiet"], true]);
	});

	it("refuses programs that it cannot run", () => {
		expect(() => programOf({ program: "kimi" }, [])).toThrow("name its arguments, with {prompt} among them, after --");
		expect(() => programOf({ program: "cluade" }, [])).toThrow(/unknown program "cluade". Did you mean claude\?/);
	});
});

describe("armsOf", () => {
	it("reads raw, the policy in force, presets with a thrift, and files", async () => {
		const file = join(await scratchFolder(), "own.toml");
		await writeFile(file, "[mask]\nwindow_turns = 3\n");
		const layers = [{ mask: { window_turns: 7 } }];
		const arms = await armsOf(`raw, palimpsest,balanced:high,observation-masking,own=${file}`, layers);
		expect(
			arms.map(({ name, isRaw, policy: { preset, mask } }) => [name, isRaw, preset, mask.window_turns, mask.thrift]),
		).toEqual([
			["raw", true, "balanced", 7, "medium"],
			["palimpsest", false, "balanced", 7, "medium"],
			["balanced:high", false, "balanced", 7, "high"],
			["observation-masking", false, "observation-masking", 7, "medium"],
			["own", false, "balanced", 3, "medium"],
		]);
	});

	it("refuses others", async () => {
		await expect(armsOf("raw,balance", [])).rejects.toThrow(/unknown arm "balance". Did you mean balanced\?/);
		await expect(armsOf("balanced:much", [])).rejects.toThrow(/mask.thrift/);
		await expect(armsOf("raw,raw", [])).rejects.toThrow("expected each arm once; got raw again");
		await expect(armsOf("own=none.toml", [])).rejects.toThrow("Cannot read the policy file none.toml");
	});
});

describe("setupHash", () => {
	it("differs for runs that cannot be compared, and for no others", async () => {
		const [raw, edited] = await armsOf("raw,palimpsest", []);
		const [rawElsewhere, editedElsewhere] = await armsOf("raw,palimpsest", [{ mask: { window_turns: 9 } }]);
		if (!raw || !edited || !rawElsewhere || !editedElsewhere) throw new Error("No arm.");
		const task = { name: "one", folder: "/one", prompt: "Do it.", hash: "h" };
		const usual = { arm: raw, task, options: { program: "claude" }, parameters: ["-v"] };
		const same = [usual, { ...usual, arm: rawElsewhere }, { ...usual, task: { ...task, folder: "/moved/one" } }];
		expect(new Set(same.map(setupHash)).size).toBe(1);
		const others = [
			usual,
			{ ...usual, arm: edited },
			{ ...usual, arm: editedElsewhere },
			{ ...usual, task: { ...task, hash: "i" } },
			{ ...usual, options: { program: "codex" } },
			{ ...usual, parameters: [] },
		];
		expect(new Set(others.map(setupHash)).size).toBe(others.length);
	});
});

describe("warnOfHooks", () => {
	it.each([
		["claude", "claude-code", ".claude", "hook"],
		["opencode", "opencode", ".config/opencode", "plugin"],
	])("names the file of our part in %s", async (program, host, own, part) => {
		const folder = await scratchFolder();
		await mkdir(join(folder, own), { recursive: true });
		expect(await said(folder, program)).toEqual([]);
		await runHere(["hook", "install", host], { folder });
		const [line] = await said(folder, program);
		expect(line).toContain(join(folder, own));
		expect(line).toContain(`has the ${part} of palimpsest, which works in every arm`);
	});
});

/** What the warning prints for a program in a home folder. */
async function said(home: string, program: string): Promise<string[]> {
	const lines: string[] = [];
	const write = vi.spyOn(process.stderr, "write").mockImplementation((text) => lines.push(String(text)) > 0);
	onTestFinished(() => write.mockRestore());
	vi.stubEnv("HOME", home);
	vi.stubEnv("XDG_CONFIG_HOME", undefined);
	vi.stubEnv("CLAUDE_CONFIG_DIR", undefined);
	await warnOfHooks(programOf({ program }, []));
	vi.unstubAllEnvs();
	write.mockRestore();
	return lines;
}
