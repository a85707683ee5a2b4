import { spawn } from "node:child_process";
import { createInterface } from "node:readline";

// The least that a gateway in Node.js can do: it reads lines and writes them.
const [, , command = "", ...parameters] = process.argv;
const child = spawn(command, parameters, { stdio: ["pipe", "pipe", "inherit"] });
createInterface({ input: process.stdin })
	.on("line", (line) => child.stdin.write(`${line}\n`))
	.on("close", () => child.stdin.end());
createInterface({ input: child.stdout }).on("line", (line) => process.stdout.write(`${line}\n`));
child.on("exit", (code) => {
	process.exitCode = code ?? 1;
	process.stdin.destroy();
});
