import { vi } from "vitest";
import { createProgram } from "../../src/commands/program.ts";
import { runProgram } from "../../src/commands/usage.ts";
import type { CliRun } from "./run-cli.ts";
import { cleanEnvironment } from "./scratch-folder.ts";

/**
 * Runs a command to its end in this process, whose folder, environment and output it has meanwhile: one after the other, and no
 * command that reads standard input.
 */
export async function runHere(
	parameters: readonly string[],
	{ folder, environment }: { readonly folder: string; readonly environment?: Readonly<Record<string, string>> },
): Promise<Omit<CliRun, "stdout">> {
	const written = { stdout: "", stderr: "" };
	const streams = ["stdout", "stderr"] as const;
	for (const name of streams) {
		vi.spyOn(process[name], "write").mockImplementation((piece) => {
			written[name] += String(piece);
			return true;
		});
	}
	for (const name of Object.keys(process.env)) if (name.startsWith("PALIMPSEST_")) vi.stubEnv(name, undefined);
	for (const [name, value] of Object.entries({ ...cleanEnvironment(folder), ...environment })) vi.stubEnv(name, value);
	const before = process.cwd();
	process.chdir(folder);
	try {
		process.exitCode = undefined;
		await runProgram(createProgram(), ["node", "palimpsest", ...parameters]);
		const lines = written.stderr.split("\n").filter((line) => line !== "");
		return { code: Number(process.exitCode ?? 0), text: written.stdout, lines };
	} finally {
		process.exitCode = undefined;
		process.chdir(before);
		vi.unstubAllEnvs();
		for (const name of streams) {
			process[name].removeAllListeners("error");
			vi.mocked(process[name].write).mockRestore();
		}
	}
}
