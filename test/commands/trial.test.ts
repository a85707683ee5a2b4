import { spawn } from "node:child_process";
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { chmod, mkdir, readFile, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { TrialReport } from "../../src/engine/trials/report.ts";
import { until } from "../proxy/upstream.ts";
import { builtCli } from "../support/built-cli.ts";
import { claudePrices } from "../support/claude-models.ts";
import { noteCode } from "../support/noting-model.ts";
import { runHere } from "../support/run-here.ts";
import { cleanEnvironment, scratchFolder } from "../support/scratch-folder.ts";
import { type StandInProvider, startStandInProvider } from "../support/stand-in-provider.ts";

const agent = resolve(import.meta.dirname, "../support/trial-agent.js");
const files = 5;

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
	const secret = { SECRET_OF_CHECK: "sk-ant-not-to-be-shown" };
	const environment = { ANTHROPIC_BASE_URL: provider.origin, PALIMPSEST_LOCALE: "en", ...secret };
	return runHere(["trial", "tasks", ...options, ...words(mode)], { folder, environment });
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
		const [raw, blind] = report.arms;
		expect(raw?.solved_interval?.low).toBeGreaterThan(blind?.solved_interval?.high ?? 1);
		const [compared] = report.compared;
		expect(compared).toMatchObject({ arm: "blind", with: "raw", pairs: 4, tasks: 2, solved: { mean: -1 } });
		expect(compared?.solved?.interval?.high).toBeLessThan(0);
		expect(compared?.tokens?.mean).toBeLessThan(0);
		expect(report.tasks.map(({ task, compared: [one] }) => [task, one?.solved, one?.pairs])).toEqual([
			["one", -1, 2],
			["two", -1, 2],
		]);
		// Sonnet 4.5 costs 3 dollars for a million tokens of the input.
		const { billed, billedOutput, requests } = provider.totals();
		expect(Math.abs(report.spent_usd / (((billed + billedOutput) * 3) / 1e6) - 1)).toBeLessThan(0.01);
		expect(requests).toBe(8 * (files + 3));
		expect(raw?.mean.requests).toBe(files + 3);
		// What the raw arm sent has no placeholder; no arm has left its copy behind.
		const texts = provider.requests.map(({ body }) => /\[(?:masked|Observation masked)/.test(body));
		expect(texts.filter(Boolean).length).toBeGreaterThan(4);
	});

	it("stops at the budget, continues where it was stopped or killed, and keeps every run", async () => {
		await addTask("one");
		const arms = ["--arms", "raw,balanced:high"];
		const first = await reportOf([...arms, "--trials", "2", "--budget", "0.03"]);
		expect(first.report.arms.map(({ runs }) => runs)).toEqual([1, 1]);
		const reason = "the budget of 0.03 US dollars is spent";
		expect(first.report.not_run.map(({ run, reason }) => [run, reason])).toEqual([
			[{ task: "one", arm: "balanced:high", trial: 2 }, reason],
			[{ task: "one", arm: "raw", trial: 2 }, reason],
		]);
		const before = await readFile(join(folder, "results.jsonl"), "utf8");
		await killedAfter(3, [...arms, "--trials", "3"]);
		const { code, text, lines } = await runTrial([...arms, "--trials", "3", "--html", "trial.html"]);
		expect([code, lines[0]]).toEqual([0, expect.stringMatching(/^palimpsest: [34] of 6 runs are in /)]);
		expect(text).toMatch(/^raw +3 +3 +0\.44 to 1\.00 +0 /m);
		expect(text).toMatch(/^solved +0\.00 +−/m);
		expect(text).not.toContain("not run");
		const after = await readFile(join(folder, "results.jsonl"), "utf8");
		expect(after.startsWith(before)).toBe(true);
		const runs = after
			.trim()
			.split("\n")
			.map((line) => JSON.parse(line));
		expect(new Set(runs.map(({ arm, trial }) => `${arm} ${trial}`)).size).toBe(6);
		expect(runs.length).toBe(6);
		const page = await readFile(join(folder, "trial.html"), "utf8");
		expect(page).toContain("<bdi>balanced:high</bdi> less <bdi>raw</bdi>");
		expect(page).toContain('<th scope="row"><bdi>raw</bdi></th><td>3</td><td>3</td><td>44 % to 100 %</td>');
		// The results of another setup are not mixed with these.
		const other = await runTrial(arms, "crashes");
		expect([other.code, other.lines[0]]).toEqual([1, expect.stringContaining("with another setup")]);
	});

	it.each([
		["crashes", "program_failed", "ended with exit code 3", "60"],
		["asks nothing", "no_request", "no request passed the proxy", "60"],
		["hangs", "timeout", "took over 2 seconds", "2"],
	])("shows a program that %s as failed, neither solved nor unsolved", async (mode, outcome, reason, seconds) => {
		await addTask("one");
		const options = ["--arms", "raw", "--trials", "1", "--timeout", seconds];
		const { report } = await reportOf(options, mode);
		expect(report.arms).toMatchObject([{ solved: 0, runs: 0, solved_interval: null, failed: { [outcome]: 1 } }]);
		expect(report.failed).toEqual([{ task: "one", arm: "raw", trial: 1, outcome, reason }]);
		// It is made again only on demand.
		const again = await runTrial(options, mode);
		expect(again.lines).toEqual([expect.stringContaining("1 of 1 runs are in ")]);
		expect(again.text).toContain(`failed: one, raw, trial 1: ${outcome.replaceAll("_", " ")} (${reason})`);
		expect(again.text).toContain("solved if a failed run counts as unsolved: raw 0 of 1");
	});

	it("makes failed runs again on demand", async () => {
		await addTask("one");
		const options = ["--arms", "raw", "--trials", "1"];
		const unreachable = { ANTHROPIC_BASE_URL: "http://127.0.0.1:9" };
		await runHere(["trial", "tasks", ...options, ...words("works")], { folder, environment: unreachable });
		const { report } = await reportOf(options);
		expect(report.failed).toMatchObject([{ outcome: "program_failed", reason: "ended with exit code 1" }]);
		const again = await reportOf([...options, "--retry-failed"]);
		expect([again.report.failed, again.report.arms[0]?.solved]).toEqual([[], 1]);
	});

	it("names tasks with a useless check, and a missing program", async () => {
		await addTask("closed");
		await chmod(join(folder, "tasks", "closed", "check"), 0o644);
		await addTask("missing", "no-such-command-at-all");
		await addTask("passing", "true");
		const { report } = await reportOf(["--trials", "1"]);
		expect(report.not_run).toEqual([
			{ task: "closed", reason: "check is missing or not executable (chmod +x check)" },
			{ task: "missing", reason: "check ended with exit code 127" },
			{ task: "passing", reason: "its check passes before any program has run" },
		]);
		expect(provider.requests).toEqual([]);
		await addTask("one");
		const absent = ["--program", "no-such-program", "--env", "OPENAI_BASE_URL={proxy}/v1", "--results", "other.jsonl"];
		const { code, text } = await runHere(["trial", "tasks", "--trials", "1", ...absent], { folder });
		expect(code).toBe(1);
		expect(text).toContain("not run: 4 runs, since cannot run no-such-program: there is no such command");
	});

	it("runs no task whose check writes to its folder or never ends, and shows nothing that a check prints", async () => {
		const solved = 'test "$(cat answer.txt)" = "$(cat key.txt)"';
		await addTask("writes", `cp key.txt "$(dirname "$0")/tree/answer.txt"; ${solved}`);
		await addTask("endless", "trap '' TERM; while true; do sleep 1; done");
		await addTask("prints", `echo "$ANTHROPIC_BASE_URL $SECRET_OF_CHECK" | tee /dev/stderr; ${solved}`);
		const { code, report, lines } = await reportOf(["--trials", "1", "--timeout", "1"]);
		expect(code).toBe(0);
		expect(report.not_run.slice(0, 1)).toEqual([{ task: "endless", reason: "check took over 1 seconds" }]);
		expect(report.not_run.slice(1)).toEqual([
			...["raw", "palimpsest"].map((arm) => ({
				task: "writes",
				run: { task: "writes", arm, trial: 1 },
				reason: "its folder has changed since the trial began: a program, setup or check has written to it",
			})),
		]);
		expect(report.tasks.map(({ task }) => task)).toContain("prints");
		const results = await readFile(join(folder, "results.jsonl"), "utf8");
		expect(`${results}${lines.join()}${JSON.stringify(report)}`).not.toContain("not-to-be-shown");
	});

	it("ends the program with Ctrl-C, and makes the run again later", async () => {
		await addTask("one");
		const options = ["trial", "tasks", "--arms", "raw", "--trials", "1", "--keep", "kept", ...words("hangs")];
		const environment = { ...cleanEnvironment(folder), ANTHROPIC_BASE_URL: provider.origin };
		const child = spawn(process.execPath, [builtCli, ...options], { cwd: folder, env: environment });
		const ended = new Promise((resolve) => child.on("close", resolve));
		const pid = await startedIn(join(folder, "kept"));
		child.kill("SIGINT");
		expect(await ended).toBe(130);
		expect(() => process.kill(pid, 0)).toThrow();
		const [run] = (await readFile(join(folder, "results.jsonl"), "utf8")).trim().split("\n");
		expect(JSON.parse(run ?? "")).toMatchObject({ task: "one", outcome: "interrupted" });
		const { lines } = await runTrial(["--arms", "raw", "--trials", "1", "--timeout", "1"], "hangs");
		expect(lines[0]).toContain("0 of 1 runs");
	});
});

/** Starts a trial and kills it once so many runs are in the results. */
async function killedAfter(runs: number, options: readonly string[]): Promise<void> {
	const environment = { ...cleanEnvironment(folder), ANTHROPIC_BASE_URL: provider.origin, PALIMPSEST_LOCALE: "en" };
	const parameters = [builtCli, "trial", "tasks", ...options, ...words("works")];
	const child = spawn(process.execPath, parameters, { cwd: folder, env: environment, stdio: "ignore" });
	const ended = new Promise((resolve) => child.on("close", resolve));
	const count = () => readFileSync(join(folder, "results.jsonl"), "utf8").trim().split("\n").length;
	await until(() => count() >= runs, 60_000);
	child.kill("SIGKILL");
	await ended;
}

/** The process of the agent that hangs in a kept copy. */
async function startedIn(kept: string): Promise<number> {
	const files = () => {
		const folders = existsSync(kept) ? readdirSync(kept) : [];
		return folders
			.map((one) => join(kept, one, "copy/started"))
			.filter((file) => existsSync(file) && statSync(file).size > 0);
	};
	await until(() => files().length > 0, 60_000);
	return Number(readFileSync(files()[0] as string, "utf8"));
}
