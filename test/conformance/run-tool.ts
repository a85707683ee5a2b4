import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { conformanceFolder } from "./folders.ts";

const modules = join(conformanceFolder, "node_modules");

/** The Node of a major version; `undefined` where there is none for this platform. */
export function nodeOf(major: 22 | 24): string | undefined {
	const installed = join(modules, `node${major}/bin/node`);
	return existsSync(installed) ? installed : undefined;
}

/** What a tool said, on both streams, and its exit code. */
export interface ToolRun {
	readonly code: number | null;
	readonly output: string;
	readonly stdout: string;
}

/** Runs a script of an installed package; by this Node unless told. */
export function runTool(script: string, parameters: readonly string[], node = process.execPath): Promise<ToolRun> {
	return new Promise((resolve, reject) => {
		const child = spawn(node, [join(modules, script), ...parameters], { stdio: ["ignore", "pipe", "pipe"] });
		let [stdout, output] = ["", ""];
		child.stdout.on("data", (chunk: Buffer) => {
			stdout += chunk.toString("utf8");
			output += chunk.toString("utf8");
		});
		child.stderr.on("data", (chunk: Buffer) => {
			output += chunk.toString("utf8");
		});
		child.on("error", reject);
		child.on("close", (code) => resolve({ code, output, stdout }));
	});
}
