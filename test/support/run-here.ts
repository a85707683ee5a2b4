import { Readable } from "node:stream";
import { vi } from "vitest";
import { answerHookCall } from "../../src/commands/hook.ts";
import { createProgram } from "../../src/commands/program.ts";
import { runProgram } from "../../src/commands/usage.ts";
import { builtCli } from "./built-cli.ts";
import { noteListeners } from "./process-listeners.ts";
import type { CliRun, CliRunOptions } from "./run-cli.ts";
import { cleanEnvironment } from "./scratch-folder.ts";

let last: Promise<unknown> = Promise.resolve();

/**
 * Runs a command to its end in this process, whose folder, environment, input and output it has meanwhile: one after the other.
 * Much quicker than `runCli`, which is for what only a process shows.
 */
export function runHere(parameters: readonly string[], options: CliRunOptions): Promise<CliRun> {
	const run = last.then(() => runNow(parameters, options));
	last = run.catch(() => {});
	return run;
}

async function runNow(
	parameters: readonly string[],
	{ folder, input = "", environment }: CliRunOptions,
): Promise<CliRun> {
	const forgetListeners = noteListeners();
	const written = { stdout: [] as Buffer[], stderr: [] as Buffer[] };
	const streams = ["stdout", "stderr"] as const;
	for (const name of streams) {
		vi.spyOn(process[name], "write").mockImplementation((piece, ...others) => {
			written[name].push(Buffer.from(piece as string));
			const done = others.at(-1);
			if (typeof done === "function") queueMicrotask(done as () => void);
			return true;
		});
	}
	const stdin = vi
		.spyOn(process, "stdin", "get")
		.mockReturnValue(Readable.from([Buffer.from(input)]) as typeof process.stdin);
	for (const name of Object.keys(process.env)) if (name.startsWith("PALIMPSEST_")) vi.stubEnv(name, undefined);
	for (const [name, value] of Object.entries({ ...cleanEnvironment(folder), ...environment })) vi.stubEnv(name, value);
	const before = { folder: process.cwd(), argv: process.argv };
	process.argv = [process.execPath, builtCli, ...parameters];
	process.chdir(folder);
	try {
		process.exitCode = undefined;
		if (!(await answerHookCall(parameters))) await runProgram(createProgram(), process.argv);
		const stdout = Buffer.concat(written.stdout);
		const lines = Buffer.concat(written.stderr).toString().split("\n");
		return {
			code: Number(process.exitCode ?? 0),
			stdout,
			text: stdout.toString(),
			lines: lines.filter((line) => line !== ""),
		};
	} finally {
		process.exitCode = undefined;
		process.chdir(before.folder);
		process.argv = before.argv;
		vi.unstubAllEnvs();
		stdin.mockRestore();
		for (const name of streams) vi.mocked(process[name].write).mockRestore();
		forgetListeners();
	}
}
