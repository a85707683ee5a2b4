import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { builtCli } from "./built-cli.ts";
import { cleanEnvironment } from "./scratch-folder.ts";

/** How a run ended whose input came piece by piece. */
export interface FedRun {
	readonly code: number | null;
	readonly text: string;
	readonly stderr: string;
	/** The most memory that the process had, in bytes. */
	readonly mostMemory: number;
}

/** Runs the built command over an input of any size, no faster than it is taken, and measures its memory. */
export async function feedCli(
	parameters: readonly string[],
	how: {
		readonly folder: string;
		readonly pieces: Iterable<string | Buffer>;
		readonly environment?: Readonly<Record<string, string>>;
	},
): Promise<FedRun> {
	const { folder, pieces, environment } = how;
	const measure = join(folder, "measure.cjs");
	const measured = join(folder, "measured.txt");
	// `maxRSS` of Linux begins with the memory of the process that started this one (getrusage), so its own is taken there.
	const script = `
		const { existsSync, readFileSync, writeFileSync } = require("node:fs");
		process.on("exit", () => {
			const status = existsSync("/proc/self/status") ? readFileSync("/proc/self/status", "utf8") : "";
			const own = /VmHWM:\\s+(\\d+) kB/.exec(status)?.[1] ?? process.resourceUsage().maxRSS;
			writeFileSync(${JSON.stringify(measured)}, String(own));
		});`;
	await writeFile(measure, script);
	const child = spawn(process.execPath, ["--require", measure, builtCli, ...parameters], {
		cwd: folder,
		env: { ...cleanEnvironment(folder), ...environment },
	});
	const output: Buffer[] = [];
	const errors: Buffer[] = [];
	child.stdout.on("data", (piece: Buffer) => output.push(piece));
	child.stderr.on("data", (piece: Buffer) => errors.push(piece));
	const closed = once(child, "close");
	for (const piece of pieces) if (!child.stdin.write(piece)) await once(child.stdin, "drain");
	child.stdin.end();
	const [code] = (await closed) as [number | null];
	return {
		code,
		text: Buffer.concat(output).toString("utf8"),
		stderr: Buffer.concat(errors).toString("utf8"),
		mostMemory: Number(await readFile(measured, "utf8")) * 1024,
	};
}
