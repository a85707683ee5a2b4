import { spawn } from "node:child_process";
import { chmod, mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { TrialReport } from "../../src/trials/report.ts";
import { until } from "../proxy/upstream.ts";
import { builtCli } from "../support/built-cli.ts";
import { claudePrices } from "../support/claude-models.ts";
import { noteCode } from "../support/noting-model.ts";
import { runCli } from "../support/run-cli.ts";
import { cleanEnvironment, scratchFolder } from "../support/scratch-folder.ts";
import { type StandInProvider, startStandInProvider } from "../support/stand-in-provider.ts";

const agent = resolve(import.meta.dirname, "../support/trial-agent.js");
const files = 8;

let folder: string;
let provider: StandInProvider;
beforeEach(async () => {
	folder = await scratchFolder();
	provider = await startStandInProvider({
		script: { toolTurns: files, fileChars: 0 },
		next: noteCode,
		thinking: { account: "newer" },
		checksPairing: true,
		prices: claudePrices,
	});
});
afterEach(() => provider.close());

/** A task whose code is in the first of its files. */
async function addTask(name: string, check = 'test "$(cat answer.txt)" = "$(cat key.txt)"'): Promise<void> {
	const tree = join(folder, "tasks", name, "tree");
	await mkdir(tree, { recursive: true });
	await writeFile(join(tree, "key.txt"), `code${name}`);
	for (let file = 1; file <= files; file += 1) {
		const lines = Array.from(
			{ length: 90 },
			(_, line) => `line ${line} of file ${file} of ${name} says ${line * file}`,
		);
		const code = file === 1 ? `the code is code${name}\n` : "";
		await writeFile(join(tree, `file-${file}.txt`), `${code}${lines.join("\n")}\n`);
	}
	const prompt = `Read the files of this task, of which there are ${files} files, and note the code.\n`;
	await writeFile(join(folder, "tasks", name, "prompt.md"), prompt);
	await writeFile(join(folder, "tasks", name, "check"), `#!/bin/sh\n${check}\n`);
	await chmod(join(folder, "tasks", name, "check"), 0o755);
}

const words = (mode: string) => [
	...["--program", process.execPath, "--env", "ANTHROPIC_BASE_URL={proxy}", "--results", "results.jsonl"],
	...["--", agent, "{prompt}", mode],
];

function runTrial(options: readonly string[], mode = "works") {
	const environment = { ANTHROPIC_BASE_URL: provider.origin, PALIMPSEST_LOCALE: "en" };
	return runCli(["trial", "tasks", ...options, ...words(mode)], { folder, environment });
}

async function reportOf(options: readonly string[], mode?: string) {
	const { code, text, lines } = await runTrial(["--json", ...options], mode);
	if (text === "") throw new Error(lines.join("\n"));
	return { code, lines, report: JSON.parse(text) as TrialReport };
}

/** The policy of an arm that masks all but the last result at once, so that no earlier code is in view. */
async function addBlindArm(): Promise<void> {
	const policy = '[mask]\nselection = "age"\ncadence = "every_turn"\nwindow_turns = 1\ndigest_tokens = 0\n';
	await writeFile(join(folder, "blind.toml"), policy);
}

describe.skipIf(process.platform === "win32")("palimpsest trial", () => {
	it("shows that an arm solves less, with dollars that agree with the provider's own bill", async () => {
		await addBlindArm();
		await addTask("one");
		await addTask("two");
		const { code, report } = await reportOf(["--arms", "raw,blind=blind.toml", "--trials", "2"]);
		expect(provider.refusals).toEqual([]);
		expect(code).toBe(0);
		expect(report.failed).toEqual([]);
		expect(report.arms.map(({ arm, solved, runs }) => [arm, solved, runs])).toEqual([
			["raw", 4, 4],
			["blind", 0, 4],
		]);
	});
});
void [spawn, readdir, readFile, until, builtCli, cleanEnvironment];
