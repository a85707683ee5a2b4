import { spawn } from "node:child_process";
import { once } from "node:events";
import { atEnd } from "../support/at-end.ts";
import { builtCli } from "../support/built-cli.ts";
import { cleanEnvironment, scratchFolder } from "../support/scratch-folder.ts";

/** The built server over HTTP. */
export interface HttpServer {
	/** Such as `http://127.0.0.1:41234`. */
	readonly url: string;
	readonly folder: string;
	/** All of standard error so far. */
	stderr(): string;
	/** Ends it as an operator does, and answers with its exit code, or with the signal that killed it. */
	end(): Promise<number | NodeJS.Signals>;
}

/** Starts the built server over HTTP on a free port, in the given folder or in one of its own. It is gone after the tests of the file. */
export async function httpServer(
	parameters: readonly string[] = [],
	environment: Readonly<Record<string, string>> = {},
	given?: string,
): Promise<HttpServer> {
	const folder = given ?? (await scratchFolder());
	const address = parameters.includes("--http") ? [] : ["--http", "127.0.0.1:0"];
	const child = spawn(process.execPath, [builtCli, "serve", ...address, ...parameters], {
		cwd: folder,
		env: { ...cleanEnvironment(folder), ...environment },
		stdio: ["ignore", "ignore", "pipe"],
	});
	const closed = once(child, "close");
	let told = "";
	const url = await new Promise<string>((found, failed) => {
		child.stderr.on("data", (chunk: Buffer) => {
			told += chunk.toString("utf8");
			const [url] = /http:\/\/[^\s/]+(?=\/mcp)/.exec(told) ?? [];
			if (url) found(url);
		});
		void closed.then(() => failed(new Error(`The server ended: ${told}`)));
	});
	const end = async () => {
		child.kill("SIGTERM");
		const [code, signal] = (await closed) as [number, null] | [null, NodeJS.Signals];
		return code ?? signal;
	};
	atEnd("file", end);
	return { url, folder, stderr: () => told, end };
}
