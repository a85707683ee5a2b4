import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { vi } from "vitest";
import { freePort } from "../load/free-port.ts";
import { atEnd } from "../support/at-end.ts";
import { packageFolder } from "../support/built-cli.ts";
import { patience } from "../support/patience.ts";
import { scratchFolder } from "../support/scratch-folder.ts";

/** Whether nginx can be started here; in CI it has to. */
export const hasNginx = process.env.CI !== undefined || spawnSync("nginx", ["-v"]).status === 0;

if (!hasNginx) process.stderr.write("Skipped: nginx is not installed (Debian: apt-get install nginx-light).\n");

/** The block of the documentation, as it is packed for nginx. */
export const nginxBlock = () => readFile(join(packageFolder, "deploy/nginx.conf"), "utf8");

/** A configuration around a block, for a process without rights that keeps all it writes in a folder. */
export async function writeConfiguration(folder: string, block: string): Promise<string> {
	const file = join(folder, "nginx.conf");
	await mkdir(join(folder, "logs"), { recursive: true });
	const places = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map(
		(name) => `${name}_temp_path ${folder}/${name};`,
	);
	const lines = [
		"daemon off;",
		`pid ${folder}/nginx.pid;`,
		`error_log ${folder}/logs/error.log;`,
		"events {}",
		"http {",
		`access_log ${folder}/logs/access.log;`,
		...places,
		block,
		"}",
	];
	await writeFile(file, lines.join("\n"));
	return file;
}

/** Starts nginx with the documentation's block on a free port of this machine, in front of a server. */
export async function startNginx(upstream: string): Promise<{ readonly url: string; readonly folder: string }> {
	const [folder, port] = [await scratchFolder(), await freePort()];
	const block = (await nginxBlock())
		.replace("listen 443 ssl;", `listen 127.0.0.1:${port};`)
		.replace(/^\s*ssl_certificate.*$/gm, "")
		.replaceAll("127.0.0.1:8765", new URL(upstream).host);
	const file = await writeConfiguration(folder, block);
	const child = spawn("nginx", ["-p", folder, "-c", file], { stdio: ["ignore", "ignore", "pipe"] });
	const closed = once(child, "close");
	let told = "";
	child.stderr.on("data", (chunk: Buffer) => {
		told += chunk.toString("utf8");
	});
	atEnd("file", async () => {
		child.kill("SIGTERM");
		await closed;
	});
	const url = `http://localhost:${port}`;
	await vi.waitFor(async () => {
		if (child.exitCode !== null) throw new Error(`nginx ended: ${told}`);
		await fetch(`${url}/healthz`);
	}, patience);
	return { url, folder };
}
