import { spawn } from "node:child_process";
import { builtCli } from "./built-cli.ts";
import { cleanEnvironment } from "./scratch-folder.ts";

/** How a run of the command ended. */
export interface CliRun {
	readonly code: number | null;
	readonly stdout: Buffer;
	/** Standard output as text. */
	readonly text: string;
	/** The lines of standard error. */
	readonly lines: readonly string[];
}

export interface CliRunOptions {
	/** The working directory, and the home folder. */
	readonly folder: string;
	/** What standard input holds; nothing by default. */
	readonly input?: string | Buffer;
	/** A variable without a value is taken away. */
	readonly environment?: Readonly<Record<string, string | undefined>>;
}

/** Runs the built command to its end. */
export function runCli(
	parameters: readonly string[],
	{ folder, input = "", environment }: CliRunOptions,
): Promise<CliRun> {
	const child = spawn(process.execPath, [builtCli, ...parameters], {
		cwd: folder,
		env: { ...cleanEnvironment(folder), ...environment },
	});
	const stdout: Buffer[] = [];
	const stderr: Buffer[] = [];
	child.stdout.on("data", (chunk: Buffer) => stdout.push(chunk));
	child.stderr.on("data", (chunk: Buffer) => stderr.push(chunk));
	// A command that needs no input may end before it has been taken.
	child.stdin.on("error", () => {});
	child.stdin.end(input);
	return new Promise((resolve, reject) => {
		child.on("error", reject);
		child.on("close", (code) => {
			const all = Buffer.concat(stdout);
			const lines = Buffer.concat(stderr).toString("utf8").split("\n");
			resolve({ code, stdout: all, text: all.toString("utf8"), lines: lines.filter((line) => line !== "") });
		});
	});
}
