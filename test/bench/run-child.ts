import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";

/** Runs a file of this folder in a process of its own and answers what it prints, parsed. */
export async function runChild<Answer>(file: string, parameters: readonly (string | number)[] = []): Promise<Answer> {
	const script = fileURLToPath(new URL(file.replace(/\.ts$/, ".js"), import.meta.url));
	const child = spawn(process.execPath, ["--expose-gc", script, ...parameters.map(String)], {
		stdio: ["ignore", "pipe", "inherit"],
	});
	const chunks: Buffer[] = [];
	child.stdout.on("data", (chunk: Buffer) => chunks.push(chunk));
	const code = await new Promise((resolve, reject) => {
		child.once("error", reject);
		child.once("close", resolve);
	});
	if (code !== 0) throw new Error(`${file} ended with code ${code}.`);
	return JSON.parse(Buffer.concat(chunks).toString("utf8"));
}
